//! Distributions of times: durations, and gaps between arrivals.

use std::f64::consts::LN_2;

use sluice_random::{Stream, uniform};

/// A distribution of a time; all times in ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same time.
    Constant(u64),
    /// Uniform between two times.
    Uniform(u64, u64),
    /// Exponential with this mean.
    Exponential(u64),
    /// Pareto: P(T > t) = (least / t)^shape, with `shape` above 1 and this mean.
    Pareto {
        /// Mean.
        mean: u64,
        /// Exponent: the smaller it is, the heavier is the tail.
        shape: f64,
    },
}

impl Distribution {
    /// Draws a time, ns.
    pub fn draw(&self, random: &mut Stream) -> u64 {
        match *self {
            Self::Constant(time) => time,
            Self::Uniform(least, greatest) => {
                least + ((greatest - least) as f64 * uniform(random)) as u64
            }
            Self::Exponential(mean) => (-uniform(random).ln() * mean as f64) as u64,
            Self::Pareto { mean, shape } => {
                (least_ns(mean, shape) * uniform(random).powf(-1.0 / shape)) as u64
            }
        }
    }

    /// Returns the mean, ns.
    pub fn mean_ns(&self) -> f64 {
        match *self {
            Self::Constant(mean) | Self::Exponential(mean) | Self::Pareto { mean, .. } => {
                mean as f64
            }
            Self::Uniform(least, greatest) => (least as f64 + greatest as f64) / 2.0,
        }
    }

    /// Returns the median, ns. With a heavy tail it is far below the mean.
    pub fn median_ns(&self) -> f64 {
        match *self {
            Self::Exponential(mean) => mean as f64 * LN_2,
            Self::Pareto { mean, shape } => least_ns(mean, shape) * 2_f64.powf(1.0 / shape),
            Self::Constant(_) | Self::Uniform(..) => self.mean_ns(),
        }
    }

    /// Checks the parameters of the distribution.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Self::Uniform(least, greatest) if least > greatest => Err(format!(
                "least = {least} must not exceed greatest = {greatest} (ns)"
            )),
            Self::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => Err(format!(
                "shape = {shape} must exceed 1, or there is no mean"
            )),
            _ => Ok(()),
        }
    }
}

/// Returns the least value of a Pareto distribution, ns.
fn least_ns(mean: u64, shape: f64) -> f64 {
    mean as f64 * (shape - 1.0) / shape
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;

    use super::*;

    #[test]
    fn every_distribution_has_its_mean_and_its_median() {
        let distributions = [
            (Distribution::Constant(1000), 1000.0),
            (Distribution::Uniform(500, 1500), 1000.0),
            (Distribution::Exponential(1000), 1000.0),
            (
                Distribution::Pareto {
                    mean: 1000,
                    shape: 3.0,
                },
                1000.0,
            ),
        ];
        for (distribution, wanted) in distributions {
            let mut random = stream(5, "distribution", 0);
            let count = 400_000;
            let draws: Vec<u64> = (0..count).map(|_| distribution.draw(&mut random)).collect();
            let mean = draws.iter().sum::<u64>() as f64 / f64::from(count);
            // the exponential distribution has the largest standard error, 1.6
            assert!((mean - wanted).abs() < 6.0, "{distribution:?}: {mean}");
            assert_eq!(distribution.mean_ns(), wanted);
            let least = draws
                .iter()
                .filter(|draw| (**draw as f64) < distribution.median_ns().floor());
            let greatest = draws
                .iter()
                .filter(|draw| **draw as f64 > distribution.median_ns());
            let half = f64::from(count) / 2.0;
            assert!(least.count() as f64 <= 1.01 * half, "{distribution:?}");
            assert!(greatest.count() as f64 <= 1.01 * half, "{distribution:?}");
        }
    }
}
