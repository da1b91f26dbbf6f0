//! The model state by state, as plainly as it can be written, held against both methods; and
//! queues whose steady state is known in closed form.

use std::collections::HashMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use proptest::prelude::*;
use sluice_aqm::{Configured, Discipline, Value, Victim, find};

use crate::{Arrivals, Chain, Method, Plan, iterative::distance};

const MEMORY: f64 = 1e9;

fn number(name: &str, value: f64) -> (String, Value) {
    (name.to_owned(), Value::Number(value))
}

fn word(name: &str, value: &str) -> (String, Value) {
    (name.to_owned(), Value::Word(value.to_owned()))
}

/// A member of the RED family that a chain can follow.
pub(crate) fn red(class: &str, given: &[(String, Value)]) -> Configured {
    let mut values = vec![
        word("spacing", "independent"),
        ("idle_decay".to_owned(), Value::Switch(false)),
    ];
    values.extend_from_slice(given);
    Configured::new(find(class).unwrap(), &values).unwrap()
}

fn drop_tail(rate: f64, mu: f64, limit: u32) -> Plan {
    Plan {
        arrivals: Arrivals::Geometric { rate },
        mu,
        discipline: Discipline {
            limit,
            victim: Victim::Tail,
            ecn: false,
        },
        aqm: Configured::new(find("drop_tail").unwrap(), &[]).unwrap(),
        slot_ns: 1_000_000,
        grid: 0.25,
        memory: MEMORY,
    }
}

/// A state as the oracle writes it: the average as a multiple of the grid's step, LPF/ODA's count,
/// packets in the system, the modulator's state as the paper numbers it.
type State = (usize, usize, usize, usize);

/// The modulator's matrix as the paper prints it.
fn modulator(arrivals: &Arrivals) -> Vec<Vec<f64>> {
    match *arrivals {
        // state 0 has a packet, state 1 has none
        Arrivals::Geometric { rate } => vec![vec![rate, 1.0 - rate]; 2],
        Arrivals::SelfSimilar { a, q, states } => {
            let n = states as usize;
            let mut matrix = vec![vec![0.0; n]; n];
            #[expect(clippy::needless_range_loop, reason = "row and column 0 alike")]
            for j in 1..n {
                matrix[0][j] = a.powi(-(j as i32));
                matrix[j][0] = (q / a).powi(j as i32);
                matrix[j][j] = 1.0 - matrix[j][0];
            }
            matrix[0][0] = 1.0 - matrix[0].iter().sum::<f64>();
            matrix
        }
    }
}

struct Oracle<'p> {
    plan: &'p Plan,
    params: HashMap<String, Value>,
}

impl<'p> Oracle<'p> {
    fn new(plan: &'p Plan) -> Self {
        let values = plan.aqm.values();
        let params = values
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        Self { plan, params }
    }

    fn param(&self, name: &str) -> f64 {
        match self.params.get(name) {
            Some(Value::Number(number)) => *number,
            _ => panic!("{name}"),
        }
    }

    /// Average (multiple of the step) and count after `waiting` were seen, with probabilities.
    fn observe(&self, average: usize, count: usize, waiting: usize) -> Vec<(usize, usize, f64)> {
        if self.plan.aqm.class().name == "drop_tail" {
            return vec![(0, 0, 1.0)];
        }
        let packets = average as f64 * self.plan.grid;
        let w = self.param("w");
        let mut next = (1.0 - w) * packets + w * waiting as f64;
        let mut seen = 0;
        if self.params["average"] == Value::Word("lpf_oda".into()) {
            let enough = self.param("low_arrivals") as usize;
            if (waiting as f64) < self.param("low_queue") {
                seen = enough.min(count + 1);
            }
            if seen == enough && packets >= self.param("min_th") {
                next = packets / 2.0;
            }
        }
        let place = next / self.plan.grid;
        let below = (place + 1e-9).floor();
        // what is closer to the grid than rounding is on it
        let above = if place - below < 1e-9 {
            0.0
        } else {
            place - below
        };
        vec![
            (below as usize, seen, 1.0 - above),
            (below as usize + 1, seen, above),
        ]
    }

    /// Early and forced, averaged over a step each side with falling weights.
    fn law(&self, average: usize) -> (f64, f64) {
        let (mut early, mut forced) = (0.0, 0.0);
        for k in 0..64 {
            let off = (k as f64 - 31.5) / 32.0;
            let packets = (average as f64 + off) * self.plan.grid;
            let p = self.plan.aqm.drop_probability(packets.max(0.0)).unwrap();
            let share = (1.0 - off.abs()) / 32.0;
            *(if p < 1.0 { &mut early } else { &mut forced }) += share * p;
        }
        (early, forced)
    }

    fn drop(&self, average: usize, system: usize) -> f64 {
        let waiting = system.saturating_sub(1);
        let (early, forced) = self.law(average);
        match (
            waiting as u32 >= self.plan.discipline.limit,
            self.plan.discipline.ecn,
        ) {
            (true, _) => 1.0,
            (false, true) => forced,
            _ => (early + forced).min(1.0),
        }
    }

    /// Everything that one slot can make of a state.
    fn slot(&self, state: State, matrix: &[Vec<f64>]) -> Vec<(State, f64)> {
        let (average, count, system, phase) = state;
        let mut after = Vec::new();
        let services = match system {
            0 => vec![(0, 1.0)],
            _ => vec![(system, 1.0 - self.plan.mu), (system - 1, self.plan.mu)],
        };
        for (system, served) in services {
            for (next_phase, moved) in matrix[phase].iter().enumerate() {
                let p = served * moved;
                let arrived = next_phase == 0;
                let by_clock = self.params.get("sampling") == Some(&Value::Word("clock".into()));
                let waiting = system.saturating_sub(1);
                let judged = if arrived && !by_clock {
                    self.observe(average, count, waiting)
                } else {
                    vec![(average, count, 1.0)]
                };
                for (average, count, p_average) in judged {
                    let drop = if arrived {
                        self.drop(average, system)
                    } else {
                        1.0
                    };
                    for (system, p_drop) in [(system, drop), (system + 1, 1.0 - drop)] {
                        let p = p * p_average * p_drop;
                        let waiting = system.saturating_sub(1);
                        if by_clock && p > 0.0 {
                            for (average, count, p_average) in self.observe(average, count, waiting)
                            {
                                after.push(((average, count, system, next_phase), p * p_average));
                            }
                        } else {
                            after.push(((average, count, system, next_phase), p));
                        }
                    }
                }
            }
        }
        after.retain(|(_, p)| *p > 0.0);
        after
    }

    /// Every state that is reached from an idle link, and what one slot makes of each.
    fn rows(&self) -> (Vec<State>, Vec<Vec<(usize, f64)>>) {
        let matrix = modulator(&self.plan.arrivals);
        let start = (0, 0, 0, 1);
        let (mut states, mut index) = (vec![start], HashMap::from([(start, 0)]));
        let mut rows = Vec::new();
        while rows.len() < states.len() {
            let row = self.slot(states[rows.len()], &matrix);
            for (state, _) in &row {
                index.entry(*state).or_insert_with(|| {
                    states.push(*state);
                    states.len() - 1
                });
            }
            let numbered = row.iter().map(|(state, p)| (index[state], *p));
            rows.push(numbered.collect());
        }
        (states, rows)
    }

    /// The steady state over (average, system), from a dense system of equations.
    fn solve(&self) -> HashMap<(usize, usize), f64> {
        let (states, rows) = self.rows();
        // x (P - I) = 0 with its last equation replaced by sum x = 1
        let n = states.len();
        let mut equations = faer::Mat::<f64>::zeros(n, n);
        for (from, row) in rows.iter().enumerate() {
            for (to, p) in row {
                equations[(*to, from)] += p;
            }
            equations[(from, from)] -= 1.0;
            equations[(n - 1, from)] = 1.0;
        }
        for from in 0..n {
            equations[(n - 1, from)] = 1.0;
        }
        let mut right = faer::Mat::<f64>::zeros(n, 1);
        right[(n - 1, 0)] = 1.0;
        use faer::linalg::solvers::Solve;
        let x = equations.partial_piv_lu().solve(right);
        let mut result = HashMap::new();
        for (k, (average, _, system, _)) in states.into_iter().enumerate() {
            *result.entry((average, system)).or_insert(0.0) += x[(k, 0)];
        }
        result
    }
}

/// The chain's probabilities over (average, system).
fn summed(plan: &Plan, chain: &Chain, x: &[f64]) -> HashMap<(usize, usize), f64> {
    let (sizes, states) = (chain.sizes(), chain.modulator_states());
    let mut result = HashMap::new();
    for (k, p) in x.iter().enumerate() {
        let average = chain.averages()[k / states / sizes] / plan.grid;
        let place = (average.round() as usize, k / states % sizes);
        *result.entry(place).or_insert(0.0) += p;
    }
    result
}

fn check(plan: &Plan) -> Result<(), TestCaseError> {
    let oracle = Oracle::new(plan);
    let expected = oracle.solve();
    let chain = Chain::new(plan).unwrap();
    let direct = chain.solve(Method::Direct).unwrap();
    prop_assert!(direct.residual < 1e-14, "{}", direct.residual);
    let found = summed(plan, &chain, &direct.probabilities);
    for place in found.keys().chain(expected.keys()) {
        let value = |map: &HashMap<_, f64>| map.get(place).copied().unwrap_or(0.0);
        let off = (value(&found) - value(&expected)).abs();
        prop_assert!(off < 1e-11, "{place:?}: {off}");
    }
    if chain.level_count() > 1 {
        let other = chain.solve(Method::Iterative).unwrap();
        let off = distance(&direct.probabilities, &other.probabilities);
        prop_assert!(off < 1e-10, "the methods differ by {off}");
        prop_assert!(
            off < 10.0 * other.error + 1e-13,
            "{off}, said to be {}",
            other.error
        );
        prop_assert!(other.residual < 1e-12);
    }
    Ok(())
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        (0.1..0.9).prop_map(|rate| Arrivals::Geometric { rate }),
        (3.5..12.0, 1.5..2.5, 2_u32..4).prop_map(|(a, q, states)| Arrivals::SelfSimilar {
            a,
            q,
            states
        }),
    ]
}

fn disciplines() -> impl Strategy<Value = Configured> {
    let thresholds = (0.5..3.0, 0.5..4.0);
    let numbers = (thresholds, 0.05..0.9, 0.05..1.0, 1.0..3.0, 1_u32..3);
    let choices = (0_usize..5, any::<bool>());
    (numbers, choices).prop_map(|(numbers, (kind, by_clock))| {
        let ((min_th, range), w, p, low_queue, low_arrivals) = numbers;
        let mut given = vec![
            word("sampling", if by_clock { "clock" } else { "arrivals" }),
            number("min_th", min_th),
            number("max_th", min_th + range),
            number("w", w),
        ];
        let class = ["red", "gentle_red", "dsred", "nlred", "lpf_oda"][kind];
        match class {
            "dsred" => given.push(number("gamma", p)),
            "lpf_oda" => {
                given.push(number("low_queue", low_queue));
                given.push(number("low_arrivals", f64::from(low_arrivals)));
            }
            _ => given.push(number("max_p", p)),
        }
        red(class, &given)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn both_methods_solve_the_model(
        (arrivals, mu, aqm) in (arrivals(), 0.1..1.0, disciplines()),
        (limit, ecn, grid) in (2_u32..7, any::<bool>(), 0.3..1.5),
    ) {
        let discipline = Discipline { limit, victim: Victim::Tail, ecn };
        check(&Plan { arrivals, mu, discipline, aqm, slot_ns: 1_000_000, grid, memory: MEMORY })?;
    }
}

/// x as a fraction, exactly.
fn exact(x: f64) -> BigRational {
    BigRational::from_float(x).unwrap()
}

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

/// |found - expected| / expected, to 30 decimal places.
fn relative_error(found: f64, expected: &BigRational) -> f64 {
    let off = (exact(found) - expected) / expected;
    let scaled = (off * BigInt::from(10).pow(30)).to_integer();
    scaled.to_string().parse::<f64>().unwrap().abs() * 1e-30
}

/// Grassmann, Taksar & Heyman's elimination in exact arithmetic.
fn exact_stationary(rows: &[Vec<(usize, f64)>]) -> Vec<BigRational> {
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
fn waits_obey_littles_law_and_losses_add_up() {
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
        let waits = chain.waits(&measures.admitted, 1e-18);
        let mean = |p: &[f64]| -> f64 { p.iter().enumerate().map(|(k, p)| k as f64 * p).sum() };
        let system = mean(&measures.queue) + measures.utilization;
        assert!((mean(&waits) * admitted - system).abs() < 1e-12);
        assert!((waits.iter().sum::<f64>() - 1.0).abs() < 1e-13);
    }
}

/// Every packet that joins the line is served or goes from its front; the server tells how many
/// are served. Where nothing is dropped, front and tail are the same.
#[test]
fn waits_under_drop_from_front() {
    let given = [
        number("min_th", 3.0),
        number("max_th", 12.0),
        number("w", 0.2),
    ];
    for sampling in ["arrivals", "clock"] {
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
                aqm: red("red", &given),
                ..drop_tail(0.6, 0.5, 10)
            };
            let chain = Chain::new(&plan).unwrap();
            let solution = chain.solve(Method::Direct).unwrap();
            let measures = chain.measures(&solution.probabilities);
            let front = chain.front_waits(&solution.probabilities).unwrap();
            let served = measures.utilization * plan.mu;
            assert!((front.served - served).abs() < 1e-13, "{front:?}, {served}");
            let system: f64 = (0..)
                .zip(&measures.queue)
                .map(|(k, p)| f64::from(k) * p)
                .sum();
            assert!(front.sum < system + measures.utilization);
        }
    }
}

#[test]
fn front_and_tail_are_the_same_where_nothing_is_dropped() {
    let chain = Chain::new(&drop_tail(0.1, 0.9, 40)).unwrap();
    let solution = chain.solve(Method::Direct).unwrap();
    let measures = chain.measures(&solution.probabilities);
    let waits = chain.waits(&measures.admitted, 1e-18);
    let front = chain.front_waits(&solution.probabilities).unwrap();
    let moment = |power: i32| -> f64 {
        (0..)
            .zip(&waits)
            .map(|(k, p)| f64::from(k).powi(power) * p)
            .sum()
    };
    assert!((front.sum / front.served - moment(1)).abs() < 1e-12);
    assert!((front.square_sum / front.served - moment(2)).abs() < 1e-12);
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
