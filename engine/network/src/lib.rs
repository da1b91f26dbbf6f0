//! The network world: packets, links with disciplines, TCP and UDP flows, from event to event.
