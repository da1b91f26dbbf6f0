//! Applications of a limited rate: they give TCP one packet after the other.

use sluice_tcp::GREEDY;

use super::{
    application::{Supply, Turn},
    gap::Gap,
};

/// An application of a constant rate in a run.
#[derive(Clone, Debug)]
pub struct Writer {
    gap: Gap,
    /// Packets that it has still to give; [`GREEDY`] without end.
    left: u32,
    stop_ns: u64,
    idle_since_ns: Option<u64>,
}

impl Writer {
    /// One that gives a packet each `gap_ns`, `packets` in all, and none from `stop_ns` on.
    pub fn new(gap_ns: f64, packets: u32, stop_ns: u64) -> Self {
        Self {
            gap: Gap::new(gap_ns),
            left: packets,
            stop_ns,
            idle_since_ns: None,
        }
    }

    /// Gives a packet.
    pub fn write(&mut self, now: u64) -> Supply {
        if self.left != GREEDY {
            self.left -= 1;
        }
        let next_ns = now + self.gap.next(1.0);
        Supply {
            packets: 1,
            idle_ns: self.idle_since_ns.take().map(|since_ns| now - since_ns),
            again_ns: (self.left > 0 && next_ns < self.stop_ns).then_some(next_ns),
        }
    }

    /// All that it gave is acknowledged. Returns `None` at its end.
    pub fn acknowledged(&mut self, now: u64) -> Option<Turn> {
        self.idle_since_ns.get_or_insert(now);
        (self.left > 0 && now < self.stop_ns).then(Turn::default)
    }
}
