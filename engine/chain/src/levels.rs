//! The average queue on a grid: its levels, where each observation takes it, the drop law there.

use sluice_aqm::Configured;

use crate::{
    error::{ChainError, refuse},
    filter::Filter,
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

/// The probabilities with which the drop law decides on an arrival.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Law {
    /// Dropped, or marked, by chance.
    pub early: f64,
    /// Dropped where the law leaves no chance.
    pub forced: f64,
}

/// Points at which the drop law is looked at, each side of a level.
const LAW_POINTS: i32 = 32;

impl Law {
    /// The law's mean around a level.
    ///
    /// Rounding by chance spreads an average to both neighbours on the grid, so a level stands for
    /// all averages within a step of it, the less the further they are. The mean with these
    /// weights keeps the grid's error of second order even where the law jumps (RED at max_th);
    /// the law at the level alone would shift the jump by half a step.
    fn around(aqm: &Configured, level: f64, step: f64) -> Option<Self> {
        let (mut law, mut total) = (Self::default(), 0.0);
        for point in (-LAW_POINTS..LAW_POINTS).map(|k| (f64::from(k) + 0.5) / f64::from(LAW_POINTS))
        {
            let weight = 1.0 - point.abs();
            let p = aqm.drop_probability((level + point * step).max(0.0))?;
            if p < 1.0 {
                law.early += weight * p;
            } else {
                law.forced += weight;
            }
            total += weight;
        }
        law.early /= total;
        law.forced /= total;
        Some(law)
    }
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
        let mut law = Vec::with_capacity(count);
        for packets in average.iter().step_by(counts) {
            match Law::around(aqm, *packets, step) {
                Some(here) => law.extend(std::iter::repeat_n(here, counts)),
                None => refuse!("{} has no drop law", aqm.class().name),
            }
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
