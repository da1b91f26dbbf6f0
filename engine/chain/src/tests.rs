//! Steady states, compared with closed forms and exact arithmetic; laws of times; refusals.

use std::collections::HashMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use sluice_aqm::{BufferPolicy, Configured, Value, find};

use crate::{
    Arrivals, Chain, Method, Plan,
    oracle::{Oracle, drop_tail, number, red, summed, word},
};

/// Returns x as an exact fraction.
pub(crate) fn exact(x: f64) -> BigRational {
    BigRational::from_float(x).unwrap()
}

/// Returns |found - expected| / expected, to 30 decimal places.
pub(crate) fn relative_error(found: f64, expected: &BigRational) -> f64 {
    let off = (exact(found) - expected) / expected;
    let scaled = (off * BigInt::from(10).pow(30)).to_integer();
    scaled.to_string().parse::<f64>().unwrap().abs() * 1e-30
}

/// Grassmann, Taksar & Heyman's elimination in exact arithmetic.
pub(crate) fn exact_stationary(rows: &[Vec<(usize, f64)>]) -> Vec<BigRational> {
    let n = rows.len();
    let zero = || exact(0.0);
    let mut p = vec![vec![zero(); n]; n];
    for (from, row) in rows.iter().enumerate() {
        for (to, probability) in row {
            p[from][*to] += exact(*probability);
        }
    }
    for q in (1..n).rev() {
        let leave: BigRational = p[q][..q].iter().sum();
        let last = p[q].clone();
        for row in &mut p[..q] {
            row[q] = &row[q] / &leave;
            for j in 0..q {
                let detour = &row[q] * &last[j];
                row[j] += detour;
            }
        }
    }
    let mut x = vec![exact(1.0)];
    #[expect(clippy::needless_range_loop, reason = "column q")]
    for q in 1..n {
        let next = (0..q).map(|j| &x[j] * &p[j][q]).sum();
        x.push(next);
    }
    let total: BigRational = x.iter().sum();
    x.into_iter().map(|x| x / &total).collect()
}

#[test]
fn elimination_keeps_every_digit_of_the_rarest_states() {
    let given = [
        number("min_th", 2.0),
        number("max_th", 6.0),
        number("w", 0.25),
    ];
    let plan = Plan {
        aqm: red("red", &given),
        grid: 2.0,
        ..drop_tail(1e-12, 0.9, 7)
    };
    let oracle = Oracle::new(&plan);
    let (states, rows) = oracle.rows();
    let chain = Chain::new(&plan).unwrap();
    let solution = chain.solve(Method::Direct).unwrap();
    let found = summed(&plan, &chain, &solution.probabilities);
    let mut expected = HashMap::new();
    for ((average, _, system, _), x) in states.into_iter().zip(exact_stationary(&rows)) {
        *expected.entry((average, system)).or_insert(exact(0.0)) += x;
    }
    let mut least = 1.0_f64;
    for (place, expected) in expected {
        let off = relative_error(found[&place], &expected);
        assert!(off < 1e-13, "{place:?}: {} is off by {off}", found[&place]);
        least = least.min(found[&place]);
    }
    assert!(least < 1e-80, "{least}");
}

#[test]
fn times_obey_littles_law_and_losses_add_up() {
    let given = [
        number("min_th", 3.0),
        number("max_th", 12.0),
        number("w", 0.2),
    ];
    for ecn in [false, true] {
        let mut plan = drop_tail(0.6, 0.5, 10);
        plan.aqm = red("red", &given);
        plan.discipline.ecn = ecn;
        let chain = Chain::new(&plan).unwrap();
        let solution = chain.solve(chain.suitable()).unwrap();
        let measures = chain.measures(&solution.probabilities);
        let admitted: f64 = measures.admitted.iter().sum();
        let fates = measures.fates;
        let lost = fates.early + fates.forced + fates.overflow;
        assert!((fates.arrivals - 0.6).abs() < 1e-14);
        assert!((fates.arrivals - lost - admitted).abs() < 1e-14);
        assert!((measures.utilization * plan.mu - admitted).abs() < 1e-14);
        assert_eq!((fates.early > 0.0, fates.marked > 0.0), (!ecn, ecn));
        assert!(fates.overflow > 0.0);
        let mean = |p: &[f64]| -> f64 { p.iter().enumerate().map(|(k, p)| k as f64 * p).sum() };
        let waiting = mean(&measures.queue);
        for (times, sums, there) in [
            (
                chain.sojourns(&measures.admitted, 1e-18).unwrap(),
                chain.sojourn_sums(&measures.admitted),
                waiting,
            ),
            (
                chain.delays(&measures.admitted, 1e-18).unwrap(),
                chain.delay_sums(&measures.admitted),
                waiting + measures.utilization,
            ),
        ] {
            assert!((mean(&times) * admitted - there).abs() < 1e-12);
            let squares = (0..).zip(&times).map(|(k, p)| f64::from(k).powi(2) * p);
            assert!((sums.sum - there).abs() < 1e-12);
            assert!((sums.square_sum - squares.sum::<f64>() * admitted).abs() < 1e-10);
            assert!((times.iter().sum::<f64>() - 1.0).abs() < 1e-13);
        }
        let sojourn = chain.sojourn_sums(&measures.admitted);
        let delay = chain.delay_sums(&measures.admitted);
        let with_service = sojourn.with_service(admitted, plan.mu);
        assert!((with_service.square_sum - delay.square_sum).abs() < 1e-10);
    }
}

/// Packets that join the line are served or dropped from its front; the utilization gives how many
/// are served.
#[test]
fn times_under_drop_from_front() {
    let given = [
        number("min_th", 3.0),
        number("max_th", 12.0),
        number("w", 0.2),
    ];
    for (class, sampling) in [("red", "arrivals"), ("red", "clock"), ("lpf_oda", "clock")] {
        let given = [&given[..], &[word("sampling", sampling)]].concat();
        for arrivals in [
            Arrivals::Geometric { rate: 0.6 },
            Arrivals::SelfSimilar {
                a: 5.0,
                q: 1.9,
                states: 3,
            },
        ] {
            let plan = Plan {
                arrivals,
                aqm: red(class, &given),
                ..drop_tail(0.6, 0.5, 10)
            };
            let chain = Chain::new(&plan).unwrap();
            let solution = chain.solve(Method::Direct).unwrap();
            let measures = chain.measures(&solution.probabilities);
            let front = chain.front_moments(&solution.probabilities).unwrap();
            let served = measures.utilization * plan.mu;
            assert!((front.served - served).abs() < 1e-13, "{front:?}, {served}");
            let system: f64 = (0..)
                .zip(&measures.queue)
                .map(|(k, p)| f64::from(k) * p)
                .sum();
            assert!(front.sojourn.sum < system);
            assert!(front.delay.sum < system + measures.utilization);
        }
    }
}

#[test]
fn front_and_tail_are_the_same_where_nothing_is_dropped() {
    let chain = Chain::new(&drop_tail(0.1, 0.9, 40)).unwrap();
    let solution = chain.solve(Method::Direct).unwrap();
    let measures = chain.measures(&solution.probabilities);
    let delays = chain.delays(&measures.admitted, 1e-18).unwrap();
    let front = chain.front_moments(&solution.probabilities).unwrap();
    let moment = |power: i32| -> f64 {
        (0..)
            .zip(&delays)
            .map(|(k, p)| f64::from(k).powi(power) * p)
            .sum()
    };
    assert!((front.delay.sum / front.served - moment(1)).abs() < 1e-12);
    assert!((front.delay.square_sum / front.served - moment(2)).abs() < 1e-12);
}

#[test]
fn a_distribution_of_times_without_end_is_not_followed() {
    let chain = Chain::new(&drop_tail(0.5, 1e-6, 5)).unwrap();
    let solution = chain.solve(Method::Direct).unwrap();
    let measures = chain.measures(&solution.probabilities);
    assert_eq!(chain.sojourns(&measures.admitted, 1e-16), None);
    assert_eq!(chain.delays(&measures.admitted, 1e-16), None);
    let admitted: f64 = measures.admitted.iter().sum();
    // the buffer is almost always full
    let mean = chain.delay_sums(&measures.admitted).sum / admitted;
    assert!((mean / 6e6 - 1.0).abs() < 1e-5, "{mean}");
}

fn refusal(plan: &Plan) -> String {
    Chain::new(plan).unwrap_err().to_string()
}

#[test]
fn what_no_chain_follows_is_refused_with_what_would_be_right() {
    let good = drop_tail(0.5, 0.5, 20);
    let with = |aqm: Configured| Plan {
        aqm,
        ..good.clone()
    };
    let plain =
        |given: &[(String, Value)]| with(Configured::new(find("red").unwrap(), given).unwrap());
    let independent = word("spacing", "independent");
    for (plan, message) in [
        (
            Plan {
                mu: 0.0,
                ..good.clone()
            },
            "service.mu = 0 must lie in (0, 1]",
        ),
        (
            Plan {
                discipline: BufferPolicy {
                    limit_bytes: Some(1000),
                    ..good.discipline
                },
                ..good.clone()
            },
            "limit_bytes = 1000 has no exact chain: its states count packets",
        ),
        (
            Plan {
                grid: -1.0,
                ..good.clone()
            },
            "grid = -1 must be above 0 and at most the limit of 20 packets",
        ),
        (
            drop_tail(1.0, 0.5, 20),
            "arrivals.rate = 1 must lie between 0 and 1, both excluded: \
             else states of the chain never follow each other",
        ),
        (
            Plan {
                arrivals: Arrivals::SelfSimilar {
                    a: 1.5,
                    q: 1.2,
                    states: 5,
                },
                ..good.clone()
            },
            "arrivals.a = 1.5 is too small for 5 states: a^-1 + ... + a^-4 must stay below 1",
        ),
        (
            Plan {
                arrivals: Arrivals::SelfSimilar {
                    a: 4.0,
                    q: 4.0,
                    states: 3,
                },
                ..good.clone()
            },
            "arrivals.q = 4 must lie between 0 and a = 4, both excluded",
        ),
        (
            plain(&[]),
            "red.spacing must be \"independent\": the chain does not count packets",
        ),
        (
            plain(&[independent]),
            "red.idle_decay must be false: the chain does not time idle periods",
        ),
        (
            with(red(
                "red",
                &[word("sampling", "clock"), number("sampling_interval", 0.01)],
            )),
            "red.sampling_interval = 0.01 must be 0.001, the length of a slot (s): \
             the chain samples once in each",
        ),
        (
            with(Configured::new(find("redwm").unwrap(), &[]).unwrap()),
            "redwm.a2 = 0.0014 must be 0: the chain remembers one average and no queue",
        ),
    ] {
        assert_eq!(refusal(&plan), message);
    }
    let fine = Plan {
        grid: 1e-7,
        ..with(red("red", &[]))
    };
    assert!(refusal(&fine).starts_with("grid = 0.0000001 gives 4.40e9 states, which take"));
}

#[test]
fn memory_is_told_before_it_is_taken() {
    let plan = Plan {
        aqm: red("red", &[]),
        memory: 2e7,
        ..drop_tail(0.5, 0.5, 100)
    };
    let error = Chain::new(&plan)
        .unwrap()
        .solve(Method::Direct)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("GB are there: take a coarser grid or the iterative method"),
        "{error}"
    );
}
