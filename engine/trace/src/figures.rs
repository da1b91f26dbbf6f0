//! Measures computed from the sums of a summary; `None` where the divisor is 0.

use crate::{Flow, Link, Summary};

/// Times are doubles: differences below this are rounding errors, s.
const ROUNDING_S: f64 = 1e-12;

impl Flow {
    /// Returns the share of the packets sent that were lost.
    pub fn loss_ratio(&self) -> Option<f64> {
        ratio(self.lost as f64, self.sent as f64)
    }

    /// Returns the rate of the bits received, from the first packet sent to the last one received,
    /// bit/s.
    pub fn throughput_bps(&self) -> Option<f64> {
        let time_s = self.last_received_s - self.first_sent_s;
        ratio(8.0 * self.received_bytes as f64, time_s)
    }

    /// Returns the mean delay from source to destination, s.
    pub fn delay_mean_s(&self) -> Option<f64> {
        ratio(self.delay_sum_s, self.delays as f64)
    }

    /// Returns the shortest delay, s.
    pub fn delay_min_s(&self) -> Option<f64> {
        (self.delays > 0).then_some(self.delay_min_s)
    }

    /// Returns the longest delay, s.
    pub fn delay_max_s(&self) -> Option<f64> {
        (self.delays > 0).then_some(self.delay_max_s)
    }

    /// Returns the mean absolute difference of the delays of successive packets (RFC 3393), s.
    pub fn jitter_s(&self) -> Option<f64> {
        ratio(self.delay_change_sum_s, self.delays as f64 - 1.0)
            .map(|jitter_s| if jitter_s < ROUNDING_S { 0.0 } else { jitter_s })
    }
}

impl Link {
    /// Returns the share of the packets arriving at the queue that were dropped.
    pub fn loss_ratio(&self) -> Option<f64> {
        ratio(self.drops as f64, self.arrivals as f64)
    }

    /// Returns the rate of the bits that were sent over the link, over the whole trace, bit/s.
    pub fn throughput_bps(&self, trace: &Summary) -> Option<f64> {
        ratio(8.0 * self.departed_bytes as f64, trace.duration_s())
    }

    /// Returns the mean queue over time, packets.
    pub fn queue_mean(&self, trace: &Summary) -> Option<f64> {
        ratio(self.queue_area, trace.duration_s())
    }
}

impl Summary {
    fn duration_s(&self) -> f64 {
        self.end_s - self.start_s
    }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    // the time is NaN if no packet was sent or received
    (whole > 0.0).then(|| part / whole)
}
