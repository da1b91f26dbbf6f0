//! The rate at which packets leave, and how many leave together.

use super::{STARTUP_GAIN, State};
use crate::congestion::bbr::{MARGIN, first_rate};

/// Bursts: what leaves in 1/1024 s, and 64 kB, halved for each 512 us of round trip
/// (`bbr_tso_segs_generic`); packets of 1448 bytes, at least 2, at most 45.
const BURSTS_PER_SECOND: f64 = 1024.0;
const PACKET_BYTES: f64 = 1448.0;
const NEAR_BURST_BYTES: u64 = 1 << 16;
const HALVED_EACH_NS: u64 = 512_000;
pub(super) const LEAST_BURST: u32 = 2;
const LARGEST_BURST: u32 = 45;

impl State {
    /// Computes how many packets leave together, from the pacing rate and the shortest round trip:
    /// called when one of them has changed.
    pub(super) fn update_burst(&mut self) {
        let halvings = self
            .min_rtt_ns
            .map_or(u64::from(u32::MAX), |ns| ns / HALVED_EACH_NS);
        let near = NEAR_BURST_BYTES
            .checked_shr(halvings.min(64) as u32)
            .unwrap_or(0);
        let bytes = self.pacing_rate * PACKET_BYTES / BURSTS_PER_SECOND + near as f64;
        self.burst = ((bytes / PACKET_BYTES) as u32).clamp(LEAST_BURST, LARGEST_BURST);
    }

    /// `bbr_set_pacing_rate`: until the pipe is full the rate only grows.
    pub(super) fn update_pacing_rate(&mut self, window: f64, srtt_ns: u64, gain: f64) {
        if self.pacing_rate == 0.0 {
            self.pacing_rate = first_rate(STARTUP_GAIN, window, srtt_ns);
        }
        let rate = self.bounds.rate() * gain * MARGIN;
        if self.is_full && rate > 0.0 || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
        self.update_burst();
    }
}
