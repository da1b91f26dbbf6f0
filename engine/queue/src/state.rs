//! What can be seen of a queue at one moment.

use sluice_aqm::Verdict;

/// The packets that wait before a link, and what was decided so far.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueState {
    /// Packets that wait, without the one that the link sends.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// As [`crate::Queue::verdicts`].
    pub verdicts: [u64; Verdict::COUNT],
    /// Each of the scheduler's queues; without a scheduler there is one.
    pub lanes: Vec<LaneState>,
}

/// One of the scheduler's queues, with its AQM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneState {
    /// Packets that wait.
    pub packets: u32,
    /// Their bytes.
    pub bytes: u64,
    /// The AQM's average queue, packets; `None` if it keeps none.
    pub average: Option<f64>,
    /// The AQM's drop probability; `None` if it has none.
    pub probability: Option<f64>,
}
