//! The chain itself: its states, and the transitions of one slot.

use std::sync::Arc;

use sluice_aqm::{BufferPolicy, Configured};

use crate::{
    arrivals::{Arrivals, Change, Modulator},
    error::{ChainError, refuse},
    filter::{Averaging, Filter, Sampling},
    levels::Levels,
    monitor::Monitor,
};

/// Everything that determines a chain.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The arrival process.
    pub arrivals: Arrivals,
    /// Probability that a service ends in a slot, in (0, 1].
    pub mu: f64,
    /// Limit, victim and marking.
    pub discipline: BufferPolicy,
    /// Drop-tail, an AQM without a state, or a member of the RED family with independent drops and
    /// no idle rule.
    pub aqm: Configured,
    /// Duration of a slot, ns: an average sampled by a clock must be sampled once in each slot.
    pub slot_ns: u64,
    /// Step of the average's grid, packets; `Chain::on` does not use it.
    pub grid: f64,
    /// Memory that building and solving the chain may use, bytes.
    pub memory: f64,
}

/// Number of vectors, with one probability per state, that any use of a chain needs.
const VECTORS: f64 = 3.0;

/// A chain ready to be solved.
///
/// A state is (level of the average, size of the system, state of the modulator) at the end of a
/// slot, in this order of significance. Size 0 is idle; size s means one packet in service
/// and s - 1 waiting.
#[derive(Clone, Debug)]
pub struct Chain {
    pub(crate) modulator: Modulator,
    pub(crate) levels: Levels,
    pub(crate) discipline: BufferPolicy,
    pub(crate) mu: f64,
    pub(crate) memory: f64,
    pub(crate) sampling: Sampling,
    pub(crate) filter: Filter,
    pub(crate) monitor: Arc<Monitor>,
}

/// A possible outcome of a slot for the average and the AQM, after the slot's service and the
/// modulator's change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    /// True if a packet arrived.
    pub active: bool,
    /// New level of the average.
    pub level: usize,
    /// 1 if the system holds one packet more, otherwise 0.
    pub more: usize,
    pub probability: f64,
}

impl Chain {
    /// Builds the chain of a plan.
    ///
    /// # Errors
    /// If a parameter is out of range, the discipline has no exact chain, or the memory is too
    /// small for the states.
    pub fn new(plan: &Plan) -> Result<Self, ChainError> {
        let (step, limit) = (plan.grid, f64::from(plan.discipline.limit));
        if !(step > 0.0 && step <= limit) {
            refuse!("grid = {step} must be above 0 and at most the limit of {limit} packets");
        }
        let last = (limit / step).ceil();
        Self::build(plan, &format!("grid = {step}"), last + 1.0, || {
            let levels = (0..=last as usize).map(|level| level as f64 * step);
            levels.collect()
        })
    }

    /// Builds the chain of a plan on the averages `grid` instead of the multiples of `plan.grid`.
    /// They are in packets and rise from 0 to the limit or beyond.
    ///
    /// # Errors
    /// As `new`, and if `grid` does not rise from 0 to the limit or beyond.
    pub fn on(plan: &Plan, grid: &[f64]) -> Result<Self, ChainError> {
        let limit = f64::from(plan.discipline.limit);
        let covers = grid.first() == Some(&0.0) && grid.last() >= Some(&limit);
        let is_finite = grid.iter().all(|average| average.is_finite());
        if !(covers && is_finite && grid.is_sorted_by(|a, b| a < b)) {
            refuse!("grid must rise from 0 to the limit of {limit} packets or beyond");
        }
        let name = format!("a grid of {} levels", grid.len());
        Self::build(plan, &name, grid.len() as f64, || grid.to_vec())
    }

    /// Builds the chain on the `levels` averages of `grid`. `name` is the grid's name in error
    /// messages.
    fn build(
        plan: &Plan,
        name: &str,
        levels: f64,
        grid: impl FnOnce() -> Vec<f64>,
    ) -> Result<Self, ChainError> {
        let (mu, limit) = (plan.mu, plan.discipline.limit as usize);
        if !(mu > 0.0 && mu <= 1.0) {
            refuse!("service.mu = {mu} must lie in (0, 1]");
        }
        if let Some(bytes) = plan.discipline.limit_bytes {
            refuse!("limit_bytes = {bytes} has no exact chain: its states count packets");
        }
        let modulator = Modulator::new(&plan.arrivals)?;
        let Averaging { sampling, filter } = Averaging::new(&plan.aqm, plan.slot_ns)?;
        let is_still = filter == Filter::None;
        let levels = if is_still {
            1.0
        } else {
            levels * filter.counts() as f64
        };
        let states = levels * (limit + 2) as f64 * modulator.states as f64;
        let bytes = levels * Levels::bytes(limit) + VECTORS * states * size_of::<f64>() as f64;
        if bytes > plan.memory {
            refuse!(
                "{name} gives {states:.2e} states, which take {:.1} GB at least, and {:.1} GB are \
                 there: take a coarser grid",
                bytes / 1e9,
                plan.memory / 1e9
            );
        }
        let grid = if is_still { vec![0.0] } else { grid() };
        let mut chain = Self {
            levels: Levels::new(&plan.aqm, filter, limit, &grid)?,
            modulator,
            discipline: plan.discipline,
            mu,
            memory: plan.memory,
            sampling,
            filter,
            monitor: Arc::default(),
        };
        let highest = chain.reached().iter().rposition(|known| *known);
        let top = highest.expect("an empty system") / chain.sizes();
        chain.levels.truncate(top + 1);
        Ok(chain)
    }

    /// Returns the modulator of the arrivals.
    pub fn modulator(&self) -> &Modulator {
        &self.modulator
    }

    /// Returns the probability that a service ends in a slot.
    pub fn mu(&self) -> f64 {
        self.mu
    }

    /// Returns the monitor, by which another thread follows or cancels a solution.
    pub fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.level_count() * self.sizes() * self.modulator.states
    }

    /// Number of levels of the average that can be reached.
    pub fn level_count(&self) -> usize {
        self.levels.average.len()
    }

    /// The average at each level, packets.
    pub fn averages(&self) -> &[f64] {
        &self.levels.average
    }

    /// Number of states of the modulator.
    pub fn modulator_states(&self) -> usize {
        self.modulator.states
    }

    /// Number of sizes of the system, 0 included.
    pub fn sizes(&self) -> usize {
        self.discipline.limit as usize + 2
    }

    /// Number of states of one level of the average.
    pub(crate) fn width(&self) -> usize {
        self.sizes() * self.modulator.states
    }

    /// Probability that no service ends in a slot that begins with `size` packets in the system.
    #[inline]
    pub(crate) fn stay(&self, size: usize) -> f64 {
        if size == 0 { 1.0 } else { 1.0 - self.mu }
    }

    /// Probability that a packet is lost, to the AQM or the limit, at an arrival that finds `size`
    /// packets in the system.
    #[inline]
    pub(crate) fn loss(&self, level: usize, size: usize) -> f64 {
        let chances = self.levels.chances(level, size);
        if size + 1 == self.sizes() {
            1.0
        } else if self.discipline.ecn {
            chances.forced
        } else {
            (chances.early + chances.forced).min(1.0)
        }
    }

    /// Calls `each` for every jump from `level` with `size` packets in the system after the
    /// slot's service. The probabilities of the quiet jumps sum to 1, and so do those of the active
    /// ones.
    #[inline(always)]
    pub(crate) fn jumps(&self, level: usize, size: usize, mut each: impl FnMut(Jump)) {
        let mut jump = |active, level, more, probability| {
            if probability != 0.0 {
                each(Jump {
                    active,
                    level,
                    more,
                    probability,
                });
            }
        };
        match self.sampling {
            Sampling::Arrivals => {
                jump(false, level, 0, 1.0);
                for (level, probability) in self.seen(level, size) {
                    let loss = self.loss(level, size);
                    jump(true, level, 0, probability * loss);
                    jump(true, level, 1, probability * (1.0 - loss));
                }
            }
            Sampling::Clock => {
                let loss = self.loss(level, size);
                for (level, probability) in self.seen(level, size) {
                    jump(false, level, 0, probability);
                    jump(true, level, 0, probability * loss);
                }
                if loss < 1.0 {
                    for (level, probability) in self.seen(level, size + 1) {
                        jump(true, level, 1, probability * (1.0 - loss));
                    }
                }
            }
        }
    }

    /// Returns the two levels to which an observation of a system of `size` leads from `level`,
    /// with their probabilities.
    #[inline]
    pub(crate) fn seen(&self, level: usize, size: usize) -> [(usize, f64); 2] {
        let seen = self.levels.seen(level, size.saturating_sub(1));
        [(seen.low, 1.0 - seen.up), (seen.high, seen.up)]
    }

    /// Returns the changes of the modulator in slots with an arrival (`active`) or without.
    #[inline]
    pub(crate) fn changes(&self, active: bool) -> &[Change] {
        if active {
            &self.modulator.active
        } else {
            &self.modulator.quiet
        }
    }

    /// Returns for each level and size, in this order of significance, true if an empty system
    /// ever leads there.
    pub(crate) fn reached(&self) -> Vec<bool> {
        let sizes = self.sizes();
        let mut known = vec![false; self.level_count() * sizes];
        let mut open = vec![0];
        known[0] = true;
        while let Some(place) = open.pop() {
            let (level, size) = (place / sizes, place % sizes);
            for after in size.saturating_sub(1)..=size {
                self.jumps(level, after, |jump| {
                    let next = jump.level * sizes + after + jump.more;
                    if !std::mem::replace(&mut known[next], true) {
                        open.push(next);
                    }
                });
            }
        }
        known
    }

    /// Returns `vector` times the transition matrix: the probabilities one slot later.
    pub fn step(&self, vector: &[f64]) -> Vec<f64> {
        let (sizes, states, width) = (self.sizes(), self.modulator.states, self.width());
        let mut next = vec![0.0; vector.len()];
        let mut changed = Changed::new(states);
        for (level, from) in vector.chunks_exact(width).enumerate() {
            for size in 0..sizes {
                changed.after_service(self, from, size);
                self.jumps(level, size, |jump| {
                    let at = jump.level * width + (size + jump.more) * states;
                    changed.add(jump, &mut next[at..at + states]);
                });
            }
        }
        next
    }
}

/// Probabilities of the modulator's states within a slot, at one level and size.
pub(crate) struct Changed {
    served: Vec<f64>,
    quiet: Vec<f64>,
    active: Vec<f64>,
}

impl Changed {
    pub fn new(states: usize) -> Self {
        Self {
            served: vec![0.0; states],
            quiet: vec![0.0; states],
            active: vec![0.0; states],
        }
    }

    /// Computes the probabilities at `size` after the slot's service and the modulator's change.
    /// `from` holds the level's probabilities at the end of the slot before.
    #[inline]
    pub fn after_service(&mut self, chain: &Chain, from: &[f64], size: usize) {
        let states = chain.modulator.states;
        let (here, stay) = (size * states, chain.stay(size));
        for (state, served) in self.served.iter_mut().enumerate() {
            *served = stay * from[here + state];
            if let Some(above) = from.get(here + states + state) {
                *served += chain.mu * above;
            }
        }
        self.quiet.fill(0.0);
        self.active.fill(0.0);
        Modulator::apply(&chain.modulator.quiet, &self.served, &mut self.quiet);
        Modulator::apply(&chain.modulator.active, &self.served, &mut self.active);
    }

    /// Returns the packets that arrive per slot.
    pub fn active(&self) -> f64 {
        self.active.iter().sum()
    }

    /// Adds the probabilities that take `jump` to its destination `to`.
    #[inline]
    pub fn add(&self, jump: Jump, to: &mut [f64]) {
        let from = if jump.active {
            &self.active
        } else {
            &self.quiet
        };
        for (to, from) in to.iter_mut().zip(from) {
            *to += from * jump.probability;
        }
    }
}
