//! The sending end of a link.

use crate::clock::{Clock, Ticks};

/// Transmission time of a packet of `bytes`, without and with the propagation delay, rounded as for
/// a packet that starts before the time `until`.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    bytes: u32,
    until: Ticks,
    transmission: Ticks,
    with_delay: Ticks,
}

/// Sends one packet after the other at a given rate.
///
/// If a packet arrives during a transmission, its own starts exactly at the end of that one, even
/// if the caller is late: delays of the caller do not add up.
#[derive(Clone, Debug)]
pub struct Transmitter {
    rate_bps: f64,
    delay_s: f64,
    free: Ticks,
    /// Times of the last packet, kept because most packets on a link have the same size.
    times: Times,
}

impl Transmitter {
    /// Returns a free transmitter with a rate (bits/s) and a propagation delay (ns).
    pub fn new(rate_bps: u64, delay_ns: u64) -> Self {
        Self {
            rate_bps: rate_bps as f64,
            delay_s: delay_ns as f64 / 1e9,
            free: 0,
            times: Times::default(),
        }
    }

    /// Sets rate (bits/s) and delay (ns) from the next packet on.
    pub fn set(&mut self, rate_bps: u64, delay_ns: u64) {
        *self = Self {
            free: self.free,
            ..Self::new(rate_bps, delay_ns)
        };
    }

    /// Returns the end of the transmission of all packets so far.
    #[inline]
    pub fn free(&self) -> Ticks {
        self.free
    }

    /// Sends a packet of `bytes` at `now`, or when the link is free. Returns the time at which it
    /// arrives at the other end.
    #[inline]
    pub fn send(&mut self, clock: Clock, now: Ticks, bytes: u32) -> Ticks {
        // starts never decrease, so the times also hold from their first use on
        let start = now.max(self.free);
        if self.times.bytes != bytes || start >= self.times.until {
            self.times = self.times(clock, start, bytes);
        }
        self.free = start.saturating_add(self.times.transmission);
        start.saturating_add(self.times.with_delay)
    }

    #[cold]
    fn times(&self, clock: Clock, start: Ticks, bytes: u32) -> Times {
        let seconds = 8.0 * f64::from(bytes) / self.rate_bps;
        let spare = clock.spare(start);
        Times {
            bytes,
            until: clock.rounds_until(start),
            transmission: clock.rounded(seconds, spare).max(1),
            with_delay: clock.rounded(seconds + self.delay_s, spare).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the start, after a day and after a year, a million packets of 64 bytes at 1 Gbit/s take
    /// their bits divided by the rate.
    #[test]
    fn a_clock_without_end_does_not_drift() {
        let clock = Clock::endless();
        let mut transmitter = Transmitter::new(1_000_000_000, 0);
        for seconds in [0, 86_400, 31_536_000] {
            let start = clock.ticks(seconds * 1_000_000_000);
            let before = start.max(transmitter.free());
            for _ in 0..1_000_000 {
                transmitter.send(clock, start, 64);
            }
            let took_ns = clock.ns(transmitter.free()) - clock.ns(before);
            // 512 ns each; a tick is 58 ps, so rounding changes each by at most 29 ps
            assert!(took_ns.abs_diff(512_000_000) < 29_000, "{took_ns}");
        }
    }

    #[test]
    fn a_new_rate_begins_with_the_next_packet() {
        let clock = Clock::endless();
        let mut transmitter = Transmitter::new(8_000_000, 0);
        transmitter.send(clock, 0, 1000);
        transmitter.set(16_000_000, 1_000_000);
        let out = transmitter.send(clock, 0, 1000);
        let us = |ticks| clock.ns(ticks).div_ceil(1000);
        assert_eq!((us(transmitter.free()), us(out)), (1500, 2500));
    }
}
