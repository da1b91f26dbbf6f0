//! Rates that rise and fall evenly.

use sluice_link::{Service, Step};

use crate::{
    limits::at_least,
    network::{rate::RateStep, rate_file::MOST_STEPS},
    ns,
    reader::Reader,
    table::table,
};

/// Within this time the rate is constant.
const EVERY_NS: u64 = 10_000_000;

table! {
    /// Rates that change evenly from each point to the next, in steps of 10 ms.
    ///
    /// Until the first point the link has the topology's rate, and that of the last one stays.
    pub struct Ramp kind "ramp" checked by sensible {
        /// The points, in the order of their times.
        points: Vec<RateStep>, at_least(0.0).items(2, 10_000);
    }
}

impl Ramp {
    fn sensible(&self, reader: &mut Reader) {
        if let Err(what) = self.service() {
            reader.within("points", |reader| reader.say(what));
        }
    }

    /// Returns how a link sends that follows it.
    ///
    /// # Errors
    /// If the times of the points do not rise, if the last rate is 0, or if there are too many steps.
    pub(super) fn service(&self) -> Result<Service, String> {
        let points = self.points.iter().map(|point| Step {
            from_ns: ns(point.time_s),
            rate_bps: point.rate_bps.round_ties_even() as u64,
        });
        let points: Vec<Step> = points.collect();
        // the same rules as for steps, which refuse an empty list
        Service::steps(points.clone())?;
        let last = points[points.len() - 1];
        let most = (last.from_ns - points[0].from_ns) / EVERY_NS + points.len() as u64;
        if most > MOST_STEPS as u64 {
            return Err(format!(
                "it must have at most {MOST_STEPS} steps of 10 ms, not {most}"
            ));
        }
        let pairs = points.windows(2);
        let steps = pairs.flat_map(|two| between(two[0], two[1])).chain([last]);
        Service::steps(steps.collect())
    }
}

/// Returns the steps from one point until the next, each with the mean rate of its time.
fn between(from: Step, to: Step) -> impl Iterator<Item = Step> {
    let length_ns = to.from_ns - from.from_ns;
    (0..length_ns.div_ceil(EVERY_NS)).map(move |number| {
        let start_ns = number * EVERY_NS;
        let end_ns = (start_ns + EVERY_NS).min(length_ns);
        let share = (start_ns + end_ns) as f64 / 2.0 / length_ns as f64;
        let (low, high) = (from.rate_bps as f64, to.rate_bps as f64);
        Step {
            from_ns: from.from_ns + start_ns,
            rate_bps: (low + share * (high - low)).round_ties_even() as u64,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(points: &[(f64, f64)]) -> Ramp {
        let point = |&(time_s, rate_bps)| RateStep { time_s, rate_bps };
        Ramp {
            points: points.iter().map(point).collect(),
        }
    }

    #[test]
    fn a_ramp_carries_the_area_under_it() {
        let service = ramp(&[(1.0, 2e6), (2.005, 10e6), (3.0, 4e6)])
            .service()
            .unwrap();
        assert_eq!(service.rate_bps(999_999_999, 7), 7);
        assert_eq!(service.rate_bps(5_000_000_000, 7), 4_000_000);
        let bits: f64 = (1_000..3_000)
            .map(|ms| service.rate_bps(ms * 1_000_000, 7) as f64 / 1e3)
            .sum();
        let area = 1.005 * 6e6 + 0.995 * 7e6;
        assert!((bits / area - 1.0).abs() < 1e-6, "{bits} {area}");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        let told = ramp(&[(1.0, 2e6), (1.0, 3e6)]).service().unwrap_err();
        assert_eq!(told, "times must rise, and 1 s does not come after 1 s");
        let told = ramp(&[(1.0, 2e6), (2.0, 0.0)]).service().unwrap_err();
        assert!(told.starts_with("the last rate, from 2 s on, must be above 0"));
        let told = ramp(&[(0.0, 2e6), (8e6, 1e6)]).service().unwrap_err();
        assert_eq!(
            told,
            "it must have at most 10000000 steps of 10 ms, not 800000002"
        );
    }
}
