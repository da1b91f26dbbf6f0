//! What is before a link, in every world: one or several queues with an AQM each, a scheduler,
//! limits, a victim and marking.
//!
//! The link gives every packet to [`Queue::arrive`], and whenever it is free it sends the packet
//! that [`Queue::depart`] returns. It must also call `depart` at the end of each transmission: if
//! that returns `None`, the queue knows that the link is idle. A queue that shapes may hold packets until
//! [`Queue::ready_ns`].

mod ack_filter;
mod ahead;
mod buffer;
mod decisions;
mod fifo;
mod lane;
mod line_file;
mod observer;
mod packet;
mod queue;
mod schedule;
mod state;

pub use ack_filter::AckFacts;
pub use ahead::Ahead;
pub use decisions::{DecisionLog, columns};
pub use line_file::LineFile;
pub use observer::{Event, Observer};
pub use packet::{Packet, Waiting, datagram_flow_hash, hash_of};
pub use queue::Queue;
pub use state::{LaneState, QueueState};

/// Returns a number that is uniform on 0 .. `count` (0 if `count` is 0): the upper half of the
/// product of a random word and `count`.
#[inline]
pub fn below(random: u64, count: usize) -> usize {
    ((u128::from(random) * count as u128) >> 64) as usize
}
