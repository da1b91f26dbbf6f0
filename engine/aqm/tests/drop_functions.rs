//! Properties of the drop functions.

use proptest::prelude::*;
use sluice_aqm::{Configured, ONE, Value};

use crate::common::{configured, number, word};

const STEP: f64 = 1.0 / ONE as f64;

fn drop_function(name: &str, given: &[(&'static str, f64)]) -> Configured {
    let numbers = given.iter().map(|(name, value)| (*name, number(*value)));
    let given: Vec<(&str, Value)> = std::iter::once(("drop_function", word(name)))
        .chain(numbers)
        .collect();
    configured("red", &given)
}

fn p(drop_function: &Configured, average: f64) -> f64 {
    drop_function.drop_probability(average).unwrap()
}

/// A drop function, its thresholds, the average from which it is 1, and its steepest slope (per
/// packet) where it does not jump.
#[derive(Debug)]
struct Case {
    drop_function: Configured,
    min_th: f64,
    max_th: f64,
    end: f64,
    slope: f64,
}

fn case(name: &'static str) -> impl Strategy<Value = Case> {
    let bend = (0.0..=1.0, 0.05..0.95);
    let shape = (0.0..=1.0, bend, -3.0..3.0, -3.0..3.0);
    (0.0..100.0, 1.0..100.0, shape).prop_map(move |(min_th, range, shape)| {
        let (max_p, (gamma, middle), c2, c3) = shape;
        let max_th = min_th + range;
        let thresholds = [("min_th", min_th), ("max_th", max_th), ("max_p", max_p)];
        let bend = [("gamma", gamma), ("middle", middle)];
        let drop_function = drop_function(
            name,
            &[&thresholds[..], &bend, &[("c2", c2), ("c3", c3)]].concat(),
        );
        let slope = match name {
            "double_slope" => f64::max((1.0 - gamma) / middle, gamma / (1.0 - middle)) / range,
            _ => f64::max(max_p / range, (1.0 - max_p) / max_th),
        };
        let end = if name == "gentle" {
            2.0 * max_th
        } else {
            max_th
        };
        Case {
            drop_function,
            min_th,
            max_th,
            end,
            slope,
        }
    })
}

fn any_drop_function() -> impl Strategy<Value = Case> {
    prop_oneof![
        case("linear"),
        case("gentle"),
        case("double_slope"),
        case("cubic")
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn drop_functions_are_0_then_within_0_and_1_then_1(case in any_drop_function(), at in 0.0..1.5) {
        for average in [at * case.end, case.min_th, case.max_th, case.end] {
            let p = p(&case.drop_function, average);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert!(average > case.min_th - STEP || p == 0.0);
            prop_assert!(average < case.end + STEP || p == 1.0);
        }
    }

    #[test]
    fn drop_functions_of_lines_never_fall(
        case in prop_oneof![case("linear"), case("gentle"), case("double_slope")],
        at in 0.0..1.5,
        ahead in prop_oneof![0.0..1.0, 0.0..1e-8],
    ) {
        let (low, high) = (at * case.end, (at + ahead) * case.end);
        prop_assert!(p(&case.drop_function, low) <= p(&case.drop_function, high) + STEP);
    }

    #[test]
    fn gentle_and_double_slope_never_jump(
        case in prop_oneof![case("gentle"), case("double_slope")],
        joint in 0..3_usize,
        at in 0.0..1.5,
        off in 0.0..1e-3,
    ) {
        let joints = [case.min_th, case.max_th, case.end];
        for average in [joints[joint] - off / 2.0, at * case.end] {
            let rise = (p(&case.drop_function, average + off) - p(&case.drop_function, average)).abs();
            let rounding = 8.0 * STEP * (1.0 + case.slope * (case.max_th - case.min_th));
            prop_assert!(rise <= case.slope * off + rounding, "{rise} at {average}");
        }
    }

    #[test]
    fn linear_and_cubic_reach_max_p_below_max_th(
        case in prop_oneof![case("linear"), case("cubic")]
    ) {
        let max_p = case.drop_function.values().find(|(name, _)| *name == "max_p").unwrap().1;
        let Value::Number(max_p) = max_p else { panic!() };
        prop_assert!((p(&case.drop_function, case.max_th - 1e-9) - max_p).abs() < 1e-7);
    }

    #[test]
    fn double_slope_meets_at_the_bend(gamma in 0.0..=1.0, middle in 0.05..0.95) {
        let dsred = drop_function(
            "double_slope",
            &[("min_th", 100.0), ("max_th", 200.0), ("gamma", gamma), ("middle", middle)],
        );
        for off in [-1e-7, 0.0, 1e-7] {
            let p = p(&dsred, 100.0 + 100.0 * middle + off);
            prop_assert!((p - (1.0 - gamma)).abs() < 3e-8, "{p} at {off}");
        }
        prop_assert!(p(&dsred, 200.0 - 1e-7) > 1.0 - 3e-8);
    }
}

/// Floyd & Jacobson 1993: drops are by chance for min_th <= avg < max_th, exact to one step.
#[test]
fn drop_functions_begin_and_end_at_their_thresholds() {
    for (name, end) in [
        ("linear", 20.0),
        ("cubic", 20.0),
        ("double_slope", 20.0),
        ("gentle", 40.0),
    ] {
        let drop_function =
            drop_function(name, &[("min_th", 5.0), ("max_th", 20.0), ("max_p", 0.125)]);
        assert_eq!(
            [p(&drop_function, 5.0 - STEP), p(&drop_function, 5.0)],
            [0.0, 0.0],
            "{name}"
        );
        assert_eq!(
            [p(&drop_function, end), p(&drop_function, end + STEP)],
            [1.0, 1.0],
            "{name}"
        );
        let before = if matches!(name, "linear" | "cubic") {
            0.125
        } else {
            1.0
        };
        assert!(
            (p(&drop_function, end - STEP) - before).abs() < 4.0 * STEP,
            "{name}"
        );
    }
}

/// alpha = 2 (1 - gamma) / (K_h - K_l), beta = 2 gamma / (K_h - K_l), as in the papers.
#[test]
fn double_slope_has_the_slopes_of_the_paper_with_the_bend_in_the_middle() {
    for gamma in [0.15, 0.5, 0.85] {
        let dsred = drop_function(
            "double_slope",
            &[("min_th", 100.0), ("max_th", 200.0), ("gamma", gamma)],
        );
        for average in 100..200 {
            let average = f64::from(average);
            let paper = if average < 150.0 {
                2.0 * (1.0 - gamma) / 100.0 * (average - 100.0)
            } else {
                1.0 - gamma + 2.0 * gamma / 100.0 * (average - 150.0)
            };
            assert!(
                (p(&dsred, average) - paper).abs() < 4.0 * STEP,
                "{gamma} {average}"
            );
        }
    }
}

/// The basis of Domanska, Augustyn & Domanski 2012: max_p u + A1 u (1 - u) + A2 u^2 (1 - u).
#[test]
fn cubic_covers_the_basis_of_domanska() {
    for (max_p, a1, a2) in [(0.855, 0.00042, -0.0038), (0.5, 0.3, -0.2), (0.1, 0.2, 0.4)] {
        let thresholds = [("min_th", 10.0), ("max_th", 20.0), ("max_p", max_p)];
        let cubic = [("c2", (a2 - a1) / max_p), ("c3", -a2 / max_p)];
        let drop_function = drop_function("cubic", &[&thresholds[..], &cubic].concat());
        for tenth in 0..100 {
            let u = f64::from(tenth) / 100.0;
            let paper = max_p * u + a1 * u * (1.0 - u) + a2 * u * u * (1.0 - u);
            assert!(
                (p(&drop_function, 10.0 + 10.0 * u) - paper).abs() < 16.0 * STEP,
                "{a1} {a2} {u}"
            );
        }
    }
}

/// Zhou, Yeung & Li 2006 choose max_p' = 1.5 max_p, so that the areas are equal.
#[test]
fn nlred_has_the_area_of_red() {
    let area = |name: &str| {
        let drop_function = configured(name, &[]);
        (0..10_000)
            .map(|i| p(&drop_function, 5.0 + (f64::from(i) + 0.5) / 1000.0))
            .sum::<f64>()
            / 1000.0
    };
    assert!((area("nlred") - area("red")).abs() < 1e-6);
}
