//! The rate of the video and of its packets (sections "Media Rate Control" and "Packet Pacing").

use crate::{Config, seconds};

/// Bytes that a packet has beside its video (`PACKET_OVERHEAD`).
const OVERHEAD_BYTES: f64 = 20.0;
/// Weight of the wait of the oldest packet, and of a frame larger than it should be
/// (`RATE_ADJUST_GAIN`, `FRAME_SIZE_DEV_ALPHA`), with their greatest effects.
const WAIT_WEIGHT: f64 = 1.0 / 16.0;
const MOST_WAIT: f64 = 0.5;
const SIZE_WEIGHT: f64 = 1.0 / 64.0;
const MOST_SIZE: f64 = 0.2;
/// Part of what window and round trip would allow (the divisor of the target).
const CAUTION: f64 = 1.2;
/// Pace over the rate of the video (`PACKET_PACING_HEADROOM`), and the least one, bits/s
/// (`RATE_PACE_MIN`).
const PACE: f64 = 1.5;
const LEAST_PACE_BPS: f64 = 50_000.0;
/// Near its greatest rate the pace is relaxed (`RELAXED_PACING_LIMIT_LOW`,
/// `MAX_RELAXED_PACING_FACTOR`).
const RELAXED_FROM: f64 = 0.8;
const MOST_RELAXED: f64 = 4.0;

/// The rate at which the next frame shall be coded.
#[derive(Clone, Debug)]
pub struct Rate {
    least_bps: f64,
    most_bps: f64,
    frame_s: f64,
    packet: f64,
    target_bps: f64,
    /// Share by which packets wait too long, and frames are too large (`rate_adjust_factor`,
    /// `frame_size_dev`).
    wait: f64,
    size: f64,
}

impl Rate {
    pub fn new(config: &Config) -> Self {
        Self {
            least_bps: config.least_bps,
            most_bps: config.most_bps,
            frame_s: seconds(config.frame_ns),
            packet: f64::from(config.packet_bytes),
            target_bps: config.least_bps,
            wait: 0.0,
            size: 0.0,
        }
    }

    /// Returns the rate, bits/s.
    pub fn target_bps(&self) -> f64 {
        self.target_bps
    }

    /// True if the rate is the greatest.
    pub fn is_most(&self) -> bool {
        self.target_bps >= self.most_bps
    }

    /// Takes a new frame. The oldest packet before it has waited for `waited_s`.
    pub fn on_frame(&mut self, bytes: f64, waited_s: f64) {
        let error = (waited_s - self.frame_s / 4.0) / self.frame_s;
        self.wait = (self.wait + WAIT_WEIGHT * error).clamp(0.0, MOST_WAIT);
        let nominal = self.target_bps * self.frame_s / 8.0;
        let over = ((bytes - nominal) / nominal).max(0.0);
        self.size = ((1.0 - SIZE_WEIGHT) * self.size + SIZE_WEIGHT * over).min(MOST_SIZE);
    }

    /// Follows the window, in bytes, and the round-trip time; `ratio`: a packet over the window.
    pub fn follow(&mut self, window: f64, ratio: f64, rtt_s: f64) {
        let small = 1.0 - (ratio - 0.1).clamp(0.0, 0.2);
        let headers = self.packet / (self.packet + OVERHEAD_BYTES);
        let share = small * headers / (CAUTION + self.wait + self.size);
        self.target_bps = (share * 8.0 * window / rtt_s).clamp(self.least_bps, self.most_bps);
    }

    /// Returns the rate at which packets leave, bits/s.
    pub fn pace_bps(&self) -> f64 {
        let nearness = (self.target_bps / self.most_bps - RELAXED_FROM) / (1.0 - RELAXED_FROM);
        let relaxed = (1.0 - nearness).clamp(1.0 / MOST_RELAXED, 1.0);
        PACE * self.target_bps.max(LEAST_PACE_BPS) / relaxed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of 40 ms, packets of 980 bytes beside 20 of headers; the rate follows 5 Mbit/s that
    /// window and round trip allow.
    fn rate() -> Rate {
        let mut rate = Rate::new(&Config {
            least_bps: 30e3,
            most_bps: 40e6,
            frame_ns: 40_000_000,
            packet_bytes: 980,
            l4s: false,
        });
        assert_eq!(rate.target_bps(), 30e3);
        rate.follow(62_500.0, 0.02, 0.1);
        rate
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
    }

    #[test]
    fn it_follows_window_and_round_trip_within_its_range() {
        let mut rate = rate();
        assert_near(rate.target_bps(), 5e6 * 0.98 / 1.2);
        // few packets in the window: up to a fifth less
        for (ratio, part) in [(0.1, 1.0), (0.2, 0.9), (0.3, 0.8), (1.0, 0.8)] {
            rate.follow(62_500.0, ratio, 0.1);
            assert_near(rate.target_bps(), 5e6 * part * 0.98 / 1.2);
        }
        rate.follow(3000.0, 0.3, 10.0);
        assert_eq!(rate.target_bps(), 30e3);
        assert!(!rate.is_most());
        rate.follow(1e6, 0.001, 0.1);
        assert_eq!(rate.target_bps(), 40e6);
        assert!(rate.is_most());
    }

    #[test]
    fn packets_that_wait_and_frames_that_are_too_large_lower_it() {
        // each frame that finds a packet of 50 ms adds 1/16, up to 1/2
        for (frames, divisor) in [(1, 1.2 + 1.0 / 16.0), (8, 1.7), (100, 1.7)] {
            let mut rate = rate();
            (0..frames).for_each(|_| rate.on_frame(0.0, 0.05));
            rate.follow(62_500.0, 0.02, 0.1);
            assert_near(rate.target_bps(), 5e6 * 0.98 / divisor);
        }
        // without waits it comes back, by a quarter as much a frame, and no further
        let mut late = rate();
        late.on_frame(0.0, 0.05);
        (0..5).for_each(|_| late.on_frame(0.0, 0.0));
        late.follow(62_500.0, 0.02, 0.1);
        assert_near(late.target_bps(), rate().target_bps());
        // of a frame twice as large a part of 1/64 counts; of many at most 1/5
        for (frames, divisor) in [(1, 1.2 + 1.0 / 64.0), (100, 1.4)] {
            let mut rate = rate();
            let twice = 2.0 * rate.target_bps() * 0.04 / 8.0;
            (0..frames).for_each(|_| rate.on_frame(twice, 0.0));
            rate.follow(62_500.0, 0.02, 0.1);
            assert_near(rate.target_bps(), 5e6 * 0.98 / divisor);
        }
    }

    #[test]
    fn the_pace_is_relaxed_near_the_greatest_rate() {
        let mut rate = rate();
        for (part, factor) in [(0.5, 1.5), (0.8, 1.5), (0.9, 3.0), (0.95, 6.0), (1.0, 6.0)] {
            rate.target_bps = part * 40e6;
            assert!((rate.pace_bps() / (factor * part * 40e6) - 1.0).abs() < 1e-9);
        }
        rate.target_bps = 30e3;
        assert_eq!(rate.pace_bps(), 75e3);
    }
}
