//! A cellular link: opportunities to send whose rate wanders.
//!
//! The model of K. Winstein, A. Sivaraman, H. Balakrishnan, "Stochastic Forecasts Achieve High
//! Throughput and Low Delay over Cellular Networks" (NSDI 2013), section 3.1, with the constants of
//! their program (sprout, `src/network/receiver.hh`): opportunities are a Poisson process, its rate is
//! a Brownian motion, and a rate of 0 lasts.

use std::f64::consts::TAU;

use sluice_link::Service;
use sluice_random::{Stream, stream, uniform};

use crate::{limits::at_least, table::table};

/// Greatest rate, opportunities/s.
const MOST: f64 = 1000.0;
/// Deviation of the rate after a second, opportunities/s.
const SIGMA: f64 = 200.0;
/// How often an outage ends, 1/s.
const ESCAPES: f64 = 1.0;
/// Time in which the rate is constant.
const TICK_S: f64 = 0.02;
/// Length of the trace.
const LENGTH_S: f64 = 300.0;

table! {
    /// A rate that wanders between 0 and 12 Mbit/s, with outages, as of a mobile phone (LTE).
    ///
    /// Opportunities to send 1504 bytes come by chance, at a rate that is a Brownian motion (Winstein
    /// et al., NSDI 2013). They are drawn for 300 s, and then repeat.
    pub struct Lte kind "lte" {
        /// Seed of the trace; it is the same in all replications.
        seed: u64 = 1, at_least(0.0).at_most(9_007_199_254_740_992.0);
    }
}

impl Lte {
    /// Returns the opportunities.
    ///
    /// # Errors
    /// Never with this model: there is an opportunity in every trace that can be expected.
    pub(super) fn service(&self) -> Result<Service, String> {
        let mut random = stream(self.seed, "lte", 0);
        // at the start each rate is as likely
        let mut rate = MOST * uniform(&mut random);
        let mut times_ns = Vec::new();
        for tick in 0..(LENGTH_S / TICK_S).round() as u64 {
            let start_s = tick as f64 * TICK_S;
            let mut gap_s = || -uniform(&mut random).ln() / rate;
            let mut within_s = if rate > 0.0 { gap_s() } else { TICK_S };
            while within_s < TICK_S {
                times_ns.push(((start_s + within_s) * 1e9) as u64);
                within_s += gap_s();
            }
            rate = next(rate, &mut random);
        }
        times_ns.push((LENGTH_S * 1e9) as u64);
        Service::opportunities(times_ns)
    }
}

/// Returns the rate of the next tick.
fn next(rate: f64, random: &mut Stream) -> f64 {
    let step = SIGMA * TICK_S.sqrt() * gaussian(random);
    if rate > 0.0 {
        (rate + step).clamp(0.0, MOST)
    } else if uniform(random) < -(-ESCAPES * TICK_S).exp_m1() {
        step.abs()
    } else {
        0.0
    }
}

/// Draws from the standard normal distribution (Box and Muller 1958).
fn gaussian(random: &mut Stream) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (TAU * uniform(random)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seed: u64) -> Vec<f64> {
        match (Lte { seed }).service().unwrap() {
            Service::Opportunities { times_ns, .. } => {
                times_ns.iter().map(|ns| *ns as f64 / 1e9).collect()
            }
            other => panic!("{other:?} has no opportunities"),
        }
    }

    /// The rate has changes of 200 a second, seen through the noise of the Poisson process.
    #[test]
    fn the_rate_is_a_brownian_motion() {
        let (mut squares, mut noise, mut pairs) = (0.0, 0.0, 0.0);
        for seed in 0..40 {
            let mut counts = vec![0.0_f64; 300];
            for time in times(seed) {
                if let Some(count) = counts.get_mut(time as usize) {
                    *count += 1.0;
                }
            }
            // far from both ends, which it would feel
            for pair in counts
                .windows(2)
                .filter(|pair| (400.0..600.0).contains(&pair[0]))
            {
                squares += (pair[1] - pair[0]).powi(2);
                noise += pair[0] + pair[1];
                pairs += 1.0;
            }
        }
        // the difference of means over two seconds in a row has 2/3 of the variance of a second
        let found = ((squares - noise) / pairs / (2.0 / 3.0)).sqrt();
        // 1,700 pairs and more: the deviation of this estimate is below 2 %
        assert!(pairs > 1_500.0, "{pairs}");
        assert!((found / SIGMA - 1.0).abs() < 0.08, "{found}");
    }

    #[test]
    fn outages_last_about_a_second() {
        let mut random = stream(1, "outages", 0);
        let (mut rate, mut ticks, mut outages) = (MOST, 0_u32, 0_u32);
        while outages < 4000 {
            let before = rate;
            rate = next(rate, &mut random);
            ticks += u32::from(rate == 0.0);
            outages += u32::from(before > 0.0 && rate == 0.0);
        }
        // exponential: the deviation of the mean is that of one outage over the root of their number
        let mean_s = f64::from(ticks) * TICK_S / f64::from(outages);
        assert!(
            (mean_s - 1.01).abs() < 4.42 / f64::from(outages).sqrt(),
            "{mean_s}"
        );
    }

    #[test]
    fn the_seed_determines_it() {
        assert_eq!(times(3), times(3));
        assert_ne!(times(3), times(4));
    }
}
