//! Arrival processes as Markov chains: at most one packet in a slot.

use crate::error::{ChainError, refuse};

/// The arrival process.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrivals {
    /// A packet in each slot with probability `rate`.
    Geometric {
        /// In (0, 1).
        rate: f64,
    },
    /// The self-similar modulator of S. Robert. A packet arrives in each slot that it spends in
    /// state 0. Its transition from state 0 to state j has the probability a^-j, the one back has
    /// (q/a)^j. Domanska, Domanski & Czachorski 2008, section III.
    SelfSimilar {
        /// Above 1; the sum of a^-j must stay below 1.
        a: f64,
        /// Above 0, below `a`.
        q: f64,
        /// At least 2.
        states: u32,
    },
}

/// One possible change of the modulator in a slot.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// State before the slot's arrival.
    pub from: usize,
    /// State after it.
    pub to: usize,
    /// Of this change.
    pub probability: f64,
}

/// The modulator's changes without a packet (`quiet`) and with a packet (`active`): the matrices
/// D_0 and D_1 of a discrete-time Markovian arrival process, as lists of their entries.
///
/// If there are several states, no packet arrives in state 0. Quiet changes lead to the same or an
/// earlier state.
#[derive(Clone, Debug)]
pub struct Modulator {
    /// Number of states.
    pub states: usize,
    /// Changes in a slot without a packet.
    pub quiet: Vec<Change>,
    /// Changes in a slot with a packet.
    pub active: Vec<Change>,
}

impl Modulator {
    /// Returns the modulator of an arrival process.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(arrivals: &Arrivals) -> Result<Self, ChainError> {
        match *arrivals {
            Arrivals::Geometric { rate } => geometric(rate),
            Arrivals::SelfSimilar { a, q, states } => self_similar(a, q, states),
        }
    }

    /// Adds `vector` times the matrix of `changes` to `to`.
    #[inline]
    pub(crate) fn apply(changes: &[Change], vector: &[f64], to: &mut [f64]) {
        for change in changes {
            to[change.to] += vector[change.from] * change.probability;
        }
    }
}

fn geometric(rate: f64) -> Result<Modulator, ChainError> {
    if !(rate > 0.0 && rate < 1.0) {
        refuse!(
            "arrivals.rate = {rate} must lie between 0 and 1, both excluded: \
             else states of the chain never follow each other"
        );
    }
    let change = |probability| {
        vec![Change {
            from: 0,
            to: 0,
            probability,
        }]
    };
    Ok(Modulator {
        states: 1,
        quiet: change(1.0 - rate),
        active: change(rate),
    })
}

fn self_similar(a: f64, q: f64, states: u32) -> Result<Modulator, ChainError> {
    let leave = |j: u32| a.powi(-(j as i32));
    let back = |j: u32| (q / a).powi(j as i32);
    let leaving: f64 = (1..states).map(leave).sum();
    if states < 2 {
        refuse!("arrivals.states = {states} must be at least 2");
    }
    if !(a > 1.0 && leaving < 1.0) {
        refuse!(
            "arrivals.a = {a} is too small for {states} states: a^-1 + ... + a^-{} must stay below 1",
            states - 1
        );
    }
    if !(q > 0.0 && q < a) {
        refuse!("arrivals.q = {q} must lie between 0 and a = {a}, both excluded");
    }
    // state j >= 1 of the paper is state j - 1 here, and its state 0 is the last one here
    let last = states as usize - 1;
    let change = |from, to, probability| Change {
        from,
        to,
        probability,
    };
    let mut modulator = Modulator {
        states: states as usize,
        quiet: Vec::new(),
        active: vec![change(last, last, 1.0 - leaving)],
    };
    for j in 1..states {
        let state = j as usize - 1;
        modulator.quiet.push(change(last, state, leave(j)));
        modulator.quiet.push(change(state, state, 1.0 - back(j)));
        modulator.active.push(change(state, last, back(j)));
    }
    Ok(modulator)
}
