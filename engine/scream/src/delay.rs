//! How long the queue on the path is: one-way delays over the least of them (RFC 6817, appendix A.2,
//! and "Detecting Increased Queue Delay").

use std::collections::VecDeque;

use crate::seconds;

/// Minutes over which the least delay is that of the path without a queue (RFC 6817, section 2.5:
/// `BASE_HISTORY`).
const MINUTES: usize = 10;
const MINUTE_NS: u64 = 60_000_000_000;

/// Weight of a longer queue in the average (`QDELAY_AVG_G`); a shorter one counts at once.
const RISE: f64 = 1.0 / 4.0;

/// Delays as a sender learns of them.
#[derive(Clone, Debug, Default)]
pub struct QueueDelay {
    /// Least delay of each of the last minutes, the present one last, and when that began.
    least_ns: VecDeque<u64>,
    minute_ns: u64,
    now_s: f64,
    average_s: f64,
    averaged_s: f64,
}

impl QueueDelay {
    /// Takes a one-way delay; the average takes one each `apart_s`.
    pub fn take(&mut self, now_ns: u64, one_way_ns: u64, apart_s: f64) {
        if self.least_ns.is_empty() || now_ns >= self.minute_ns + MINUTE_NS {
            self.minute_ns = now_ns;
            self.least_ns.push_back(one_way_ns);
            if self.least_ns.len() > MINUTES {
                self.least_ns.pop_front();
            }
        }
        if let Some(least_ns) = self.least_ns.back_mut() {
            *least_ns = one_way_ns.min(*least_ns);
        }
        let base_ns = self.least_ns.iter().copied().min().unwrap_or(0);
        self.now_s = seconds(one_way_ns - base_ns);
        if seconds(now_ns) - self.averaged_s >= apart_s {
            self.averaged_s = seconds(now_ns);
            self.average_s = if self.now_s < self.average_s {
                self.now_s
            } else {
                RISE * self.now_s + (1.0 - RISE) * self.average_s
            };
        }
    }

    /// Returns the delay of the last feedback (`qdelay`).
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Returns the average (`qdelay_avg`).
    pub fn average_s(&self) -> f64 {
        self.average_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_longer_queue_counts_slowly_and_a_shorter_one_at_once() {
        let mut delay = QueueDelay::default();
        delay.take(100 * MS, 50 * MS, 0.025);
        assert_eq!(delay.average_s(), 0.0);
        delay.take(130 * MS, 90 * MS, 0.025);
        assert_eq!((delay.now_s(), delay.average_s()), (0.04, 0.01));
        // too soon for the average
        delay.take(140 * MS, 90 * MS, 0.025);
        assert_eq!(delay.average_s(), 0.01);
        delay.take(160 * MS, 90 * MS, 0.025);
        assert_eq!(delay.average_s(), 0.0175);
        delay.take(190 * MS, 55 * MS, 0.025);
        assert_eq!(delay.average_s(), 0.005);
    }

    #[test]
    fn a_path_that_grew_longer_is_no_queue_after_ten_minutes() {
        let mut delay = QueueDelay::default();
        delay.take(0, 50 * MS, 0.025);
        for second in 1..=601 {
            delay.take(second * 1000 * MS, 60 * MS, 0.025);
            let expected = if second < 600 { 0.01 } else { 0.0 };
            assert_eq!(delay.now_s(), expected, "{second}");
        }
    }
}
