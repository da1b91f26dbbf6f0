//! The network world: an event-driven simulation of packets, links with disciplines, and TCP and
//! UDP flows.
//!
//! All times are integers: nanoseconds or, within the network, finer ticks (`sluice-link`). Nothing
//! depends on threads, so the results of a seed are identical to the bit. One replication runs on
//! one thread.
//!
//! A packet's route is a list of links (`routes`). Each link keeps its packets in transit in order
//! (`line`), and only the first packet of each link is an event (`tournament`). So the cost of an
//! event depends on the number of links, not of packets or flows (`network`). All other events,
//! mainly timers, are in the `agenda`. The `world` moves packets between network and endpoints. Where
//! receivers acknowledge each packet at once, ACKs are sent ahead of time (`early_acks`).

mod agenda;
mod ahead;
mod bands;
mod classes;
mod completions;
mod early_acks;
mod endpoints;
mod error;
mod line;
mod links;
mod marker;
mod network;
mod observation;
mod offered;
mod outside;
mod packet;
mod pages;
mod plan;
mod port;
mod reception;
mod routes;
mod run;
mod scenario;
mod series;
mod session;
mod slab;
mod sources;
mod tally;
mod timer;
mod topology;
mod tournament;
mod trace;
mod transit;
mod world;

pub use completions::{BySize, Completions, SIZES};
pub use error::NetworkError;
pub use marker::{Marker, Meter};
pub use observation::{GroupState, Observation, PortState};
pub use offered::{Offered, OfferedCall, OfferedDatagram, OfferedTcp, offered};
pub use outside::{FramePacket, Outside};
pub use packet::{Kind, Packet, TrafficClass};
pub use plan::Plan;
pub use reception::Reception;
pub use run::{
    ClassCounts, Counts, DatagramOutcome, Monitor, Period, Replication, TcpOutcome, simulate,
    simulate_traced,
};
pub use series::{BandSeries, FlowSeries, PortSeries};
pub use session::Session;
pub use sluice_aqm::NEVER;
pub use sluice_link::{Service, Step as RateStep};
pub use sluice_queue::{LaneState, QueueState};
pub use sluice_scream::Feedback;
pub use sluice_wire::{Bursts, Loss, Policer, Tampering, WirePlan, WireTally};
pub use sources::{
    ArrivalProcess, Call, Datagrams, Distribution, Extent, Felt, Group, LongTcp, Noise, Recording,
    Replay, ShortTcp, Size, Source, Supplied, Supply, TcpFlow, TcpKind, Video, Web,
};
pub use tally::{Cell, ClassQueue, Tally};
pub use topology::{Link, PortPlan, Topology};
pub use trace::{Event, Step, Trace};
