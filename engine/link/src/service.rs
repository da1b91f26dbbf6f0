//! How fast a link sends in time: in steps, at given opportunities, or as its medium lets it.

use std::sync::Arc;

use crate::{
    clock::{Clock, Ticks},
    docsis::{Docsis, Granted},
    wifi::{Aggregate, Wifi},
};

/// A rate from a time on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// When it begins.
    pub from_ns: u64,
    /// Rate, bits/s; 0: nothing is sent.
    pub rate_bps: u64,
}

/// Bytes that cross at an opportunity, and what each packet takes beside its own bytes. So one
/// packet of 1500 bytes crosses at each opportunity (Mahimahi, `src/frontend/link_queue.hh`: 1504
/// bytes, of which 4 are the header of a TUN device).
pub const OPPORTUNITY_BYTES: u32 = 1504;
const HEADER_BYTES: u32 = 4;

const SECOND_NS: u64 = 1_000_000_000;
/// Time between two looks at the rate of opportunities.
const RATED_EVERY_NS: u64 = 100_000_000;

/// A link's rate, or its opportunities to send, as a function of time.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Rates in time, each until the next one; the last one stays. Before the first one the link
    /// has the rate that it has without them.
    Steps(Arc<[Step]>),
    /// Times at which [`OPPORTUNITY_BYTES`] may cross, ns. They repeat, with the last one as period.
    Opportunities {
        /// The times.
        times_ns: Arc<[u64]>,
        /// When they begin; before, there are none.
        from_ns: u64,
    },
    /// In aggregates, each after a contention for the air.
    Wifi(Wifi),
    /// In grants, each after a request.
    Docsis(Docsis),
}

impl Service {
    /// Returns rates in time.
    ///
    /// # Errors
    /// If there are none, if their times do not rise, or if the last rate is 0: then packets would
    /// wait for ever.
    pub fn steps(steps: Vec<Step>) -> Result<Self, String> {
        let last = steps.last().ok_or("there must be at least one rate")?;
        if last.rate_bps == 0 {
            return Err(format!(
                "the last rate, from {} s on, must be above 0: it stays for ever",
                seconds(last.from_ns)
            ));
        }
        let falls = steps
            .windows(2)
            .find(|pair| pair[1].from_ns <= pair[0].from_ns);
        if let Some(pair) = falls {
            return Err(format!(
                "times must rise, and {} s does not come after {} s",
                seconds(pair[1].from_ns),
                seconds(pair[0].from_ns)
            ));
        }
        Ok(Self::Steps(steps.into()))
    }

    /// Returns opportunities at these times, ns.
    ///
    /// # Errors
    /// If there are none, if their times fall, or if the last one is at 0: the trace repeats after
    /// it.
    pub fn opportunities(times_ns: Vec<u64>) -> Result<Self, String> {
        let last_ns = times_ns
            .last()
            .ok_or("there must be at least one opportunity")?;
        if *last_ns == 0 {
            return Err("the last opportunity must be after 0: there the trace repeats".into());
        }
        if let Some(pair) = times_ns.windows(2).find(|pair| pair[1] < pair[0]) {
            return Err(format!(
                "times must not fall, and {} s comes after {} s",
                seconds(pair[1]),
                seconds(pair[0])
            ));
        }
        Ok(Self::Opportunities {
            times_ns: times_ns.into(),
            from_ns: 0,
        })
    }

    /// Returns the same, so much later. A medium has no times of its own, and stays as it is.
    pub fn later(self, by_ns: u64) -> Self {
        match self {
            Self::Steps(steps) => Self::Steps(
                steps
                    .iter()
                    .map(|step| Step {
                        from_ns: step.from_ns.saturating_add(by_ns),
                        ..*step
                    })
                    .collect(),
            ),
            Self::Opportunities { times_ns, from_ns } => Self::Opportunities {
                times_ns,
                from_ns: from_ns.saturating_add(by_ns),
            },
            Self::Wifi(_) | Self::Docsis(_) => self,
        }
    }

    /// Returns the rate at a time, bits/s: that of the step, or that of the opportunities of the last
    /// second, as a sender on the link can know it; in the first second the mean of the trace.
    /// `constant_bps` is what it is before the first step.
    pub fn rate_bps(&self, at_ns: u64, constant_bps: u64) -> u64 {
        match self {
            Self::Steps(steps) => {
                let begun = steps.partition_point(|step| step.from_ns <= at_ns);
                begun
                    .checked_sub(1)
                    .map_or(constant_bps, |place| steps[place].rate_bps)
            }
            Self::Opportunities { times_ns, from_ns } => {
                let at_ns = at_ns.saturating_sub(*from_ns);
                let period_ns = times_ns[times_ns.len() - 1];
                let until = |ns: u64| {
                    let begun = times_ns.partition_point(|time_ns| *time_ns <= ns % period_ns);
                    ns / period_ns * times_ns.len() as u64 + begun as u64
                };
                let (count, over_ns) = match at_ns.checked_sub(SECOND_NS) {
                    Some(since_ns) => (until(at_ns) - until(since_ns), SECOND_NS),
                    None => (times_ns.len() as u64, period_ns),
                };
                let bits = (8 * u64::from(OPPORTUNITY_BYTES) * count) as f64;
                (bits * SECOND_NS as f64 / over_ns as f64).round() as u64
            }
            Self::Wifi(wifi) => wifi.rate_bps(),
            Self::Docsis(docsis) => docsis.rate_bps,
        }
    }

    /// Returns the most bits that can be sent within a time.
    pub fn most_bits(&self, within_ns: u64, constant_bps: u64) -> u64 {
        match self {
            Self::Steps(steps) => {
                let rates = steps.iter().map(|step| step.rate_bps);
                bits_within(rates.max().unwrap_or(0).max(constant_bps), within_ns)
            }
            Self::Wifi(wifi) => bits_within(wifi.rate_bps, within_ns),
            Self::Docsis(docsis) => bits_within(docsis.channel_bps, within_ns),
            Self::Opportunities { times_ns, .. } => {
                let (count, period_ns) = (times_ns.len(), times_ns[times_ns.len() - 1]);
                let rest_ns = within_ns % period_ns;
                let at =
                    |number: usize| (number / count) as u64 * period_ns + times_ns[number % count];
                let (mut first, mut most) = (0, 0);
                for last in 0..2 * count {
                    while at(last) - at(first) > rest_ns {
                        first += 1;
                    }
                    most = most.max(last + 1 - first);
                }
                let all = (within_ns / period_ns).saturating_mul(count as u64) + most as u64;
                all.saturating_mul(8 * u64::from(OPPORTUNITY_BYTES))
            }
        }
    }

    /// Returns when the rate changes next after a time, ns; `None`: never.
    pub fn next_change_ns(&self, after_ns: u64) -> Option<u64> {
        match self {
            Self::Steps(steps) => {
                let begun = steps.partition_point(|step| step.from_ns <= after_ns);
                steps.get(begun).map(|step| step.from_ns)
            }
            Self::Opportunities { from_ns, .. } => {
                let since_ns = after_ns.saturating_sub(*from_ns);
                let next_ns = (since_ns / RATED_EVERY_NS + 1) * RATED_EVERY_NS;
                Some(from_ns.saturating_add(next_ns))
            }
            // what AQMs are shown is the rate of a link that is always busy
            Self::Wifi(_) | Self::Docsis(_) => None,
        }
    }
}

fn bits_within(rate_bps: u64, within_ns: u64) -> u64 {
    let bits = u128::from(rate_bps) * u128::from(within_ns) / u128::from(SECOND_NS);
    bits.try_into().unwrap_or(u64::MAX)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// A service with the place that a link has come to. Times must not decrease.
#[derive(Clone, Debug)]
pub struct Progress {
    service: Service,
    constant_bps: f64,
    /// Of steps: how many have begun. Of opportunities: how many are over or in use, over all
    /// repetitions.
    next: u64,
    used: Used,
    aggregate: Aggregate,
    granted: Granted,
}

/// The last opportunity in use.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    at: Ticks,
    /// Bytes that are left of it.
    left: u32,
}

impl Progress {
    /// Starts at time 0. Before the first step the rate is `constant_bps`.
    pub fn new(service: Service, constant_bps: f64) -> Self {
        Self {
            service,
            constant_bps,
            next: 0,
            used: Used::default(),
            aggregate: Aggregate::default(),
            granted: Granted::default(),
        }
    }

    /// Returns the last part of the transmission of a packet of `bytes` that starts at `start`.
    pub(crate) fn last_part(&mut self, clock: Clock, start: Ticks, bytes: u32) -> LastPart {
        match &self.service {
            Service::Steps(steps) => {
                let constant_bps = self.constant_bps;
                in_steps(steps, constant_bps, &mut self.next, (clock, start, bytes))
            }
            Service::Opportunities { times_ns, from_ns } => {
                let from = at_opportunity(
                    (times_ns, *from_ns),
                    &mut self.next,
                    &mut self.used,
                    (clock, start, bytes),
                );
                LastPart { from, seconds: 0.0 }
            }
            Service::Wifi(wifi) => self.aggregate.last_part(wifi, clock, start, bytes),
            Service::Docsis(docsis) => self.granted.last_part(docsis, clock, start, bytes),
        }
    }
}

/// The last part of a transmission.
pub(crate) struct LastPart {
    /// When it begins.
    pub from: Ticks,
    /// How long it takes, s; 0 if the packet crosses at a moment.
    pub seconds: f64,
}

fn in_steps(
    steps: &[Step],
    constant_bps: f64,
    begun: &mut u64,
    (clock, start, bytes): (Clock, Ticks, u32),
) -> LastPart {
    let mut from = start;
    let mut bits = 8.0 * f64::from(bytes);
    loop {
        let next = steps.get(*begun as usize);
        let until = next.map_or(Ticks::MAX, |step| clock.ticks(step.from_ns));
        if until <= from {
            *begun += 1;
            continue;
        }
        let rate_bps = match *begun {
            0 => constant_bps,
            begun => steps[begun as usize - 1].rate_bps as f64,
        };
        let seconds = bits / rate_bps;
        if from.saturating_add(clock.rounded(seconds, clock.spare(from))) <= until {
            return LastPart { from, seconds };
        }
        bits = (bits - rate_bps * clock.seconds(until - from)).max(0.0);
        from = until;
        // at an outage 0 / 0 would follow
        if bits == 0.0 {
            return LastPart { from, seconds: 0.0 };
        }
    }
}

/// Returns the time of the opportunity at which the last byte of a packet crosses.
fn at_opportunity(
    (times_ns, from_ns): (&[u64], u64),
    next: &mut u64,
    used: &mut Used,
    (clock, start, bytes): (Clock, Ticks, u32),
) -> Ticks {
    let count = times_ns.len() as u64;
    let period_ns = times_ns[times_ns.len() - 1];
    let at = |number: u64| {
        let (round, place) = (number / count, number % count);
        let since_ns = round
            .saturating_mul(period_ns)
            .saturating_add(times_ns[place as usize]);
        clock.ticks(from_ns.saturating_add(since_ns))
    };
    // an opportunity that finds nothing to send is lost, and so is what is left of one
    if start > used.at || *next == 0 {
        used.left = 0;
        let since_ns = clock.ns(start).saturating_sub(from_ns);
        *next = (*next).max(since_ns / period_ns * count);
        while at(*next) <= start {
            *next += 1;
        }
    }
    let mut needed = bytes.saturating_add(HEADER_BYTES);
    while needed > used.left {
        needed -= used.left;
        *used = Used {
            at: at(*next),
            left: OPPORTUNITY_BYTES,
        };
        *next += 1;
    }
    used.left -= needed;
    used.at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_opportunities_is_that_of_the_last_second() {
        let bits = 8 * u64::from(OPPORTUNITY_BYTES);
        // 10 in the first 500 ms, 2 in the rest of a second, then again
        let ms = (1..=10).map(|number| 50 * number).chain([900, 1000]);
        let times_ns = ms.map(|ms| ms * 1_000_000).collect();
        let service = Service::opportunities(times_ns).unwrap();
        for at_ms in [0, 999, 1000, 1050, 1500, 7777] {
            let found = service.rate_bps(at_ms * 1_000_000, 1);
            assert_eq!(found, 12 * bits, "{at_ms}");
        }
        let next = service.next_change_ns(150_000_000);
        assert_eq!(next, Some(200_000_000));
        let after = service.later(2_000_000_000);
        assert_eq!(after.rate_bps(2_999_000_000, 1), 12 * bits);
        assert_eq!(after.next_change_ns(2_150_000_000), Some(2_200_000_000));
        // two seconds, of which the second is an outage
        let times_ns = vec![400_000_000, 800_000_000, 2_000_000_000];
        let service = Service::opportunities(times_ns).unwrap();
        let rates = [500, 1900, 2300, 2500].map(|ms| service.rate_bps(ms * 1_000_000, 1));
        assert_eq!(rates, [3 * bits / 2, 0, bits, 2 * bits]);
        // the period ends at 2 s, and 0.4 and 0.8 s come after it
        let most = [0, 400, 799, 800, 2000].map(|ms| service.most_bits(ms * 1_000_000, 1));
        assert_eq!(most, [bits, 2 * bits, 2 * bits, 3 * bits, 4 * bits]);
    }
}
