//! The drop function, and its mean around a level of the average.

use sluice_aqm::Configured;

use crate::{
    error::{ChainError, refuse},
    params::Params,
};

/// Probabilities of the drop function's decisions on an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Chances {
    /// Early drop or mark: the drop function is below 1.
    pub early: f64,
    /// Forced drop: the drop function is 1.
    pub forced: f64,
}

/// Nodes and weights of Gauss-Legendre quadrature on [-1, 1], exact up to the fifth degree. A cubic
/// drop function times a linear weight has the fourth degree.
const NODES: [(f64, f64); 3] = [
    (-0.774_596_669_241_483_4, 5.0 / 9.0),
    (0.0, 8.0 / 9.0),
    (0.774_596_669_241_483_4, 5.0 / 9.0),
];

/// The drop function of a configured AQM as a function of the average.
pub(crate) struct Curve<'a> {
    aqm: &'a Configured,
    /// Averages at which the function jumps or bends, in rising order. Between them it is a
    /// polynomial.
    breaks: Vec<f64>,
}

impl<'a> Curve<'a> {
    pub fn new(aqm: &'a Configured) -> Result<Self, ChainError> {
        let params = Params::of(aqm);
        if aqm.drop_probability(0.0).is_none() {
            refuse!("{} has no drop function", params.owner);
        }
        Ok(Self {
            aqm,
            breaks: breaks(&params),
        })
    }

    /// Returns the mean of the drop function around `level`, with weights that fall linearly to 0
    /// at its neighbours `low` and `high`.
    ///
    /// Random rounding moves an average to one of its two neighbours on the grid. So a level stands
    /// for all averages between its own neighbours, with less weight for those further away. With
    /// these weights the grid's error is of second order even where the function jumps (RED at
    /// max_th); the function's value at the level alone would shift the jump by half a step. The
    /// integral is exact, except for the function's own rounding, so it has no jumps as a function
    /// of the parameters.
    pub fn around(&self, low: f64, level: f64, high: f64) -> Chances {
        let (mut chances, mut total) = (Chances::default(), 0.0);
        for far in [low, high] {
            let (from, to) = (far.min(level), far.max(level));
            let inside = self.breaks.iter().filter(|at| from < **at && **at < to);
            let mut start = from;
            for end in inside.copied().chain([to]) {
                for (node, share) in NODES {
                    let average = start + (end - start) * (1.0 + node) / 2.0;
                    let weight = share * (end - start) * (average - far) / (level - far);
                    match self.at(average) {
                        p if p < 1.0 => chances.early += weight * p,
                        _ => chances.forced += weight,
                    }
                    total += weight;
                }
                start = end;
            }
        }
        chances.early /= total;
        chances.forced /= total;
        chances
    }

    fn at(&self, average: f64) -> f64 {
        let p = self.aqm.drop_probability(average.max(0.0));
        p.expect("looked for before")
    }
}

/// Returns the breaks of the drop function, see `aqm/drop_function.h`.
fn breaks(params: &Params<'_>) -> Vec<f64> {
    if params.get("drop_function").is_none() {
        return Vec::new();
    }
    let (min_th, max_th) = (params.number("min_th"), params.number("max_th"));
    let at = |u: f64| min_th + u * (max_th - min_th);
    let mut breaks = vec![min_th];
    if params.is("drop_function", "double_slope") {
        breaks.push(at(params.number("middle")));
    }
    if params.is("drop_function", "cubic") {
        breaks.extend(held(params).into_iter().map(at));
    }
    breaks.push(max_th);
    if params.is("drop_function", "gentle") {
        breaks.push(2.0 * max_th);
    }
    breaks
}

/// Returns where the cubic function meets its bounds 0 and 1, as shares of the way from min_th to
/// max_th, in rising order.
fn held(params: &Params<'_>) -> Vec<f64> {
    let [max_p, c2, c3] = ["max_p", "c2", "c3"].map(|name| params.number(name));
    let cubic = |constant: f64| [constant, max_p * (1.0 - c2 - c3), max_p * c2, max_p * c3];
    let mut places = [roots(&cubic(0.0)), roots(&cubic(-1.0))].concat();
    places.sort_by(f64::total_cmp);
    places
}

/// Returns where a polynomial changes its sign within (0, 1). Its constant coefficient comes first.
fn roots(polynomial: &[f64]) -> Vec<f64> {
    if polynomial.len() < 2 {
        return Vec::new();
    }
    let at = |x: f64| polynomial.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let slope: Vec<f64> = (1..)
        .map(f64::from)
        .zip(&polynomial[1..])
        .map(|(k, c)| k * c)
        .collect();
    // the polynomial is monotone between the places where its slope changes its sign
    let turns = [vec![0.0], roots(&slope), vec![1.0]].concat();
    let mut found = Vec::new();
    for turn in turns.windows(2) {
        let (mut low, mut high) = (turn[0], turn[1]);
        if at(low) * at(high) >= 0.0 {
            continue;
        }
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = (low + high) / 2.0;
            if at(low) * at(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        found.push(high);
    }
    found
}

#[cfg(test)]
mod tests {
    use sluice_aqm::Value;

    use super::*;
    use crate::oracle::{number, red, word};

    /// The mean from its definition, by the midpoint rule with many points.
    fn by_midpoints(aqm: &Configured, low: f64, level: f64, high: f64) -> Chances {
        const POINTS: i32 = 400_000;
        let (mut chances, mut total) = (Chances::default(), 0.0);
        for point in (0..POINTS).map(|k| (f64::from(k) + 0.5) / f64::from(POINTS)) {
            let average = low + point * (high - low);
            let far = if average < level { low } else { high };
            let weight = (average - far) / (level - far);
            let p = aqm.drop_probability(average.max(0.0)).unwrap();
            *(if p < 1.0 {
                &mut chances.early
            } else {
                &mut chances.forced
            }) += weight * p;
            total += weight;
        }
        chances.early /= total;
        chances.forced /= total;
        chances
    }

    #[test]
    fn the_mean_around_a_level_is_the_integral() {
        let thresholds = [number("min_th", 3.2), number("max_th", 7.7)];
        let with =
            |class: &str, given: &[(String, Value)]| red(class, &[&thresholds[..], given].concat());
        // this cubic reaches its bound 1, falls below it, and reaches its bound 0
        let held = [
            word("drop_function", "cubic"),
            number("max_p", 1.0),
            number("c2", -27.0),
            number("c3", 18.0),
        ];
        for aqm in [
            with("red", &[number("max_p", 0.3)]),
            with("gentle_red", &[number("max_p", 0.3)]),
            with("dsred", &[number("gamma", 0.2), number("middle", 0.3)]),
            with("nlred", &[number("max_p", 0.9)]),
            with("red", &held),
        ] {
            let curve = Curve::new(&aqm).unwrap();
            for (low, level, high) in [
                (-1.0, 0.0, 2.0),
                (3.0, 3.5, 4.5),
                (2.0, 7.0, 20.0),
                (7.6, 7.7, 7.9),
                (9.0, 12.0, 18.0),
            ] {
                let (found, expected) = (
                    curve.around(low, level, high),
                    by_midpoints(&aqm, low, level, high),
                );
                // at a jump, at most one midpoint is on the wrong side
                assert!(
                    (found.early - expected.early).abs() < 5e-6,
                    "{aqm:?} {level}"
                );
                assert!(
                    (found.forced - expected.forced).abs() < 5e-6,
                    "{aqm:?} {level}"
                );
            }
        }
    }

    #[test]
    fn the_mean_changes_with_a_threshold_without_a_jump() {
        let mean = |max_th: f64| {
            let aqm = red("red", &[number("min_th", 3.0), number("max_th", max_th)]);
            Curve::new(&aqm).unwrap().around(6.0, 7.0, 8.0)
        };
        let slope = |at: f64| (mean(at + 1e-4).forced - mean(at - 1e-4).forced) / 2e-4;
        // minus the slope is the weight itself: 1 at the level, 0 at its neighbours
        for (max_th, hat) in [(6.1, 0.1), (6.9, 0.9), (7.4, 0.6), (7.9, 0.1)] {
            assert!(
                (slope(max_th) + hat).abs() < 1e-7,
                "{max_th}: {}",
                slope(max_th)
            );
        }
    }

    #[test]
    fn roots_of_a_cubic() {
        // (x - 1/4) (x - 1/2) (x - 2)
        let found = roots(&[-0.25, 1.625, -2.75, 1.0]);
        assert_eq!(found.len(), 2);
        assert!((found[0] - 0.25).abs() < 1e-14 && (found[1] - 0.5).abs() < 1e-14);
        assert!(roots(&[1.0, 0.0, 0.0, 0.0]).is_empty());
    }
}
