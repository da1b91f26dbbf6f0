//! What stands before a link, in every world: one or several queues, a scheduler, an AQM in each,
//! limits, a victim and marking.
//!
//! The link asks and obeys: it hands every packet to [`Queue::arrive`], and whenever it is free
//! it takes what [`Queue::depart`] gives. It calls `depart` as each transmission ends, too: a
//! `None` is how the queue learns that the link has fallen idle.

mod ahead;
mod buffer;
mod classify;
mod decisions;
mod drr;
mod fifo;
mod fq;
mod lane;
mod observer;
mod packet;
mod queue;
mod schedule;
mod scheduler;
mod sfq;

pub use ahead::Ahead;
pub use decisions::{COLUMNS, DecisionLog};
pub use observer::{Event, Observer};
pub use packet::{Packet, Waiting, datagram_flow_hash, hash_of};
pub use queue::Queue;
pub use scheduler::Scheduler;

/// Uniform on 0 .. `count` (0 if `count` is 0): the upper half of a random word's product with it.
#[inline]
pub fn below(random: u64, count: usize) -> usize {
    ((u128::from(random) * count as u128) >> 64) as usize
}
