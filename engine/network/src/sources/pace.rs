//! When packets, or flows, come one after the other.

use rand::SeedableRng;
use sluice_random::Stream;
use sluice_traffic::{ModulatedSlots, Modulator};

use super::{
    law::Law,
    noise::{Noise, NoisyRate},
};

/// A law of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// Independent gaps of this law.
    Gaps(Law),
    /// At constant gaps while on, nothing while off.
    OnOff {
        /// Between two arrivals while on.
        gap_ns: u64,
        /// How long it is on.
        on: Law,
        /// How long it is off.
        off: Law,
    },
    /// Poisson, with a rate that follows noise.
    Noisy {
        /// Between two arrivals where the rate is its mean.
        mean_gap_ns: u64,
        /// How the rate varies.
        noise: Noise,
    },
    /// One in each slot that the modulator says.
    Modulated {
        /// Length of a slot.
        slot_ns: u64,
        /// Which slots.
        law: Modulator,
    },
}

impl Pace {
    /// What is wrong with the law, if anything.
    pub fn check(&self) -> Result<(), String> {
        let least = |name: &str, ns: u64| match ns {
            0 => Err(format!("{name} = 0 must be at least 1 ns")),
            _ => Ok(()),
        };
        match self {
            Self::Gaps(law) => law.check(),
            Self::OnOff { gap_ns, on, off } => {
                least("gap", *gap_ns).and(on.check()).and(off.check())
            }
            Self::Noisy { mean_gap_ns, noise } => least("gap", *mean_gap_ns).and(noise.check()),
            Self::Modulated { slot_ns, law } => least("slot", *slot_ns).and(law.check()),
        }
    }

    /// Mean time between two arrivals.
    pub fn mean_gap_ns(&self) -> f64 {
        match self {
            Self::Gaps(law) => law.mean_ns().max(1.0),
            Self::OnOff { gap_ns, on, off } => {
                *gap_ns as f64 * (on.mean_ns() + off.mean_ns()) / on.mean_ns().max(1.0)
            }
            Self::Noisy { mean_gap_ns, .. } => *mean_gap_ns as f64,
            Self::Modulated { slot_ns, law } => *slot_ns as f64 / law.mean(),
        }
    }

    /// The noise in it.
    pub fn noise(&self) -> Option<Noise> {
        match self {
            Self::Noisy { noise, .. } => Some(*noise),
            _ => None,
        }
    }
}

/// A law of arrivals at work.
#[derive(Clone, Debug)]
pub enum Pacer {
    Gaps(Law),
    OnOff {
        gap_ns: u64,
        on: Law,
        off: Law,
        /// End of the present ON period.
        on_until_ns: u64,
        end_ns: u64,
    },
    Noisy {
        mean_gap_ns: u64,
        rate: NoisyRate,
    },
    Modulated {
        from_ns: u64,
        slot_ns: u64,
        slots: Box<ModulatedSlots>,
    },
}

impl Pacer {
    /// At work between two times.
    pub fn new(pace: Pace, random: &mut Stream, from_ns: u64, end_ns: u64) -> Self {
        match pace {
            Pace::Gaps(law) => Self::Gaps(law),
            Pace::OnOff { gap_ns, on, off } => Self::OnOff {
                gap_ns,
                on,
                off,
                on_until_ns: from_ns,
                end_ns,
            },
            Pace::Noisy { mean_gap_ns, noise } => Self::Noisy {
                mean_gap_ns,
                rate: NoisyRate::new(noise, random, from_ns, end_ns),
            },
            Pace::Modulated { slot_ns, law } => Self::Modulated {
                from_ns,
                slot_ns,
                slots: Box::new(ModulatedSlots::stationary(law, Stream::from_rng(random))),
            },
        }
    }

    /// When the next one comes after that of `now`; at the end or later: none comes.
    pub fn after(&mut self, random: &mut Stream, now: u64) -> u64 {
        match self {
            Self::Gaps(law) => now.saturating_add(law.draw(random).max(1)),
            Self::OnOff {
                gap_ns,
                on,
                off,
                on_until_ns,
                end_ns,
            } => {
                let mut next_ns = now.saturating_add(*gap_ns);
                // what a period leaves of a gap is finished in the next one
                while next_ns >= *on_until_ns {
                    let left_ns = next_ns - *on_until_ns;
                    let begins_ns = on_until_ns.saturating_add(off.draw(random));
                    *on_until_ns = begins_ns.saturating_add(on.draw(random).max(1));
                    next_ns = begins_ns.saturating_add(left_ns);
                    if begins_ns >= *end_ns {
                        return next_ns;
                    }
                }
                next_ns
            }
            Self::Noisy { mean_gap_ns, rate } => {
                let ahead_ns = -sluice_random::uniform(random).ln() * *mean_gap_ns as f64;
                rate.after(now, ahead_ns).max(now.saturating_add(1))
            }
            Self::Modulated {
                from_ns,
                slot_ns,
                slots,
            } => from_ns.saturating_add(slots.next_slot().saturating_mul(*slot_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;
    use sluice_traffic::autocovariance;

    use super::*;

    /// Arrivals in each frame of one path.
    fn counts(pace: Pace, path: u64, frames: usize, frame_ns: u64) -> Vec<f64> {
        let mut random = stream(5, "pace", path);
        let end_ns = frames as u64 * frame_ns;
        let mut pacer = Pacer::new(pace, &mut random, 0, end_ns);
        let mut counts = vec![0.0; frames];
        let mut now = pacer.after(&mut random, 0);
        while now < end_ns {
            counts[(now / frame_ns) as usize] += 1.0;
            now = pacer.after(&mut random, now);
        }
        counts
    }

    /// Mean and its standard error.
    fn mean(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, (squares / (count * (count - 1.0))).sqrt())
    }

    #[test]
    fn counts_have_the_covariance_of_the_noise() {
        const FRAMES: usize = 40;
        let (per_frame, deviation, frame_ns) = (50.0, 0.2, 1_000_000);
        for hurst in [0.5, 0.8] {
            let pace = Pace::Noisy {
                mean_gap_ns: 20_000,
                noise: Noise {
                    hurst,
                    deviation,
                    frame_ns,
                },
            };
            let paths: Vec<_> = (0..3000)
                .map(|path| counts(pace, path, FRAMES, frame_ns))
                .collect();
            for lag in [0, 1, 5, 30] {
                let products: Vec<f64> = paths
                    .iter()
                    .map(|path| {
                        let pairs = path.iter().zip(&path[lag..]);
                        let sum: f64 = pairs.map(|(a, b)| (a - per_frame) * (b - per_frame)).sum();
                        sum / (FRAMES - lag) as f64
                    })
                    .collect();
                let (found, error) = mean(&products);
                // a Poisson count of a random mean: its variance is the mean and that of the mean
                let own = if lag == 0 { per_frame } else { 0.0 };
                let scale = (per_frame * deviation).powi(2);
                let exact = own + scale * autocovariance(hurst, lag);
                assert!(
                    (found - exact).abs() < 4.5 * error,
                    "H {hurst} lag {lag}: {found} +- {error}, exact {exact}"
                );
            }
        }
    }

    #[test]
    fn every_pace_has_its_mean() {
        let half = Law::Exponential(500_000);
        let paces = [
            Pace::Gaps(Law::Exponential(2_000)),
            Pace::OnOff {
                gap_ns: 1_000,
                on: half,
                off: Law::Pareto {
                    mean: 1_500_000,
                    shape: 3.0,
                },
            },
            Pace::Noisy {
                mean_gap_ns: 2_000,
                noise: Noise {
                    hurst: 0.7,
                    deviation: 0.3,
                    frame_ns: 100_000,
                },
            },
            Pace::Modulated {
                slot_ns: 1_000,
                law: Modulator {
                    a: 8.0,
                    q: 1.9,
                    states: 5,
                },
            },
        ];
        for pace in paces {
            let frame_ns = 100_000_000;
            let rates: Vec<f64> = (0..24)
                .map(|path| counts(pace, path, 1, frame_ns)[0] / frame_ns as f64)
                .collect();
            let (found, error) = mean(&rates);
            let wanted = 1.0 / pace.mean_gap_ns();
            assert!(
                (found - wanted).abs() < 4.0 * error,
                "{pace:?}: {found} +- {error}, wanted {wanted}"
            );
        }
    }
}
