//! The average queue on a grid: its levels, where each observation takes it, the drop law there.

use sluice_aqm::Configured;

use crate::{
    error::ChainError,
    filter::Filter,
    law::{Curve, Law},
};

/// Where one observation takes the average: to the grid's neighbours of its exact value, with
/// the probabilities that keep its mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub low: usize,
    pub high: usize,
    /// Probability of `high`.
    pub up: f64,
}

/// An exact value closer to a level than this, in steps, lies on it: the rest is rounding.
const ON_A_LEVEL: f64 = 1e-9;

/// Every level of the average and what happens there. Level 0 is where a long silence leads.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// The average at each level, packets.
    pub average: Vec<f64>,
    /// What the drop law makes of arrivals at each level.
    pub law: Vec<Law>,
    /// By level, then by waiting packets.
    moves: Vec<Move>,
    waits: usize,
}

impl Levels {
    /// How many levels a grid of `step` packets has, whether they can be reached or not.
    pub fn count(filter: Filter, limit: usize, step: f64) -> f64 {
        if filter == Filter::None {
            return 1.0;
        }
        ((limit as f64 / step).ceil() + 1.0) * filter.counts() as f64
    }

    /// Bytes that each level takes.
    pub fn bytes(limit: usize) -> f64 {
        ((limit + 1) * size_of::<Move>()) as f64
    }

    pub fn new(
        aqm: &Configured,
        filter: Filter,
        limit: usize,
        step: f64,
    ) -> Result<Self, ChainError> {
        let (count, counts) = (Self::count(filter, limit, step) as usize, filter.counts());
        let average: Vec<f64> = (0..count)
            .map(|level| (level / counts) as f64 * step)
            .collect();
        let curve = Curve::new(aqm)?;
        let mut law = Vec::with_capacity(count);
        for packets in average.iter().step_by(counts) {
            let here = curve.around(packets - step, *packets, packets + step);
            law.extend(std::iter::repeat_n(here, counts));
        }
        let top = (count - 1) / counts;
        let mut moves = Vec::with_capacity(count * (limit + 1));
        for (level, packets) in average.iter().enumerate() {
            for waiting in 0..=limit {
                let (exact, missing) = filter.update(*packets, level % counts, waiting as f64);
                let place = exact / step;
                let low = (place.floor() as usize).min(top);
                moves.push(Move {
                    low: low * counts + missing,
                    high: (low + 1).min(top) * counts + missing,
                    up: (place - low as f64).clamp(0.0, 1.0),
                });
            }
        }
        Ok(Self {
            average,
            law,
            moves,
            waits: limit + 1,
        })
    }

    #[inline]
    pub fn seen(&self, level: usize, waiting: usize) -> Move {
        self.moves[level * self.waits + waiting]
    }

    /// The same levels with other parameters, `of` being those that they are close to: every
    /// observation leads to the neighbours that it has in `of`, with the probabilities that keep
    /// its mean even where its exact value has left them. So they are as smooth as the exact
    /// value is. What lies on a level in `of` has two pairs of neighbours, and goes to the `lower`
    /// or to the upper one.
    pub fn beside(mut self, of: &Self, counts: usize, lower: bool) -> Self {
        self.truncate(of.average.len());
        let top = self.average.len() - 1;
        for (own, at) in self.moves.iter_mut().zip(&of.moves) {
            let (from, to) = (self.average[own.low], self.average[own.high]);
            let exact = from + own.up * (to - from);
            let (mut low, mut high) = (at.low, at.high);
            if at.up < ON_A_LEVEL && lower && low >= counts {
                (low, high) = (low - counts, low);
            } else if at.up > 1.0 - ON_A_LEVEL && !lower && high + counts <= top {
                (low, high) = (high, high + counts);
            }
            let width = self.average[high] - self.average[low];
            let up = if width > 0.0 {
                (exact - self.average[low]) / width
            } else {
                at.up
            };
            *own = Move { low, high, up };
        }
        self
    }

    /// Leaves out the levels from `count` on, which are never reached.
    pub fn truncate(&mut self, count: usize) {
        self.average.truncate(count);
        self.law.truncate(count);
        self.moves.truncate(count * self.waits);
        // only from states that are never reached themselves
        for seen in &mut self.moves {
            seen.low = seen.low.min(count - 1);
            seen.high = seen.high.min(count - 1);
        }
    }
}
