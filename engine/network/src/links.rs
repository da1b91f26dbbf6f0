//! Links, and the packets in transit on them.
//!
//! A link without a port has an unlimited FIFO before it. So when a packet enters the FIFO, it is
//! known when it comes out of the link, and no event is needed in between. A link that all packets
//! reach over the same other link *follows on* from that one: packets enter both in the same order,
//! so it is known at once when they come out of the second one, too.

use std::cmp::Reverse;

use sluice_aqm::NEVER;
use sluice_link::{Clock, Ticks, Transmitter};

use crate::{
    early_acks::EarlyAcks,
    line::{Line, Store},
    packet::{Kind, Packet},
    routes::{Leg, Routes},
    topology::Topology,
    tournament::Tournament,
    trace::{Step, Trace},
    transit::{Packed, Place, Transit},
};

/// State of a link, in whole cache lines.
#[repr(align(64))]
struct LinkState {
    transmitter: Transmitter,
    line: Line,
    /// Number of the link in the topology.
    number: u32,
    has_port: bool,
}

/// An entry of the table of hops. A link's number here is that of its event.
#[derive(Clone, Copy)]
pub enum Hop {
    /// A link with a port before it; the port's number.
    Port(u32),
    /// A link without a port.
    Link(u32),
    /// A link that follows on from the one before it.
    FollowingLink(u32),
    /// A wire that does more to packets than to delay them.
    Wire(u32),
    /// The end of a route.
    End,
}

/// All links, with the events of the network.
pub struct Links {
    pub clock: Clock,
    /// In the order of their events. After the links come the ends of wires: what has come out of a
    /// wire is in the line there until the event of the same time.
    states: Vec<LinkState>,
    /// Number of each link's event.
    event_of_link: Vec<usize>,
    hops: Vec<Hop>,
    /// Where the hops begin of ACKs that go on where they meet.
    hops_back: u32,
    /// True if data is acknowledged ahead of time, as it enters the last link of its route.
    acknowledges_early: bool,
    /// The first events are packets that come out of links; after these are those of ports, and then
    /// packets that come out of wires. Links with a longer delay have lower numbers: of packets that
    /// come out at the same tick, the one that was sent first comes first.
    pub events: Tournament,
    store: Store,
}

impl Links {
    /// All links of a topology, without packets.
    pub fn new(topology: &Topology, routes: &Routes, early: &EarlyAcks, clock: Clock) -> Self {
        let mut order: Vec<usize> = (0..topology.links.len()).collect();
        order.sort_by_key(|link| Reverse(topology.links[*link].delay_ns));
        let mut event_of_link = vec![0; order.len()];
        let mut states = Vec::new();
        for (event, number) in order.into_iter().enumerate() {
            let link = &topology.links[number];
            event_of_link[number] = event;
            states.push(LinkState {
                transmitter: Transmitter::new(link.rate_bps, link.delay_ns)
                    .with_service(link.service.clone()),
                line: Line::default(),
                number: number as u32,
                has_port: link.port.is_some(),
            });
        }
        let (mut ports, mut wires) = (0, 0);
        let (mut hop_of_link, mut hop_of_wire) = (Vec::new(), Vec::new());
        for (number, link) in topology.links.iter().enumerate() {
            let event = event_of_link[number] as u32;
            hop_of_link.push(match &link.port {
                Some(_) => Hop::Port(ports),
                None if routes.before(number).is_some() => Hop::FollowingLink(event),
                None => Hop::Link(event),
            });
            hop_of_wire.push(Hop::Wire(wires));
            ports += u32::from(link.port.is_some());
            if link.wire.is_some() {
                wires += 1;
                states.push(LinkState {
                    transmitter: Transmitter::new(link.rate_bps, 0),
                    line: Line::default(),
                    number: number as u32,
                    has_port: false,
                });
            }
        }
        let hop = |leg: Leg| match leg {
            Leg::Link(link) => hop_of_link[link],
            Leg::Wire(link) => hop_of_wire[link],
            Leg::End => Hop::End,
        };
        let mut hops: Vec<_> = routes.hops().map(hop).collect();
        let hops_back = hops.len() as u32;
        if let Some(meeting) = &early.meeting {
            // the same for ACKs that go on where they meet
            let link = event_of_link[meeting.link] as u32;
            hops.extend_from_within(..);
            for hop in &mut hops[hops_back as usize..] {
                if matches!(hop, Hop::Link(each) if *each == link) {
                    *hop = Hop::FollowingLink(link);
                }
            }
        }
        Self {
            clock,
            events: Tournament::new(states.len() + (ports + wires) as usize),
            states,
            event_of_link,
            hops,
            hops_back,
            acknowledges_early: early.are_found(),
            store: Store::default(),
        }
    }

    /// Returns the number of events of links and ends of wires; the other events come after them.
    #[inline]
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns the number of the event of a link.
    pub fn event_of(&self, link: usize) -> usize {
        self.event_of_link[link]
    }

    /// Returns the hop at a place on a route.
    #[inline]
    pub fn hop(&self, place: Place) -> Hop {
        self.hops[place.hop() as usize]
    }

    /// Returns the number of packets in transit for which there is room.
    pub fn room(&self) -> usize {
        self.store.room()
    }

    /// Returns the link with the most packets.
    pub fn fullest(&self) -> Option<usize> {
        let links = self.event_of_link.iter().map(|event| &self.states[*event]);
        let fullest = links.max_by_key(|link| link.line.len());
        fullest.map(|link| link.number as usize)
    }

    /// Takes the packet that comes out of an event's link.
    #[inline(always)]
    pub fn take(&mut self, event: usize) -> Transit {
        let line = &mut self.states[event].line;
        let transit = line.pop(&mut self.store);
        let due = line.due(&self.store);
        self.events.set(event, due.unwrap_or(NEVER));
        transit
    }

    /// Returns the packet that will come out of the event's link after `ahead` others.
    #[inline]
    pub fn on_way(&self, event: usize, ahead: u32) -> Option<Packet> {
        let transit = self.states[event].line.get(&self.store, ahead)?;
        Some(transit.packet())
    }

    /// Sends a packet as soon as the link is free, then also over the links that follow on. `note`
    /// gets each step with the number of its link, if the trace is on. Returns the time at which the
    /// packet comes to a receiver, if it is acknowledged ahead of time; only with `EARLY`.
    #[inline(always)]
    pub fn carry<T: Trace, const EARLY: bool>(
        &mut self,
        now: Ticks,
        first: u32,
        packed: Packed,
        mut place: Place,
        mut note: impl FnMut(Ticks, Step, usize),
    ) -> Option<Ticks> {
        let Packet { bytes, kind, .. } = packed.into();
        let bytes = u32::from(bytes);
        let mut link = first as usize;
        let mut at = now;
        let (state, hop) = loop {
            let state = &mut self.states[link];
            let start = at.max(state.transmitter.free());
            let out = state.transmitter.send(self.clock, at, bytes);
            place.go_on();
            let hop = self.hops[place.hop() as usize];
            if T::ON {
                let number = state.number as usize;
                if !state.has_port {
                    note(at, Step::Arrive, number);
                }
                note(start, Step::Depart, number);
                if !matches!(hop, Hop::Wire(_)) {
                    note(out, Step::Receive, number);
                }
            }
            at = out;
            let Hop::FollowingLink(next) = hop else {
                break (state, hop);
            };
            link = next as usize;
        };
        if EARLY
            && self.acknowledges_early
            && let (Hop::End, Kind::Data) = (hop, kind)
        {
            return Some(at);
        }
        if state.line.is_empty() {
            self.events.set(link, at);
        }
        let transit = Transit::new(packed, place);
        state.line.push(&mut self.store, at, transit);
        None
    }

    /// Returns the place of an ACK at the start of its route; whether it goes on where ACKs meet.
    #[inline]
    pub fn start_back(&self, route: u32, goes_on: bool) -> Place {
        Place::new(route + if goes_on { self.hops_back } else { 0 }, 0)
    }

    /// Lets what is on these links into the next ones, in the order in which it comes out.
    #[cold]
    pub fn let_in(&mut self, events: &[usize]) {
        let due =
            |links: &Self, event: usize| Some((links.states[event].line.due(&links.store)?, event));
        while let Some((due, event)) = events.iter().filter_map(|event| due(self, *event)).min() {
            let transit = self.take(event);
            let Hop::Link(next) = self.hop(transit.place) else {
                unreachable!("ACKs meet in a link without a port");
            };
            self.carry::<(), false>(due, next, transit.packed(), transit.place, |_, _, _| {});
        }
    }

    /// Sends an ACK ahead of time: `at` may be to come.
    #[inline]
    pub fn send_back(&mut self, at: Ticks, packed: Packed, place: Place) {
        let Hop::Link(first) = self.hop(place) else {
            unreachable!("no port is before the first link back, and it follows no other");
        };
        self.carry::<(), false>(at, first, packed, place, |_, _, _| {});
    }

    /// Returns when a link has sent all packets so far.
    #[inline]
    pub fn free(&self, event: usize) -> Ticks {
        self.states[event].transmitter.free()
    }

    /// Lets a packet out of a wire: it joins the line at the wire's end, and leaves it at once.
    pub fn release(&mut self, now: Ticks, event: usize, transit: Transit) {
        let line = &mut self.states[event].line;
        if line.is_empty() {
            self.events.set(event, now);
        }
        line.push(&mut self.store, now, transit);
    }

    /// Sets another constant rate of a link from its next packet on.
    pub fn set_rate(&mut self, event: usize, rate_bps: u64, delay_ns: u64) {
        self.states[event].transmitter.set(rate_bps, delay_ns, None);
    }

    /// Returns the least time that a packet takes over a link.
    pub fn least_time(&self, event: usize) -> Ticks {
        self.states[event].transmitter.least_time(self.clock)
    }
}
