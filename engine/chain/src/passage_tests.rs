//! First passages, compared with exact arithmetic, closed forms and repeated multiplication;
//! refusals.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::{
    Arrivals, Bounds, Chain, Method, Passage, Plan,
    oracle::{Oracle, drop_tail, number, red, word},
    tests::{exact, exact_stationary, relative_error},
};

/// A plan with few states and, as far as possible, numbers that are short in binary.
pub(crate) fn small(arrivals: Arrivals, given: &[(String, sluice_aqm::Value)]) -> Plan {
    let usual = [
        number("min_th", 0.5),
        number("max_th", 2.5),
        number("w", 0.25),
    ];
    Plan {
        arrivals,
        aqm: red("red", &[&usual, given].concat()),
        grid: 1.0,
        ..drop_tail(0.5, 0.375, 3)
    }
}

pub(crate) const GEOMETRIC: Arrivals = Arrivals::Geometric { rate: 0.25 };
pub(crate) const SELF_SIMILAR: Arrivals = Arrivals::SelfSimilar {
    a: 4.0,
    q: 2.0,
    states: 2,
};

/// Returns for each state the mean slots until `is_in`, and E[time (time + 1)] / 2, by Gaussian
/// elimination.
fn exact_times(rows: &[Vec<(usize, f64)>], is_in: &[bool]) -> Vec<[BigRational; 2]> {
    let n = rows.len();
    let mut equations = vec![vec![exact(0.0); n + 1]; n];
    let mut times = vec![[exact(0.0), exact(0.0)]; n];
    for turn in 0..2 {
        for (from, row) in rows.iter().enumerate() {
            equations[from].fill(exact(0.0));
            equations[from][from] += exact(1.0);
            if is_in[from] {
                continue;
            }
            for (to, p) in row {
                equations[from][*to] -= exact(*p);
            }
            equations[from][n] = if turn == 0 {
                exact(1.0)
            } else {
                times[from][0].clone()
            };
        }
        for pivot in 0..n {
            let row = equations[pivot].clone();
            for other in (0..n).filter(|other| *other != pivot) {
                let factor = &equations[other][pivot] / &row[pivot];
                if factor != exact(0.0) {
                    for (x, y) in equations[other].iter_mut().zip(&row).skip(pivot) {
                        *x -= &factor * y;
                    }
                }
            }
        }
        for (k, time) in times.iter_mut().enumerate() {
            time[turn] = &equations[k][n] / &equations[k][k];
        }
    }
    times
}

/// Returns mean and variance of the slots from `queue` and `average` (a point of the grid) to
/// `bounds`.
pub(crate) fn exact_passage(
    plan: &Plan,
    queue: usize,
    average: usize,
    bounds: &Bounds,
) -> [BigRational; 2] {
    let oracle = Oracle::new(plan);
    let (states, rows) = oracle.rows();
    let is_in: Vec<bool> = states
        .iter()
        .map(|(average, _, system, _)| {
            let (queue, average) = (system.saturating_sub(1), *average as f64 * plan.grid);
            bounds.queue_below.is_none_or(|x| queue < x as usize)
                && bounds.queue_at_least.is_none_or(|x| queue >= x as usize)
                && bounds.average_below.is_none_or(|x| average < x)
                && bounds.average_at_least.is_none_or(|x| average >= x)
        })
        .collect();
    let times = exact_times(&rows, &is_in);
    let matrix = crate::oracle::modulator(&plan.arrivals);
    let listed: Vec<Vec<(usize, f64)>> = matrix
        .into_iter()
        .map(|row| row.into_iter().enumerate().collect())
        .collect();
    let mut moments = [exact(0.0), exact(0.0)];
    for (phase, share) in exact_stationary(&listed).into_iter().enumerate() {
        let wanted = (average, 0, queue + 1, phase);
        let place = states.iter().position(|state| *state == wanted).unwrap();
        for (moment, time) in moments.iter_mut().zip(&times[place]) {
            *moment += &share * time;
        }
    }
    let [mean, half] = moments;
    let variance = half * BigInt::from(2) - &mean - &mean * &mean;
    [mean, variance]
}

fn drop_tail_passage(rate: f64, mu: f64, limit: u32, start: (u32, f64), bounds: Bounds) -> Passage {
    let chain = Chain::new(&drop_tail(rate, mu, limit)).unwrap();
    let (set, start) = (
        chain.set(&bounds).unwrap(),
        chain.start(start.0, start.1).unwrap(),
    );
    chain.first_passage(&start, &set, Method::Direct).unwrap()
}

/// In a birth and death chain, the mean number of slots from size s to s - 1 is
/// m(s) = (1 + up m(s + 1)) / down. From s to s + 1 it is n(s) = (1 + down n(s - 1)) / up.
#[test]
fn the_plain_queue_empties_and_fills_as_its_closed_form_says() {
    for (rate, mu) in [(0.2, 0.5), (0.5, 0.5), (0.8, 0.5)] {
        let limit = 250;
        let (one, r, m) = (exact(1.0), exact(rate), exact(mu));
        let (up, down) = ((&one - &m) * &r, &m * (&one - &r));
        let mut step = &one / &down;
        let mut empties = step.clone();
        for _ in 1..limit {
            step = (&one + &up * &step) / &down;
            empties += &step;
        }
        let below = Bounds {
            queue_below: Some(1),
            ..Bounds::default()
        };
        let found = drop_tail_passage(rate, mu, limit, (limit, 0.0), below);
        assert!(relative_error(found.mean, &empties) < 1e-13, "{found:?}");
        let mut step = &one / &r;
        let mut fills = step.clone();
        for _ in 0..limit {
            step = (&one + &down * &step) / &up;
            fills += &step;
        }
        let full = Bounds {
            queue_at_least: Some(limit),
            ..Bounds::default()
        };
        let found = drop_tail_passage(rate, mu, limit, (0, 0.0), full);
        assert!(relative_error(found.mean, &fills) < 1e-13, "{found:?}");
        assert!(rate > 0.3 || found.mean > 1e100);
    }
}

#[test]
fn times_are_those_of_repeated_multiplication() {
    let lpf = [word("average", "lpf_oda"), number("low_queue", 2.0)];
    for (arrivals, given) in [
        (GEOMETRIC, &lpf[..]),
        (SELF_SIMILAR, &lpf),
        (SELF_SIMILAR, &[]),
    ] {
        let plan = Plan {
            grid: 0.4,
            ..small(arrivals, given)
        };
        let chain = Chain::new(&plan).unwrap();
        let bounds = Bounds {
            average_below: Some(0.5),
            ..Bounds::default()
        };
        let set = chain.set(&bounds).unwrap();
        let start = chain.start(3, 1.7).unwrap();
        let mean: f64 = start
            .chunks(chain.width())
            .zip(chain.averages())
            .map(|(part, average)| part.iter().sum::<f64>() * average)
            .sum();
        assert!((mean - 1.7).abs() < 1e-15);
        let (mut outside, mut moments) = (start.clone(), [0.0, 0.0]);
        for slot in 0..20_000 {
            for (k, p) in outside.iter_mut().enumerate() {
                let cell = k / chain.modulator_states();
                if set.contains(cell / chain.sizes(), cell % chain.sizes()) {
                    *p = 0.0;
                }
            }
            let left: f64 = outside.iter().sum();
            moments[0] += left;
            moments[1] += f64::from(2 * slot + 1) * left;
            outside = chain.step(&outside);
        }
        assert!(outside.iter().sum::<f64>() < 1e-16);
        for method in [Method::Direct, Method::Iterative] {
            let found = chain.first_passage(&start, &set, method).unwrap();
            let variance = moments[1] - moments[0] * moments[0];
            assert!((found.mean / moments[0] - 1.0).abs() < 1e-11, "{found:?}");
            assert!((found.variance / variance - 1.0).abs() < 1e-10, "{found:?}");
        }
    }
}

#[test]
fn a_start_in_the_set_takes_no_slot() {
    let bounds = Bounds {
        queue_below: Some(3),
        ..Bounds::default()
    };
    let found = drop_tail_passage(0.5, 0.5, 5, (2, 0.0), bounds);
    assert_eq!((found.mean, found.variance), (0.0, 0.0));
}

#[test]
fn what_is_never_reached_is_refused() {
    let chain = Chain::new(&small(GEOMETRIC, &[])).unwrap();
    let top = chain.averages().last().unwrap();
    let none = Bounds::default();
    for (bounds, text) in [
        (
            Bounds {
                queue_at_least: Some(4),
                ..none
            },
            "queue >= 4",
        ),
        (
            Bounds {
                queue_below: Some(0),
                ..none
            },
            "queue < 0",
        ),
        (
            Bounds {
                average_below: Some(0.0),
                ..none
            },
            "average < 0",
        ),
        (
            Bounds {
                average_at_least: Some(9.0),
                queue_below: Some(1),
                ..none
            },
            "queue < 1 and average >= 9",
        ),
    ] {
        assert_eq!(
            chain.set(&bounds).unwrap_err().to_string(),
            format!(
                "the set is never reached: an empty system leads to no state with {text}; the \
                 queue has at most 3 packets, and the average reaches {top}"
            )
        );
    }
    let refusal = |queue, average| chain.start(queue, average).unwrap_err().to_string();
    assert_eq!(
        refusal(4, 0.0),
        "a start with queue = 4 must have at most 3 packets, the limit"
    );
    assert_eq!(
        refusal(0, 9.0),
        format!(
            "a start with average = 9 must have one from 0 to {top} packets, the highest that is \
             reached"
        )
    );
}
