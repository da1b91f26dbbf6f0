//! What can be seen of a queue at one moment.

use std::ops::{AddAssign, SubAssign};

use sluice_aqm::Verdict;

/// What waits in a lane, or in all lanes of a buffer; the packet that the link sends does not wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    pub packets: u32,
    pub bytes: u64,
}

impl Occupancy {
    /// Returns that of one packet.
    #[inline]
    pub fn of_one(bytes: u32) -> Self {
        Self {
            packets: 1,
            bytes: u64::from(bytes),
        }
    }
}

impl AddAssign for Occupancy {
    #[inline]
    fn add_assign(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

impl SubAssign for Occupancy {
    #[inline]
    fn sub_assign(&mut self, less: Self) {
        self.packets -= less.packets;
        self.bytes -= less.bytes;
    }
}

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
