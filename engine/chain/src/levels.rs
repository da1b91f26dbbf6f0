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
