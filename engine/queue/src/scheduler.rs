//! Schedulers: how many queues there are, and which of them sends next.

/// How packets are spread over queues and which queue sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One queue, first in, first out.
    Fifo,
}
