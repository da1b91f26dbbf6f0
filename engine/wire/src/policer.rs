//! A policer: packets beyond a rate and a burst are lost, and none waits.
//!
//! The token bucket of RFC 2697 without its second bucket, as providers police the traffic of their
//! customers (T. Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016).

use sluice_link::{Clock, Ticks};

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Rate at which tokens come, bits/s.
    pub rate_bps: f64,
    /// Most tokens, bytes.
    pub burst_bytes: f64,
}

/// The tokens of a policer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    tokens_bytes: f64,
    filled_ns: u64,
}

impl Bucket {
    /// Returns a full one.
    pub fn full(of: Policer) -> Self {
        Self {
            tokens_bytes: of.burst_bytes,
            filled_ns: 0,
        }
    }

    /// True if a packet that comes at `now` is lost.
    pub fn loses(&mut self, of: Policer, clock: Clock, now: Ticks, bytes: u32) -> bool {
        let now_ns = clock.ns(now);
        let came = of.rate_bps / 8.0 * (now_ns - self.filled_ns) as f64 / 1e9;
        self.tokens_bytes = (self.tokens_bytes + came).min(of.burst_bytes);
        self.filled_ns = now_ns;
        let is_lost = self.tokens_bytes < f64::from(bytes);
        if !is_lost {
            self.tokens_bytes -= f64::from(bytes);
        }
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_the_burst_and_the_rate() {
        let of = Policer {
            rate_bps: 8e6,
            burst_bytes: 20_000.0,
        };
        let clock = Clock::endless();
        let mut bucket = Bucket::full(of);
        // twice the rate: 1000 bytes every half a millisecond, for a second
        let passed: Vec<bool> = (0..2000_u64)
            .map(|number| !bucket.loses(of, clock, clock.ticks(number * 500_000), 1000))
            .collect();
        // until the bucket is empty nothing is lost: 20 packets and what comes meanwhile
        let first_lost = passed.iter().position(|passes| !passes).unwrap();
        assert_eq!(first_lost, 39);
        let bytes = 1000 * passed.iter().filter(|passes| **passes).count();
        assert!(bytes.abs_diff(20_000 + 1_000_000) <= 1_500, "{bytes}");
        // a pause fills it, and no more than that
        let later = |number: u64| clock.ticks(9_000_000_000 + number);
        let burst = (0..40).take_while(|number| !bucket.loses(of, clock, later(*number), 1000));
        assert_eq!(burst.count(), 20);
    }
}
