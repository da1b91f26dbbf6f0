//! The network world: packets, links with disciplines, TCP and UDP flows, from event to event.
//!
//! All times are whole numbers, of nanoseconds or, within the network, of finer ticks (`sluice-link`),
//! and nothing depends on threads, so a seed gives one result to the bit. One replication runs on
//! one thread.
//!
//! A packet's route is a list of links (`routes`). A link keeps the packets in transit in a ring, and
//! only the head of each ring is an event (`tournament`), so that the cost of an event depends on
//! the number of links, not of packets or flows (`network`). What is due at a time of its own,
//! timers above all, stands in the `agenda`. The `world` moves packets between network and
//! endpoints.

mod agenda;
mod ahead;
mod endpoints;
mod error;
mod line;
mod network;
mod offered;
mod packet;
mod pages;
mod plan;
mod port;
mod routes;
mod run;
mod sacks;
mod scenario;
mod series;
mod sources;
mod tally;
mod timer;
mod topology;
mod tournament;
mod trace;
mod world;

pub use error::NetworkError;
pub use offered::{Offered, OfferedDatagram, OfferedTcp, offered};
pub use packet::{Kind, Packet};
pub use plan::Plan;
pub use run::{
    Control, Counts, DatagramOutcome, Period, Replication, TcpOutcome, simulate, simulate_traced,
};
pub use series::{FlowSeries, PortSeries};
pub use sluice_aqm::NEVER;
pub use sources::{
    ArrivalProcess, Datagrams, Distribution, Extent, Group, LongTcp, Noise, Recording, Replay,
    ShortTcp, Size, Source, TcpFlow, TcpKind, Web,
};
pub use tally::Tally;
pub use topology::{Link, Port, Topology};
pub use trace::{Event, Step, Trace};
