//! Arrival processes of packets and of flows.

use rand::SeedableRng;
use sluice_random::{Stream, uniform};
use sluice_traffic::{ModulatedSlots, Modulator};

use super::{
    Distribution,
    gap::Gap,
    noise::{Noise, NoisyRate},
};

/// An arrival process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalProcess {
    /// Independent gaps of this distribution.
    Gaps(Distribution),
    /// Constant gaps.
    Constant {
        /// Time between two arrivals.
        gap_ns: f64,
    },
    /// A Poisson process.
    Poisson {
        /// Mean time between two arrivals.
        mean_gap_ns: f64,
    },
    /// Constant gaps while on, no arrivals while off.
    OnOff {
        /// Time between two arrivals while on.
        gap_ns: f64,
        /// Length of an ON period.
        on: Distribution,
        /// Length of an OFF period.
        off: Distribution,
    },
    /// A Poisson process with a rate that follows noise.
    Noisy {
        /// Mean time between two arrivals at the mean rate.
        mean_gap_ns: f64,
        /// How the rate varies.
        noise: Noise,
    },
    /// A Markov-modulated Poisson process with two rates.
    TwoRates {
        /// Mean time between two arrivals at each rate; infinite at a rate of 0.
        mean_gaps_ns: [f64; 2],
        /// Mean time for which each rate lasts.
        mean_stays_ns: [f64; 2],
    },
    /// Arrivals at slots that the modulator draws.
    Modulated {
        /// Length of a slot.
        slot_ns: f64,
        /// The self-similar modulator.
        modulator: Modulator,
    },
}

impl ArrivalProcess {
    /// Checks the parameters of the process.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Gaps(distribution) => distribution.check(),
            Self::Constant { gap_ns: gap } | Self::Poisson { mean_gap_ns: gap } => {
                least("gap", *gap)
            }
            Self::OnOff { gap_ns, on, off } => least("gap", *gap_ns)
                .and(on.check())
                .and(off.check())
                .and(long_enough(*gap_ns, on)),
            Self::Noisy { mean_gap_ns, noise } => least("gap", *mean_gap_ns).and(noise.check()),
            Self::TwoRates {
                mean_gaps_ns: [gap, other_gap],
                mean_stays_ns: [stay, other_stay],
            } => least("gap", *gap)
                .and(least("gap", *other_gap))
                .and(least("mmpp: a time", stay.min(*other_stay)))
                .and(many_arrivals(self.mean_gap_ns(), stay + other_stay)),
            Self::Modulated { slot_ns, modulator } => {
                least("slot", *slot_ns).and(modulator.check())
            }
        }
    }

    /// Returns the mean time between two arrivals.
    pub fn mean_gap_ns(&self) -> f64 {
        match self {
            Self::Gaps(distribution) => distribution.mean_ns().max(1.0),
            Self::Constant { gap_ns: gap } | Self::Poisson { mean_gap_ns: gap } => *gap,
            Self::OnOff { gap_ns, on, off } => {
                gap_ns * (on.mean_ns() + off.mean_ns()) / on.mean_ns().max(1.0)
            }
            Self::Noisy { mean_gap_ns, .. } => *mean_gap_ns,
            Self::TwoRates {
                mean_gaps_ns: [gap, other_gap],
                mean_stays_ns: [stay, other_stay],
            } => (stay + other_stay) / (stay / gap + other_stay / other_gap),
            Self::Modulated { slot_ns, modulator } => *slot_ns / modulator.mean(),
        }
    }

    /// Returns the noise of its rate, if it has one.
    pub fn noise(&self) -> Option<Noise> {
        match self {
            Self::Noisy { noise, .. } => Some(*noise),
            _ => None,
        }
    }
}

fn least(name: &str, ns: f64) -> Result<(), String> {
    if ns >= 1.0 {
        return Ok(());
    }
    Err(format!("{name} = {ns} must be at least 1 ns"))
}

/// Refuses two rates that change more than about 100 times between two arrivals, as `long_enough`.
fn many_arrivals(mean_gap_ns: f64, both_ns: f64) -> Result<(), String> {
    if 100.0 * both_ns >= mean_gap_ns {
        return Ok(());
    }
    Err(format!(
        "mmpp: both rates together last {:.3e} s; they must last a hundredth of the mean time between \
         two packets, {:.3e} s",
        both_ns / 1e9,
        mean_gap_ns / 1e9
    ))
}

/// Refuses gaps that last for more than about 100 ON periods: finding the end of such a gap would
/// take longer than simulating the packet.
fn long_enough(gap_ns: f64, on: &Distribution) -> Result<(), String> {
    if 100.0 * on.median_ns() >= gap_ns {
        return Ok(());
    }
    Err(format!(
        "on: half of the times last less than {:.3e} s; they must last a hundredth of the gap between \
         two packets, {:.3e} s",
        on.median_ns() / 1e9,
        gap_ns / 1e9
    ))
}

/// A running arrival process.
#[derive(Clone, Debug)]
pub enum Arrivals {
    Gaps(Distribution),
    Constant(Gap),
    Poisson(Gap),
    OnOff {
        gap: Gap,
        on: Distribution,
        off: Distribution,
        /// End of the present ON period.
        on_until_ns: u64,
        end_ns: u64,
    },
    Noisy {
        gap: Gap,
        rate: NoisyRate,
    },
    TwoRates {
        mean_gaps_ns: [f64; 2],
        mean_stays_ns: [f64; 2],
        /// Which of the two is the present one, and how long it still lasts.
        rate: usize,
        stay_ns: f64,
        /// Time by which the gaps so far were too short, as they are whole.
        left_ns: f64,
    },
    Modulated {
        from_ns: u64,
        slot: Gap,
        slots: Box<ModulatedSlots>,
    },
}

impl Arrivals {
    /// Starts a process that runs between two times.
    pub fn new(process: ArrivalProcess, random: &mut Stream, from_ns: u64, end_ns: u64) -> Self {
        match process {
            ArrivalProcess::Gaps(distribution) => Self::Gaps(distribution),
            ArrivalProcess::Constant { gap_ns } => Self::Constant(Gap::new(gap_ns)),
            ArrivalProcess::Poisson { mean_gap_ns } => Self::Poisson(Gap::new(mean_gap_ns)),
            ArrivalProcess::OnOff { gap_ns, on, off } => Self::OnOff {
                gap: Gap::new(gap_ns),
                on,
                off,
                on_until_ns: from_ns,
                end_ns,
            },
            ArrivalProcess::Noisy { mean_gap_ns, noise } => Self::Noisy {
                gap: Gap::new(mean_gap_ns),
                rate: NoisyRate::new(noise, random, from_ns, end_ns),
            },
            ArrivalProcess::TwoRates {
                mean_gaps_ns,
                mean_stays_ns,
            } => {
                // stationary: the rest of an exponential time is as long as the whole
                let both_ns: f64 = mean_stays_ns.iter().sum();
                let rate = usize::from(uniform(random) * both_ns > mean_stays_ns[0]);
                Self::TwoRates {
                    mean_gaps_ns,
                    mean_stays_ns,
                    rate,
                    stay_ns: -uniform(random).ln() * mean_stays_ns[rate],
                    left_ns: 0.0,
                }
            }
            ArrivalProcess::Modulated { slot_ns, modulator } => Self::Modulated {
                from_ns,
                slot: Gap::new(slot_ns),
                slots: Box::new(ModulatedSlots::stationary(
                    modulator,
                    Stream::from_rng(random),
                )),
            },
        }
    }

    /// Returns the time of the next arrival after one at `now`. A time at `end_ns` or later means
    /// that there is none.
    pub fn after(&mut self, random: &mut Stream, now: u64) -> u64 {
        match self {
            Self::Gaps(distribution) => now.saturating_add(distribution.draw(random).max(1)),
            Self::Constant(gap) => now.saturating_add(gap.next(1.0)),
            Self::Poisson(gap) => now.saturating_add(gap.next(-uniform(random).ln())),
            Self::OnOff {
                gap,
                on,
                off,
                on_until_ns,
                end_ns,
            } => {
                let mut next_ns = now.saturating_add(gap.next(1.0));
                // the rest of a gap at the end of an ON period continues in the next one
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
            Self::Noisy { gap, rate } => {
                let ahead_ns = gap.exact_ns(-uniform(random).ln());
                let (next_ns, left_ns) = rate.after(now, ahead_ns);
                now.saturating_add(gap.take(next_ns - now, left_ns))
            }
            Self::TwoRates {
                mean_gaps_ns,
                mean_stays_ns,
                rate,
                stay_ns,
                left_ns,
            } => {
                let mut ahead_ns = *left_ns;
                loop {
                    let gap_ns = -uniform(random).ln() * mean_gaps_ns[*rate];
                    if gap_ns < *stay_ns {
                        *stay_ns -= gap_ns;
                        ahead_ns += gap_ns;
                        break;
                    }
                    // the gap is drawn anew at the other rate, as it has no memory
                    ahead_ns += *stay_ns;
                    *rate = 1 - *rate;
                    *stay_ns = -uniform(random).ln() * mean_stays_ns[*rate];
                }
                *left_ns = ahead_ns.fract();
                now.saturating_add(ahead_ns as u64)
            }
            Self::Modulated {
                from_ns,
                slot,
                slots,
            } => from_ns.saturating_add(slot.slot_ns(slots.next_slot())),
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;
    use sluice_traffic::autocovariance;

    use super::*;

    /// Returns the number of arrivals in each frame of one path.
    fn counts(process: ArrivalProcess, path: u64, frames: usize, frame_ns: u64) -> Vec<f64> {
        let mut random = stream(5, "pace", path);
        let end_ns = frames as u64 * frame_ns;
        let mut arrivals = Arrivals::new(process, &mut random, 0, end_ns);
        let mut counts = vec![0.0; frames];
        let mut now = arrivals.after(&mut random, 0);
        while now < end_ns {
            counts[(now / frame_ns) as usize] += 1.0;
            now = arrivals.after(&mut random, now);
        }
        counts
    }

    /// Returns the mean and its standard error.
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
            let process = ArrivalProcess::Noisy {
                mean_gap_ns: 20_000.0,
                noise: Noise {
                    hurst,
                    deviation,
                    frame_ns,
                },
            };
            let paths: Vec<_> = (0..3000)
                .map(|path| counts(process, path, FRAMES, frame_ns))
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
                // a Poisson count with a random mean has the mean plus the variance of that mean as
                // its variance
                let own = if lag == 0 { per_frame } else { 0.0 };
                let scale = (per_frame * deviation).powi(2);
                let exact = own + scale * autocovariance(hurst, lag);
                assert!(error < 0.1 * scale, "H {hurst} lag {lag}: +- {error}");
                assert!(
                    (found - exact).abs() < 4.5 * error,
                    "H {hurst} lag {lag}: {found} +- {error}, exact {exact}"
                );
            }
        }
    }

    /// The variance of the number of arrivals in a time t is known: Heffes & Lucantoni 1986, "A Markov
    /// modulated characterization of packetized voice and data traffic".
    #[test]
    fn counts_at_two_rates_have_the_variance_of_an_mmpp() {
        for (gaps, stays) in [
            ([1_000.0, 8_000.0], [50_000.0, 200_000.0]),
            ([2_000.0, f64::INFINITY], [30_000.0, 60_000.0]),
        ] {
            let process = ArrivalProcess::TwoRates {
                mean_gaps_ns: gaps,
                mean_stays_ns: stays,
            };
            let [one, other] = gaps.map(|gap_ns| 1.0 / gap_ns);
            let [leave, back] = stays.map(|stay_ns| 1.0 / stay_ns);
            let both = leave + back;
            let rate = (one * back + other * leave) / both;
            for frame_ns in [10_000, 100_000, 2_000_000] {
                let time = frame_ns as f64;
                let burst = 2.0 * leave * back * (one - other).powi(2) / both.powi(3);
                let variance = rate * time + burst * (time - (1.0 - (-both * time).exp()) / both);
                let found: Vec<f64> = (0..4000)
                    .map(|path| counts(process, path, 1, frame_ns)[0])
                    .collect();
                let (count, error) = mean(&found);
                assert!(
                    (count - rate * time).abs() < 4.0 * error,
                    "{count}: {}",
                    rate * time
                );
                let squares: Vec<f64> = found
                    .iter()
                    .map(|count| (count - rate * time).powi(2))
                    .collect();
                let (square, error) = mean(&squares);
                assert!(error < 0.1 * variance, "+- {error} of {variance}");
                assert!(
                    (square - variance).abs() < 4.0 * error,
                    "{square} +- {error}: {variance}"
                );
            }
        }
    }

    fn has_its_mean(process: ArrivalProcess, frame_ns: u64) {
        let rates: Vec<f64> = (0..24)
            .map(|path| counts(process, path, 1, frame_ns)[0] / frame_ns as f64)
            .collect();
        let (found, error) = mean(&rates);
        let wanted = 1.0 / process.mean_gap_ns();
        assert!(error < 0.05 * wanted, "{process:?}: +- {error}");
        assert!(
            // the count can differ by one arrival
            (found - wanted).abs() < 4.0 * error + 1.0 / frame_ns as f64,
            "{process:?}: {found} +- {error}, wanted {wanted}"
        );
    }

    #[test]
    fn every_process_has_its_mean() {
        let half = Distribution::Exponential(500_000);
        let processes = [
            ArrivalProcess::Gaps(Distribution::Exponential(2_000)),
            ArrivalProcess::OnOff {
                gap_ns: 1_000.0,
                on: half,
                off: Distribution::Pareto {
                    mean: 1_500_000,
                    shape: 3.0,
                },
            },
            ArrivalProcess::Noisy {
                mean_gap_ns: 2_000.0,
                noise: Noise {
                    hurst: 0.7,
                    deviation: 0.3,
                    frame_ns: 100_000,
                },
            },
            ArrivalProcess::Modulated {
                slot_ns: 1_000.0,
                modulator: Modulator {
                    a: 8.0,
                    q: 1.9,
                    states: 5,
                },
            },
        ];
        processes
            .into_iter()
            .for_each(|process| has_its_mean(process, 100_000_000));
    }

    #[test]
    fn gaps_of_a_few_nanoseconds_keep_their_mean() {
        // 40 bytes at 100 Gbit/s
        let gap_ns = 3.2;
        let processes = [
            ArrivalProcess::Constant { gap_ns },
            ArrivalProcess::Poisson {
                mean_gap_ns: gap_ns,
            },
            ArrivalProcess::OnOff {
                gap_ns,
                on: Distribution::Exponential(100),
                off: Distribution::Exponential(100),
            },
            ArrivalProcess::Noisy {
                mean_gap_ns: gap_ns,
                noise: Noise {
                    hurst: 0.5,
                    deviation: 0.1,
                    frame_ns: 1_000,
                },
            },
            ArrivalProcess::TwoRates {
                mean_gaps_ns: [gap_ns, 4.0 * gap_ns],
                mean_stays_ns: [100.0, 300.0],
            },
            ArrivalProcess::Modulated {
                slot_ns: gap_ns,
                modulator: Modulator {
                    a: 8.0,
                    q: 1.9,
                    states: 5,
                },
            },
        ];
        processes
            .into_iter()
            .for_each(|process| has_its_mean(process, 1_000_000));
    }
}
