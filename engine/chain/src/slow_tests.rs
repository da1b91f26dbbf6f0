//! Tests that take some seconds each, most of them in exact arithmetic: `make check` leaves them out.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::{
    Arrivals, Bounds, Chain, Method, Plan, Transient,
    iterative::distance,
    oracle::{drop_tail, number, red, word},
    passage_tests::{GEOMETRIC, SELF_SIMILAR, exact_passage, small},
    tests::{exact, relative_error},
};

#[test]
fn geo_geo_1_k_has_its_closed_form_down_to_1e_150() {
    for (rate, mu) in [(0.2, 0.5), (0.5, 0.5), (0.5, 0.25), (0.9, 0.5)] {
        let plan = drop_tail(rate, mu, 250);
        let chain = Chain::new(&plan).unwrap();
        let solution = chain.solve(Method::Direct).unwrap();
        let one = BigRational::from_integer(BigInt::from(1));
        let (rate, mu) = (exact(rate), exact(mu));
        let down = &mu * (&one - &rate);
        let up = (&one - &mu) * &rate;
        let mut weights = vec![one.clone(), &rate / &down];
        while weights.len() < chain.sizes() {
            weights.push(weights.last().unwrap() * &up / &down);
        }
        let total: BigRational = weights.iter().sum();
        let mut least = 1.0_f64;
        for (size, weight) in weights.iter().enumerate() {
            let expected = weight / &total;
            let found = solution.probabilities[size];
            let off = relative_error(found, &expected);
            assert!(
                off < 1e-12,
                "rate {rate}, mu {mu}, size {size}: off by {off}"
            );
            least = least.min(found);
        }
        if rate == exact(0.2) {
            assert!(least < 1e-150);
        }
    }
}

#[test]
fn times_are_those_of_exact_arithmetic() {
    let by_clock = [word("sampling", "clock")];
    for (arrivals, given) in [
        (GEOMETRIC, &[][..]),
        (GEOMETRIC, &by_clock),
        (SELF_SIMILAR, &[]),
    ] {
        let plan = small(arrivals, given);
        let chain = Chain::new(&plan).unwrap();
        let none = Bounds::default();
        for (queue, average, bounds) in [
            (
                3,
                1,
                Bounds {
                    queue_below: Some(1),
                    ..none
                },
            ),
            (
                3,
                2,
                Bounds {
                    average_below: Some(0.5),
                    ..none
                },
            ),
            (
                1,
                1,
                Bounds {
                    queue_at_least: Some(3),
                    ..none
                },
            ),
            (
                1,
                0,
                Bounds {
                    average_at_least: Some(1.5),
                    ..none
                },
            ),
            (
                3,
                2,
                Bounds {
                    queue_below: Some(2),
                    average_below: Some(2.0),
                    ..none
                },
            ),
        ] {
            let [mean, variance] = exact_passage(&plan, queue, average, &bounds);
            let set = chain.set(&bounds).unwrap();
            let start = chain.start(queue as u32, average as f64).unwrap();
            for (method, precision) in [(Method::Direct, 1e-14), (Method::Iterative, 1e-11)] {
                let found = chain.first_passage(&start, &set, method).unwrap();
                let off = relative_error(found.mean, &mean);
                assert!(
                    off < precision,
                    "{bounds:?}, {method:?}: {found:?} is off by {off}"
                );
                // the oracle's matrix has other rounding errors
                let allowed = found.error + 1e-14 * found.mean;
                assert!(off * found.mean <= allowed, "{found:?}: off by {off}");
                let off = relative_error(found.variance, &variance);
                assert!(
                    off < 10.0 * precision,
                    "{bounds:?}, {method:?}: {found:?} is off by {off}"
                );
                assert!(found.residual < 1e-12);
            }
        }
    }
}

fn chain(arrivals: Arrivals, class: &str, sampling: &str, w: f64) -> Chain {
    let given = [
        number("min_th", 10.0),
        number("max_th", 30.0),
        number("w", w),
        word("sampling", sampling),
    ];
    let plan = Plan {
        arrivals,
        aqm: red(class, &given),
        grid: 0.5,
        ..drop_tail(0.5, 0.5, 40)
    };
    Chain::new(&plan).unwrap()
}

#[test]
fn leaps_are_repeated_multiplication_within_their_bound() {
    let modulated = Arrivals::SelfSimilar {
        a: 6.0,
        q: 1.9,
        states: 3,
    };
    for (arrivals, class, sampling, w) in [
        (Arrivals::Geometric { rate: 0.5 }, "red", "arrivals", 0.07),
        (Arrivals::Geometric { rate: 0.6 }, "dsred", "clock", 0.002),
        (modulated, "lpf_oda", "clock", 0.02),
    ] {
        let chain = chain(arrivals, class, sampling, w);
        let mut start = vec![0.0; chain.states()];
        start[chain.states() - 1] = 1.0;
        let mut exact = start.clone();
        let mut transient = Transient::new(&chain, start);
        let tolerance = 1e-9 / 3000.0;
        for slots in [7, 93, 900, 2000] {
            for _ in 0..slots {
                exact = chain.step(&exact);
            }
            transient.advance(slots, tolerance).unwrap();
            let off = distance(&exact, &transient.probabilities);
            // repeated multiplication has rounding errors, too
            let rounding = 1e-15 * transient.slot as f64;
            assert!(off <= transient.error + rounding, "{off}");
            assert!(slots < 40 || transient.error < 500.0 * off, "{off}");
            assert!(transient.error < 1.1e-9, "{}", transient.error);
        }
        assert_eq!(transient.slot, 3000);
        assert!(transient.multiplications < 1100);
    }
}
