//! Timers: exact, or as coarse as those of Linux.
//!
//! Linux counts in jiffies. Its timer wheel has coarser steps for timers that are due later
//! (`kernel/time/timer.c`, `calc_index`): no timer is early, and one of a third of a second, as
//! most time-outs are, is 18 ms late on average. All flows of a host share the steps, so that
//! timers set at different times expire together.

use crate::config::Config;
use crate::deadline::Deadline;

/// A jiffy: Debian's HZ is 250.
pub(crate) const JIFFY_NS: u64 = 4_000_000;

/// Returns a time in jiffies, rounded down.
pub(crate) fn jiffies(ns: u64) -> u64 {
    ns / JIFFY_NS
}

/// From this many jiffies on (`LVL_START`) the steps of the wheel are eight times as long
/// (2^`COARSER`, `LVL_CLK_SHIFT`), and so on for each further factor of eight.
const FINE: u64 = 63;
const COARSER: u32 = 3;

impl Config {
    /// Returns when a timer expires that is set `wait_ns` ahead.
    pub(crate) fn timer(&self, now_ns: u64, wait_ns: u64) -> Deadline {
        Deadline::at(if self.quirks.has_coarse_timers {
            expiry_ns(now_ns, wait_ns)
        } else {
            now_ns + wait_ns
        })
    }
}

/// Returns the end, ns, of the step in which a timer is due: timers are never early.
fn expiry_ns(now_ns: u64, wait_ns: u64) -> u64 {
    let wait = wait_ns.div_ceil(JIFFY_NS);
    let mut shift = 0;
    while wait >= FINE << shift {
        shift += COARSER;
    }
    let due = jiffies(now_ns) + wait;
    (((due >> shift) + 1) << shift) * JIFFY_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_short_timer_is_late_by_up_to_a_jiffy_and_a_long_one_by_eight() {
        // 40 ms: 10 jiffies, and the rest of the one that is due
        assert_eq!(expiry_ns(0, 40 * MS), 44 * MS);
        assert_eq!(expiry_ns(3 * MS, 40 * MS), 44 * MS);
        // 300 ms: 75 jiffies, in steps of 8: the step from jiffy 72 on ends at 80
        assert_eq!(expiry_ns(0, 300 * MS), 320 * MS);
        assert_eq!(expiry_ns(16 * MS, 300 * MS), 320 * MS);
        assert_eq!(expiry_ns(20 * MS, 300 * MS), 352 * MS);
        // 250 jiffies are still in steps of 8, 504 in steps of 64
        assert_eq!(expiry_ns(0, 1000 * MS), 1024 * MS);
        assert_eq!(expiry_ns(0, 2016 * MS), 2048 * MS);
    }
}
