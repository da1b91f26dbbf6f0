//! A rate that follows fractional Gaussian noise.

use sluice_random::Stream;
use sluice_traffic::fgn;

use sluice_aqm::NEVER;

/// How a rate varies: in each frame it is its mean times 1 + deviation * noise, or 0 if that is
/// negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Hurst parameter of the noise, in (0, 1).
    pub hurst: f64,
    /// Standard deviation of the rate, as a share of its mean.
    pub deviation: f64,
    /// Length of a frame.
    pub frame_ns: u64,
}

/// Maximum number of frames of all flows together. The noise is kept for the whole run: if it were
/// drawn in parts, these would be independent of each other.
pub const MOST_FRAMES: u64 = 1 << 22;

impl Noise {
    /// Returns the number of frames from one time to another.
    pub fn frames(&self, from_ns: u64, to_ns: u64) -> u64 {
        to_ns.saturating_sub(from_ns).div_ceil(self.frame_ns)
    }

    /// Checks the parameters of the noise.
    pub fn check(&self) -> Result<(), String> {
        let Self {
            hurst,
            deviation,
            frame_ns,
        } = *self;
        if !(hurst > 0.0 && hurst < 1.0) {
            return Err(format!(
                "fgn.hurst = {hurst} must lie between 0 and 1, both excluded"
            ));
        }
        if !(0.0..=1.0).contains(&deviation) {
            return Err(format!(
                "fgn.deviation = {deviation} must lie between 0 and 1"
            ));
        }
        if frame_ns == 0 {
            return Err("fgn.frame = 0 must be at least 1 ns".into());
        }
        Ok(())
    }
}

/// The noise of one flow over one run.
#[derive(Clone, Debug)]
pub struct NoisyRate {
    from_ns: u64,
    frame_ns: u64,
    /// The rate in each frame, as a multiple of its mean.
    rates: Vec<f64>,
}

impl NoisyRate {
    /// Draws the noise of all frames between two times.
    pub fn new(noise: Noise, random: &mut Stream, from_ns: u64, to_ns: u64) -> Self {
        let frames = noise.frames(from_ns, to_ns).max(1) as usize;
        let mut rates = fgn(noise.hurst, frames, random).expect("a checked H");
        for rate in &mut rates {
            *rate = (1.0 + noise.deviation * *rate).max(0.0);
        }
        Self {
            from_ns,
            frame_ns: noise.frame_ns,
            rates,
        }
    }

    /// Returns when a clock that runs at the rate has advanced by `ahead_ns` since `now`, rounded
    /// down to a whole nanosecond, and how much of `ahead_ns` is left at that time. The time is
    /// [`NEVER`] if the noise ends before.
    pub fn after(&self, now: u64, mut ahead_ns: f64) -> (u64, f64) {
        let mut at = now;
        let first = ((now - self.from_ns) / self.frame_ns) as usize;
        for (frame, rate) in self.rates.iter().enumerate().skip(first) {
            let end = self
                .from_ns
                .saturating_add((frame as u64 + 1).saturating_mul(self.frame_ns));
            let held = (end - at) as f64 * rate;
            if ahead_ns < held {
                let passed_ns = ahead_ns / rate;
                return (at + passed_ns as u64, passed_ns.fract() * rate);
            }
            ahead_ns -= held;
            at = end;
        }
        (NEVER, 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_runs_at_the_rate() {
        let noisy = NoisyRate {
            from_ns: 100,
            frame_ns: 10,
            rates: vec![1.0, 0.0, 2.0],
        };
        assert_eq!(noisy.after(100, 3.0), (103, 0.0));
        assert_eq!(noisy.after(100, 3.5), (103, 0.5));
        // the clock advances by 5 in the first frame, 0 in the second, 4 of 20 in the third
        assert_eq!(noisy.after(105, 9.0), (122, 0.0));
        assert_eq!(noisy.after(105, 10.0), (122, 1.0));
        assert_eq!(noisy.after(115, 0.0), (120, 0.0));
        assert_eq!(noisy.after(120, 19.0), (129, 1.0));
        assert_eq!(noisy.after(120, 20.0), (NEVER, 0.0));
        assert_eq!(noisy.after(130, 0.0), (NEVER, 0.0));
    }
}
