//! Block Gauss-Seidel over the levels of the average, up and down in turn.
//!
//! Each level is solved exactly, given the values of the other levels. Nothing is subtracted: a
//! sweep of nonnegative numbers is a sum of products of nonnegative numbers.

use crate::{
    chain::{Chain, Changed},
    elimination::add_scaled,
    error::ChainError,
    line::{Line, Room},
    monitor::Progress,
    set::Set,
};

/// All levels of a chain, factored, and the work space of sweeps over them.
pub(crate) struct Sweeper<'c> {
    chain: &'c Chain,
    taboo: Set,
    lines: Vec<Line>,
    /// What each state gets from higher levels, and from lower ones.
    from_above: Vec<f64>,
    from_below: Vec<f64>,
    room: Room,
    changed: Changed,
    going: Result<(), ChainError>,
    /// Sweeps so far.
    pub sweeps: usize,
    /// The residual, as the caller last computed it.
    pub residual: f64,
}

impl<'c> Sweeper<'c> {
    pub fn new(chain: &'c Chain, taboo: Set) -> Self {
        let states = chain.modulator_states();
        Self {
            lines: (0..chain.level_count())
                .map(|level| Line::new(chain, level, &taboo))
                .collect(),
            from_above: vec![0.0; chain.states()],
            from_below: vec![0.0; chain.states()],
            room: Room::new(states),
            changed: Changed::new(states),
            chain,
            taboo,
            going: Ok(()),
            sweeps: 0,
            residual: f64::INFINITY,
        }
    }

    /// Makes one sweep up and one down, in place, towards the solution of `x = b + x T`; b is
    /// `right`, or 0. After a cancellation by the chain's monitor, x stays as it is.
    pub fn sweep(&mut self, x: &mut [f64], right: Option<&[f64]>) {
        if self.going.is_err() {
            return;
        }
        self.sweeps += 1;
        self.going = self.chain.monitor.report(Progress::Swept {
            sweeps: self.sweeps,
            residual: self.residual,
        });
        let levels = self.lines.len();
        self.from_above.fill(0.0);
        for level in 1..levels {
            self.give(level, x, false);
        }
        self.from_below.fill(0.0);
        for level in 0..levels {
            self.solve(level, x, right);
            self.give(level, x, true);
        }
        self.from_above.fill(0.0);
        for level in (0..levels).rev() {
            self.solve(level, x, right);
            self.give(level, x, false);
        }
    }

    /// Returns `Ok` if all sweeps were made.
    ///
    /// # Errors
    /// If the chain's monitor was cancelled.
    pub fn going(&self) -> Result<(), ChainError> {
        self.going.clone()
    }

    fn solve(&mut self, level: usize, x: &mut [f64], right: Option<&[f64]>) {
        let width = self.chain.width();
        let part = level * width..(level + 1) * width;
        let x = &mut x[part.clone()];
        for ((x, above), below) in x
            .iter_mut()
            .zip(&self.from_above[part.clone()])
            .zip(&self.from_below[part.clone()])
        {
            *x = above + below;
        }
        if let Some(right) = right {
            add_scaled(x, 1.0, &right[part]);
        }
        self.lines[level].solve(self.chain, x, &mut self.room);
    }

    /// Adds the transitions from `level` to the levels above it (`up`) or below it.
    fn give(&mut self, level: usize, x: &[f64], up: bool) {
        let (width, states) = (self.chain.width(), self.chain.modulator_states());
        let from = &x[level * width..(level + 1) * width];
        let to = if up {
            &mut self.from_below
        } else {
            &mut self.from_above
        };
        for size in 0..self.chain.sizes() {
            self.changed.after_service(self.chain, from, size);
            self.chain.jumps(level, size, |jump| {
                let next = size + jump.more;
                let leaves = jump.level != level && (jump.level > level) == up;
                if leaves && !self.taboo.contains(jump.level, next) {
                    let at = jump.level * width + next * states;
                    self.changed.add(jump, &mut to[at..at + states]);
                }
            });
        }
    }
}
