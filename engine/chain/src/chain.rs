//! The chain itself: its states, and what one slot does to each.

use std::sync::Arc;

use sluice_aqm::{Configured, Discipline};

use crate::{
    arrivals::{Arrivals, Change, Modulator},
    control::Control,
    error::{ChainError, refuse},
    filter::{Averaging, Filter, Sampling},
    levels::Levels,
};

/// Everything that determines a chain.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How packets arrive.
    pub arrivals: Arrivals,
    /// Probability that a service ends in a slot, in (0, 1].
    pub mu: f64,
    /// Limit, victim and marking.
    pub discipline: Discipline,
    /// Drop-tail or a member of the RED family with independent drops and no idle rule.
    pub aqm: Configured,
    /// Length of a slot, ns: an average sampled by a clock must be sampled once in each.
    pub slot_ns: u64,
    /// Step of the average's grid, packets; `Chain::on` takes a grid without one.
    pub grid: f64,
    /// What building and solving the chain may take, bytes.
    pub memory: f64,
}

/// Vectors of probabilities that any use of a chain takes.
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
    pub(crate) discipline: Discipline,
    pub(crate) mu: f64,
    pub(crate) memory: f64,
    pub(crate) sampling: Sampling,
    pub(crate) filter: Filter,
    pub(crate) control: Arc<Control>,
}

/// What the average and the AQM make of a slot, after its service and the modulator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    /// Whether a packet arrived.
    pub active: bool,
    /// Where the average goes.
    pub level: usize,
    /// 1 if the system holds one packet more.
    pub more: usize,
    pub probability: f64,
}

impl Chain {
    /// Builds the chain of a plan.
    ///
    /// # Errors
    /// For a parameter out of range, a discipline that no chain follows, or more states than
    /// the memory holds.
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

    /// Builds the chain of a plan on these averages instead of the multiples of `plan.grid`:
    /// packets, rising, from 0 to the limit or beyond.
    ///
    /// # Errors
    /// As `new`, and for averages that do not rise so.
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

    /// The chain on the `levels` averages of `grid`, called `name` where they are too many.
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
            control: Arc::default(),
        };
        let highest = chain.reached().iter().rposition(|known| *known);
        let top = highest.expect("an empty system") / chain.sizes();
        chain.levels.truncate(top + 1);
        Ok(chain)
    }

    /// By which whoever solves the chain is watched and stopped.
    pub fn control(&self) -> &Control {
        &self.control
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

    /// Sizes of the system, 0 included.
    pub fn sizes(&self) -> usize {
        self.discipline.limit as usize + 2
    }

    /// States of one level of the average.
    pub(crate) fn width(&self) -> usize {
        self.sizes() * self.modulator.states
    }

    /// Probability that a server with `size` packets in the system goes on serving.
    #[inline]
    pub(crate) fn stay(&self, size: usize) -> f64 {
        if size == 0 { 1.0 } else { 1.0 - self.mu }
    }

    /// The probability with which an arrival that finds `size` is lost to the AQM or the limit.
    #[inline]
    pub(crate) fn loss(&self, level: usize, size: usize) -> f64 {
        let chances = self.levels.chances[level];
        if size + 1 == self.sizes() {
            1.0
        } else if self.discipline.ecn {
            chances.forced
        } else {
            (chances.early + chances.forced).min(1.0)
        }
    }

    /// Calls `each` for every jump from `level` with `size` packets in the system after the
    /// slot's service. The probabilities of the quiet ones sum to 1, those of the active ones too.
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

    /// The two levels that seeing a system of `size` leads to.
    #[inline]
    pub(crate) fn seen(&self, level: usize, size: usize) -> [(usize, f64); 2] {
        let seen = self.levels.seen(level, size.saturating_sub(1));
        [(seen.low, 1.0 - seen.up), (seen.high, seen.up)]
    }

    /// The changes of the modulator that go with a jump.
    #[inline]
    pub(crate) fn changes(&self, active: bool) -> &[Change] {
        if active {
            &self.modulator.active
        } else {
            &self.modulator.quiet
        }
    }

    /// Whether an empty system ever leads to each level and size, in this order of significance.
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

    /// `vector` times the transition matrix: the probabilities one slot later.
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

    /// What is at `size` once the slot's service and the modulator's change are over; `from` holds
    /// the level's probabilities at the end of the slot before.
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

    /// Packets that arrive, per slot.
    pub fn active(&self) -> f64 {
        self.active.iter().sum()
    }

    /// Adds what takes `jump` to its destination `to`.
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
