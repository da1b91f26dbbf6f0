//! The slotted world: a discrete-time single-server queue behind any AQM.
//!
//! Order of events in a slot: first the service may end, and the next packet's service starts;
//! then packets arrive. A packet that arrives at an idle server starts its service at once, which
//! can end in the next slot at the earliest. The length of the queue is the number of waiting
//! packets, without the one in service, at the end of each slot.
//! Domanska, Domanski & Czachorski 2008, section IV.

mod arrivals;
mod bernoulli;
mod block;
mod environment;
#[cfg(test)]
mod oracle;
mod packet;
mod replica;
mod run;
mod scenario;
mod service;
mod session;
mod sizes;
mod station;
mod tally;
mod warm_up;

pub use arrivals::{ArrivalError, Arrivals, Recording};
pub use environment::{Environments, Found, Step};
pub use packet::Packet;
pub use replica::Observation;
pub use run::{Monitor, Outcome, Plan, Unit, simulate, simulate_logged};
pub use service::Service;
pub use session::Session;
pub use tally::Tally;
