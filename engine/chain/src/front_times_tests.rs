//! Distributions of sojourn times and delays under drop from front, compared with their moments and
//! with drop from tail.

use crate::{
    Arrivals, Chain, Method, Plan,
    oracle::{drop_tail, number, red, word},
};

/// Returns the sum of n^power times the packets served after n slots.
fn moment(served: &[f64], power: i32) -> f64 {
    let terms = (0..).zip(served).map(|(n, p)| f64::from(n).powi(power) * p);
    terms.sum()
}

#[test]
fn the_distribution_has_the_moments_found_without_it() {
    let given = [
        number("min_th", 3.0),
        number("max_th", 12.0),
        number("w", 0.2),
    ];
    let modulated = Arrivals::SelfSimilar {
        a: 5.0,
        q: 1.9,
        states: 3,
    };
    for (class, sampling, arrivals) in [
        ("red", "arrivals", Arrivals::Geometric { rate: 0.6 }),
        ("red", "clock", modulated.clone()),
        ("lpf_oda", "clock", Arrivals::Geometric { rate: 0.6 }),
        ("lpf_oda", "arrivals", modulated),
    ] {
        let given = [&given[..], &[word("sampling", sampling)]].concat();
        let plan = Plan {
            arrivals,
            aqm: red(class, &given),
            ..drop_tail(0.6, 0.5, 10)
        };
        let chain = Chain::new(&plan).unwrap();
        let solution = chain.solve(Method::Direct).unwrap();
        let times = chain.front_times(&solution.probabilities).unwrap();
        let moments = chain.front_moments(&solution.probabilities).unwrap();
        assert!(times.unknown < 1e-14 * moments.served, "{}", times.unknown);
        for (times, sums) in [
            (&times.sojourns, moments.sojourn),
            (&times.delays, moments.delay),
        ] {
            let expected = [moments.served, sums.sum, sums.square_sum];
            for (power, expected) in (0..).zip(expected) {
                let found = moment(times, power);
                assert!(
                    (found / expected - 1.0).abs() < 1e-11,
                    "{class} {sampling}, moment {power}: {found}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn front_and_tail_have_one_distribution_where_nothing_is_dropped() {
    let chain = Chain::new(&drop_tail(0.1, 0.9, 40)).unwrap();
    let solution = chain.solve(Method::Direct).unwrap();
    let measures = chain.measures(&solution.probabilities);
    let front = chain.front_times(&solution.probabilities).unwrap();
    let sojourns = chain.sojourns(&measures.admitted, 1e-18).unwrap();
    let delays = chain.delays(&measures.admitted, 1e-18).unwrap();
    for (front, tail) in [(front.sojourns, sojourns), (front.delays, delays)] {
        let total: f64 = front.iter().sum();
        for (front, tail) in front.iter().zip(&tail) {
            assert!((front / total - tail).abs() < 1e-15);
        }
    }
}

#[test]
fn packets_that_the_memory_does_not_hold_are_not_followed() {
    let plan = drop_tail(0.9, 0.5, 100);
    let chain = Chain::new(&plan).unwrap();
    let solution = chain.solve(Method::Direct).unwrap();
    let small = Chain {
        memory: 1e3,
        ..chain
    };
    let error = small.front_times(&solution.probabilities).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("the packets that wait take"), "{error}");
}
