//! Distributions of sizes: the number of packets of a flow or an object.

use sluice_random::{Stream, geometric, uniform};
use sluice_tcp::GREEDY;

/// A distribution of a whole number of packets, at least 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// Always the same number.
    Constant(u32),
    /// Geometric on 1, 2, ... with this mean.
    Geometric(f64),
    /// Pareto, P(X > x) = (least / x)^shape with `shape` above 1, rounded up or down at random so
    /// that the mean is kept.
    Pareto {
        /// Mean, packets.
        mean: f64,
        /// Exponent: the smaller it is, the heavier is the tail.
        shape: f64,
    },
}

/// Maximum packets of a flow, below `GREEDY`, which stands for "without end".
const MOST: u32 = GREEDY - 2;

impl Size {
    /// Draws a size, packets.
    pub fn draw(&self, random: &mut Stream) -> u32 {
        let packets = match *self {
            Self::Constant(packets) => u64::from(packets),
            Self::Geometric(mean) => geometric(random, (-1.0 / mean).ln_1p()),
            Self::Pareto { mean, shape } => {
                let size = least(mean, shape) * uniform(random).powf(-1.0 / shape);
                (size + 1.0 - uniform(random)) as u64
            }
        };
        packets.min(u64::from(MOST)) as u32
    }

    /// Checks the parameters of the distribution.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Self::Constant(0) => Err("a size must be at least 1 packet".into()),
            Self::Geometric(mean) if !(mean >= 1.0 && mean.is_finite()) => {
                Err(format!("mean = {mean} must be at least 1 (packets)"))
            }
            Self::Pareto { shape, .. } if !(shape > 1.0 && shape.is_finite()) => Err(format!(
                "shape = {shape} must exceed 1, or there is no mean"
            )),
            Self::Pareto { mean, shape } if !(least(mean, shape) >= 1.0 && mean.is_finite()) => {
                Err(format!(
                    "mean = {mean} must be at least shape / (shape - 1) = {} (packets): \
                     nothing is smaller than a packet",
                    shape / (shape - 1.0)
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the least value of a Pareto distribution.
fn least(mean: f64, shape: f64) -> f64 {
    mean * (shape - 1.0) / shape
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;

    use super::*;

    #[test]
    fn every_distribution_has_its_mean_and_its_least_value() {
        let pareto = |mean, shape| Size::Pareto { mean, shape };
        let distributions = [
            (Size::Constant(7), 7.0, 7),
            (Size::Geometric(4.0), 4.0, 1),
            (Size::Geometric(1.0), 1.0, 1),
            (pareto(12.0, 3.0), 12.0, 8),
            (pareto(1.7, 3.0), 1.7, 1),
        ];
        for (distribution, wanted, least) in distributions {
            let mut random = stream(5, "size", 0);
            let draws: Vec<u32> = (0..200_000)
                .map(|_| distribution.draw(&mut random))
                .collect();
            let count = draws.len() as f64;
            let mean = draws.iter().map(|size| f64::from(*size)).sum::<f64>() / count;
            let squares: f64 = draws
                .iter()
                .map(|size| (f64::from(*size) - mean).powi(2))
                .sum();
            let error = squares.sqrt() / count;
            assert!(error < 0.01 * wanted, "{distribution:?}: +- {error}");
            assert!(
                (mean - wanted).abs() <= 4.0 * error,
                "{distribution:?}: {mean} +- {error}"
            );
            assert_eq!(draws.iter().min(), Some(&least), "{distribution:?}");
        }
    }

    #[test]
    fn a_pareto_distribution_has_its_tail() {
        // least 4, so P(X > 40) is about 10^-1.5
        let (distribution, mut random) = (
            Size::Pareto {
                mean: 12.0,
                shape: 1.5,
            },
            stream(5, "tail", 0),
        );
        let above = (0..100_000)
            .filter(|_| distribution.draw(&mut random) > 40)
            .count() as f64;
        let wanted = 100_000.0 * 10_f64.powf(-1.5);
        assert!(
            (above - wanted).abs() < 0.05 * wanted,
            "{above} of {wanted}"
        );
    }
}
