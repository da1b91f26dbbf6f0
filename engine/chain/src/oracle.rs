//! The model state by state, in its most direct form, compared with both methods.

use std::collections::HashMap;

use proptest::prelude::*;
use sluice_aqm::{BufferPolicy, Configured, Value, Victim, find};

use crate::{
    Arrivals, Chain, Method, Plan, drop_function::Curve, elimination::add_scaled,
    iterative::distance,
};

pub(crate) const MEMORY: f64 = 1e9;

pub(crate) fn number(name: &str, value: f64) -> (String, Value) {
    (name.to_owned(), Value::Number(value))
}

pub(crate) fn word(name: &str, value: &str) -> (String, Value) {
    (name.to_owned(), Value::Word(value.to_owned()))
}

/// Returns a member of the RED family that has an exact chain.
pub(crate) fn red(class: &str, given: &[(String, Value)]) -> Configured {
    let mut values = vec![
        word("spacing", "independent"),
        ("idle_decay".to_owned(), Value::Switch(false)),
    ];
    values.extend_from_slice(given);
    Configured::new(find(class).unwrap(), &values).unwrap()
}

pub(crate) fn drop_tail(rate: f64, mu: f64, limit: u32) -> Plan {
    Plan {
        arrivals: Arrivals::Geometric { rate },
        mu,
        discipline: BufferPolicy {
            limit,
            limit_bytes: None,
            victim: Victim::Tail,
            ecn: false,
        },
        aqm: Configured::new(find("drop_tail").unwrap(), &[]).unwrap(),
        slot_ns: 1_000_000,
        grid: 0.25,
        memory: MEMORY,
    }
}

/// A state of the oracle: the average as a multiple of the grid's step, LPF/ODA's count of low
/// arrivals, packets in the system, the modulator's state as the paper numbers it.
pub(crate) type State = (usize, usize, usize, usize);

/// Returns the modulator's matrix, as in the paper.
pub(crate) fn modulator(arrivals: &Arrivals) -> Vec<Vec<f64>> {
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

pub(crate) struct Oracle<'p> {
    plan: &'p Plan,
    params: HashMap<String, Value>,
}

impl<'p> Oracle<'p> {
    pub fn new(plan: &'p Plan) -> Self {
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

    /// Returns average (multiple of the step) and count after an observation of `waiting` packets,
    /// with probabilities.
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
        // a value within rounding of a grid point is on it
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

    /// Returns early and forced drop probability. `drop_function.rs` compares `Curve` with its
    /// definition.
    fn chances(&self, average: usize) -> (f64, f64) {
        let [low, level, high] = [-1.0, 0.0, 1.0].map(|k| (average as f64 + k) * self.plan.grid);
        let chances = Curve::new(&self.plan.aqm).unwrap().around(low, level, high);
        (chances.early, chances.forced)
    }

    fn drop(&self, average: usize, system: usize) -> f64 {
        let waiting = system.saturating_sub(1);
        let (early, forced) = self.chances(average);
        match (
            waiting as u32 >= self.plan.discipline.limit,
            self.plan.discipline.ecn,
        ) {
            (true, _) => 1.0,
            (false, true) => forced,
            _ => (early + forced).min(1.0),
        }
    }

    /// Returns the states one slot after `state`, with probabilities.
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

    /// Returns every state that is reached from an idle link, and the transitions from each.
    pub fn rows(&self) -> (Vec<State>, Vec<Vec<(usize, f64)>>) {
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

    /// Returns the steady state over (average, system), from a dense system of equations.
    fn solve(&self) -> HashMap<(usize, usize), f64> {
        let (states, rows) = self.rows();
        // x (P - I) = 0, with the last equation replaced by sum x = 1
        let n = states.len();
        let mut equations = vec![vec![0.0; n + 1]; n];
        for (from, row) in rows.iter().enumerate() {
            for (to, p) in row {
                equations[*to][from] += p;
            }
            equations[from][from] -= 1.0;
        }
        equations[n - 1].fill(1.0);
        let x = gauss(equations);
        let mut result = HashMap::new();
        for (k, (average, _, system, _)) in states.into_iter().enumerate() {
            *result.entry((average, system)).or_insert(0.0) += x[k];
        }
        result
    }
}

/// Solves equations whose last column is the right side, by Gaussian elimination with row
/// exchanges.
fn gauss(mut equations: Vec<Vec<f64>>) -> Vec<f64> {
    let n = equations.len();
    for k in 0..n {
        let size = |row: &usize| equations[*row][k].abs();
        let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
        equations.swap(k, pivot);
        let (above, below) = equations.split_at_mut(k + 1);
        for row in below {
            let factor = row[k] / above[k][k];
            if factor != 0.0 {
                add_scaled(&mut row[k..], -factor, &above[k][k..]);
            }
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| equations[k][j] * x[j]).sum();
        x[k] = (equations[k][n] - known) / equations[k][k];
    }
    x
}

/// Returns the chain's probabilities over (average, system).
pub(crate) fn summed(plan: &Plan, chain: &Chain, x: &[f64]) -> HashMap<(usize, usize), f64> {
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
        let discipline = BufferPolicy { limit, limit_bytes: None, victim: Victim::Tail, ecn };
        check(&Plan { arrivals, mu, discipline, aqm, slot_ns: 1_000_000, grid, memory: MEMORY })?;
    }
}
