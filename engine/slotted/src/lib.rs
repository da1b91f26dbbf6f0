//! The slotted world: a discrete-time single-server queue behind any AQM.
//!
//! Within a slot the service may end first and the next packet starts; then packets arrive;
//! one that finds the server idle starts at once and can end in the next slot at the earliest.
//! The queue counts waiting packets, without the one in service, at the end of each slot.
//! Domanska, Domanski & Czachorski 2008, section IV.

mod arrivals;
mod bernoulli;
mod block;
#[cfg(test)]
mod oracle;
mod packet;
mod run;
mod scenario;
mod service;
mod sizes;
mod station;
mod tally;
mod warm_up;

pub use arrivals::{ArrivalError, Arrivals, Recording};
pub use packet::Packet;
pub use run::{Control, Outcome, Plan, Unit, simulate, simulate_logged};
pub use service::Service;
pub use tally::Tally;
