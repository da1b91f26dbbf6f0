//! What stands in front of a link in the packet-level worlds: one or several queues, a scheduler,
//! an AQM in each, a limit, a victim and marking.
//!
//! The link asks and obeys: it hands every packet to [`Queue::arrive`], and whenever it is free
//! it takes what [`Queue::depart`] gives. It calls `depart` as each transmission ends, too: a
//! `None` is how the queue learns that the link has fallen idle.

mod fifo;
mod lane;
mod packet;
mod queue;
mod scheduler;

pub use fifo::Fifo;
pub use packet::{Bytes, Packet};
pub use queue::Queue;
pub use scheduler::Scheduler;
