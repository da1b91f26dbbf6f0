//! How fast packets leave, and how many at a time.

use super::{HIGH_GAIN, State};
use crate::config::MS;
use crate::congestion::gap_ns;

/// Packets are sent a bit more slowly than the estimate says (`bbr_pacing_margin_percent`).
pub(in crate::congestion) const MARGIN: f64 = 0.99;

/// The round-trip time assumed for the first rate.
const FIRST_RTT_NS: u64 = MS;

/// Bursts: as many packets of 1448 bytes as leave in 1/1024 s, at most 45; at least two from 1.2
/// Mbit/s on (`bbr_tso_segs_goal`, `bbr_min_tso_rate`, `sk_pacing_shift`).
const BURSTS_PER_SECOND: f64 = 1024.0;
const LARGEST_BURST: u32 = 45;
const PAIRS_FROM_PPS: f64 = 1.2e6 / 8.0 / 1448.0;

/// `bbr_init_pacing_rate_from_rtt`.
pub(in crate::congestion) fn first_rate(gain: f64, window: f64, srtt_ns: u64) -> f64 {
    let rtt_ns = if srtt_ns == 0 { FIRST_RTT_NS } else { srtt_ns };
    gain * MARGIN * window * 1e9 / rtt_ns as f64
}

pub(super) fn burst(pacing_rate: f64) -> u32 {
    let least = if pacing_rate < PAIRS_FROM_PPS { 1 } else { 2 };
    ((pacing_rate / BURSTS_PER_SECOND) as u32).clamp(least, LARGEST_BURST)
}

impl State {
    /// `bbr_set_pacing_rate`: until the pipe is full the rate only grows.
    pub(super) fn update_pacing_rate(&mut self, rate: f64, window: f64, srtt_ns: u64) {
        let before = self.pacing_rate;
        if before == 0.0 {
            self.pacing_rate = first_rate(HIGH_GAIN, window, srtt_ns);
        }
        let rate = rate * MARGIN;
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        if self.pacing_rate != before {
            self.gap_ns = gap_ns(self.pacing_rate);
            self.burst = burst(self.pacing_rate);
        }
    }
}
