//! The sending end of a link.

use crate::{
    clock::{Clock, Ticks},
    service::{LastPart, Progress, Service},
};

/// Transmission time of a packet of `bytes`, without and with the propagation delay, rounded as for
/// a packet that starts before the time `until`; 0: for this packet alone.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    bytes: u32,
    until: Ticks,
    transmission: Ticks,
    with_delay: Ticks,
}

/// Sizes of packets for which the times are kept.
const KEPT: usize = 4;

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
    /// How far it has come in a service that varies; `None`: the rate is constant.
    progress: Option<Box<Progress>>,
    /// Times at the constant rate, by [`Transmitter::place_of`]: ACKs have a few sizes, which differ by the
    /// blocks and the counters that they carry.
    kept: [Times; KEPT],
}

impl Transmitter {
    /// Returns a free transmitter with a rate (bits/s) and a propagation delay (ns).
    pub fn new(rate_bps: u64, delay_ns: u64) -> Self {
        Self {
            rate_bps: rate_bps as f64,
            delay_s: delay_ns as f64 / 1e9,
            free: 0,
            times: Times::default(),
            progress: None,
            kept: Default::default(),
        }
    }

    /// Sends as `service` says, which counts from time 0; before its first step with the constant
    /// rate.
    pub fn with_service(self, service: Option<Service>) -> Self {
        let progress = service.map(|service| Box::new(Progress::new(service, self.rate_bps)));
        Self { progress, ..self }
    }

    /// Sets rate (bits/s), delay (ns) and service from the next packet on.
    pub fn set(&mut self, rate_bps: u64, delay_ns: u64, service: Option<Service>) {
        *self = Self {
            free: self.free,
            ..Self::new(rate_bps, delay_ns).with_service(service)
        };
    }

    /// Returns the end of the transmission of all packets so far.
    #[inline]
    pub fn free(&self) -> Ticks {
        self.free
    }

    /// Returns the least time from the start of a transmission to the arrival at the other end: the
    /// delay, rounded down as far as at any time of the clock.
    pub fn least_time(&self, clock: Clock) -> Ticks {
        let rounded = |spare| clock.rounded(self.delay_s, spare);
        (0..=clock.spare(Ticks::MAX))
            .map(rounded)
            .min()
            .unwrap_or(0)
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

    #[inline(never)]
    fn times(&mut self, clock: Clock, start: Ticks, bytes: u32) -> Times {
        if let Some(progress) = &mut self.progress {
            return varying(clock, start, bytes, progress, self.delay_s);
        }
        let kept = self.kept[Self::place_of(bytes)];
        if kept.bytes == bytes && start < kept.until {
            return kept;
        }
        let times = self.constant(clock, start, bytes);
        self.kept[Self::place_of(bytes)] = times;
        times
    }

    /// Returns where the times of packets of this size are kept: ACKs with and without blocks, of 40, 52,
    /// 60 and 68 bytes, have places of their own.
    fn place_of(bytes: u32) -> usize {
        bytes as usize / 8 % KEPT
    }

    #[cold]
    fn constant(&self, clock: Clock, start: Ticks, bytes: u32) -> Times {
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

/// Returns the times of a packet that starts at `start`.
fn varying(clock: Clock, start: Ticks, bytes: u32, progress: &mut Progress, delay_s: f64) -> Times {
    let LastPart { from, seconds } = progress.last_part(clock, start, bytes);
    let spare = clock.spare(from);
    let least = u64::from(seconds > 0.0);
    let until = |seconds: f64| {
        let last = clock.rounded(seconds, spare).max(least);
        (from - start).saturating_add(last)
    };
    Times {
        bytes,
        until: 0,
        transmission: until(seconds),
        with_delay: until(seconds + delay_s),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::service::Step;

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
        transmitter.set(16_000_000, 1_000_000, None);
        let out = transmitter.send(clock, 0, 1000);
        let us = |ticks| clock.ns(ticks).div_ceil(1000);
        assert_eq!((us(transmitter.free()), us(out)), (1500, 2500));
    }

    fn ms(clock: Clock, ticks: Ticks) -> f64 {
        clock.ns(ticks) as f64 / 1e6
    }

    /// Returns a transmitter with rates in Mbit/s from times in ms on.
    fn stepping(constant_bps: u64, steps: &[(u64, u64)]) -> Transmitter {
        let steps = steps.iter().map(|(ms, mbps)| Step {
            from_ns: ms * 1_000_000,
            rate_bps: mbps * 1_000_000,
        });
        let service = Service::steps(steps.collect()).unwrap();
        Transmitter::new(constant_bps, 0).with_service(Some(service))
    }

    #[test]
    fn a_packet_over_a_step_takes_the_bits_of_each_part() {
        let clock = Clock::endless();
        // 8 Mbit/s, from 3 ms on 2, an outage from 5 to 9 ms, then 16
        let mut link = stepping(8_000_000, &[(3, 2), (5, 0), (9, 16)]);
        let sent = [1000, 3000, 1000].map(|bytes| {
            link.send(clock, 0, bytes);
            ms(clock, link.free())
        });
        // 1000 bytes by 1 ms; of 24 kbit 16 by 3 ms, 4 by 5 ms, and 4 in 0.25 ms; 8 in 0.5 ms
        for (found, wanted) in sent.into_iter().zip([1.0, 9.25, 9.75]) {
            assert!((found - wanted).abs() < 1e-5, "{found} {wanted}");
        }
    }

    #[test]
    fn one_step_is_a_constant_rate_to_the_bit() {
        let clock = Clock::new(100_000_000_000, 60).unwrap();
        let mut constant = Transmitter::new(7_000_001, 3_000_001);
        let step = Step {
            from_ns: 0,
            rate_bps: 7_000_001,
        };
        let service = Service::steps(vec![step]).unwrap();
        let mut stepped = Transmitter::new(1, 3_000_001).with_service(Some(service));
        for number in 0..100_000_u64 {
            let now = clock.ticks(number * 700_000);
            let bytes = 40 + (number * 911 % 1461) as u32;
            assert_eq!(
                constant.send(clock, now, bytes),
                stepped.send(clock, now, bytes)
            );
            assert_eq!(constant.free(), stepped.free());
        }
    }

    /// Packets of 1500 bytes that always wait leave one at each opportunity; the trace repeats.
    #[test]
    fn a_full_packet_takes_an_opportunity() {
        let clock = Clock::endless();
        let times_ms = [2, 2, 7, 10];
        let times_ns = times_ms.iter().map(|ms| ms * 1_000_000).collect();
        let service = Service::opportunities(times_ns).unwrap();
        let mut link = Transmitter::new(1, 500_000).with_service(Some(service));
        let ends = [0; 6].map(|now| {
            let out = link.send(clock, now, 1500);
            assert_eq!(clock.ns(out - link.free()), 500_000);
            ms(clock, link.free())
        });
        assert_eq!(ends, [2.0, 2.0, 7.0, 10.0, 12.0, 12.0]);
    }

    proptest! {
        /// Against a loop over the opportunities, as Mahimahi's `LinkQueue::rationalize` is.
        #[test]
        fn opportunities_are_those_of_mahimahi(
            gaps_ms in prop::collection::vec(0_u64..4, 1..12),
            packets in prop::collection::vec((0_u64..9_000, 1_u32..1501), 1..60),
        ) {
            let mut at = 1;
            let times_ms: Vec<u64> = gaps_ms.iter().map(|gap| { at += gap; at }).collect();
            let clock = Clock::endless();
            let times_ns = times_ms.iter().map(|ms| ms * 1_000_000).collect();
            let service = Service::opportunities(times_ns).unwrap();
            let mut link = Transmitter::new(1, 0).with_service(Some(service));
            // between opportunities, so that the order of equal times does not matter
            let mut now_us = 500;
            let arrivals: Vec<(u64, u32)> = packets
                .iter()
                .map(|(gap_us, bytes)| { now_us += gap_us / 1000 * 1000; (now_us, *bytes) })
                .collect();
            let found: Vec<u64> = arrivals
                .iter()
                .map(|(us, bytes)| {
                    link.send(clock, clock.ticks(us * 1000), *bytes);
                    clock.ns(link.free()) / 1_000_000
                })
                .collect();
            prop_assert_eq!(found, mahimahi(&times_ms, &arrivals));
        }
    }

    /// Returns when packets leave, ms; each has a time (µs) and bytes.
    fn mahimahi(times_ms: &[u64], arrivals: &[(u64, u32)]) -> Vec<u64> {
        let (mut left_ms, mut first, mut remaining) = (Vec::new(), 0, 0);
        for number in 0.. {
            let (round, place) = (number / times_ms.len(), number % times_ms.len());
            let now_ms = round as u64 * times_ms[times_ms.len() - 1] + times_ms[place];
            let mut budget = 1504;
            while budget > 0 && first < arrivals.len() && arrivals[first].0 < now_ms * 1000 {
                if remaining == 0 {
                    remaining = arrivals[first].1 + 4;
                }
                let amount = remaining.min(budget);
                remaining -= amount;
                budget -= amount;
                if remaining == 0 {
                    left_ms.push(now_ms);
                    first += 1;
                }
            }
            if first == arrivals.len() {
                break;
            }
        }
        left_ms
    }
}
