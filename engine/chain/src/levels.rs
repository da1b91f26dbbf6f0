//! The average queue on a grid: its levels, their moves after each observation of the queue, and
//! the drop function at each level.
//!
//! The grid is any rising list of averages: it may be finer where the average stays.

use sluice_aqm::Configured;

use crate::{
    drop_function::{Chances, Curve},
    error::ChainError,
    filter::Filter,
    memoryless::{self, is_memoryless},
};

/// The move of the average after one observation: to the two grid neighbours of its exact value,
/// with the probabilities that keep its mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    pub low: usize,
    pub high: usize,
    /// Probability of `high`.
    pub up: f64,
}

/// An exact value closer to a level than this, in steps, counts as on the level: the difference is
/// rounding.
const ON_A_LEVEL: f64 = 1e-9;

/// All levels of the average, with their drop probabilities and moves. A long time without
/// arrivals leads to level 0.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// The average at each level, packets.
    pub average: Vec<f64>,
    /// Drop probabilities at each level; of an AQM without a state, at each size of the system.
    chances: Vec<Chances>,
    /// 1 if `chances` are by size, 0 if by level.
    by_size: usize,
    /// Moves, by level, then by waiting packets.
    moves: Vec<Move>,
    waits: usize,
}

impl Levels {
    /// Returns the memory of one level, bytes.
    pub fn bytes(limit: usize) -> f64 {
        ((limit + 1) * size_of::<Move>()) as f64
    }

    /// Levels at the averages of `grid`, which are in packets and rise from 0.
    pub fn new(
        aqm: &Configured,
        filter: Filter,
        limit: usize,
        grid: &[f64],
    ) -> Result<Self, ChainError> {
        let counts = filter.counts();
        let count = grid.len() * counts;
        let by_size = filter == Filter::None && is_memoryless(aqm) && !is_drop_tail(aqm);
        let mut levels = Self {
            average: Vec::with_capacity(count),
            chances: if by_size {
                memoryless::chances(aqm, limit)?
            } else {
                Vec::with_capacity(count)
            },
            by_size: by_size.into(),
            moves: Vec::with_capacity(count * (limit + 1)),
            waits: limit + 1,
        };
        let curve = if by_size {
            None
        } else {
            Some(Curve::new(aqm)?)
        };
        for (place, packets) in grid.iter().enumerate() {
            let [low, high] = neighbours(grid, place);
            let here = curve
                .as_ref()
                .map(|curve| curve.around(low, *packets, high));
            for missing in 0..counts {
                levels.average.push(*packets);
                levels.chances.extend(here);
                for waiting in 0..=limit {
                    let (exact, missing) = filter.update(*packets, missing, waiting as f64);
                    levels.moves.push(rounded(grid, exact, missing, counts));
                }
            }
        }
        Ok(levels)
    }

    /// Returns the drop probabilities of an arrival that finds the average at `level` and `size`
    /// packets in the system.
    #[inline]
    pub fn chances(&self, level: usize, size: usize) -> Chances {
        self.chances[level + self.by_size * size]
    }

    #[inline]
    pub fn seen(&self, level: usize, waiting: usize) -> Move {
        self.moves[level * self.waits + waiting]
    }

    /// Returns these levels with the neighbours of `of`, which has parameters close to these.
    /// Every observation leads to the two neighbours that it has in `of`. The probabilities keep
    /// its mean, even if its exact value no longer lies between the two. So they change with the
    /// parameters as smoothly as the exact value does. A value on a level of `of` has two possible
    /// pairs of neighbours: `lower` selects the lower pair.
    pub fn beside(mut self, of: &Self, counts: usize, lower: bool) -> Self {
        let top = of.average.len() - 1;
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
        self.truncate(of.average.len());
        self
    }

    /// Removes the levels from `count` on, which must never be reached.
    pub fn truncate(&mut self, count: usize) {
        self.average.truncate(count);
        if self.by_size == 0 {
            self.chances.truncate(count);
        }
        self.moves.truncate(count * self.waits);
        // this changes only moves from states that are never reached themselves
        for seen in &mut self.moves {
            seen.low = seen.low.min(count - 1);
            seen.high = seen.high.min(count - 1);
        }
    }
}

/// True for the AQM that never drops by itself, which need not be asked.
fn is_drop_tail(aqm: &Configured) -> bool {
    let class = aqm.class();
    class.base.as_deref().unwrap_or(&class.name) == "drop_tail"
}

/// Returns the averages beside one on the grid. At an end of the grid, the missing neighbour has
/// the same distance as the other one.
fn neighbours(grid: &[f64], place: usize) -> [f64; 2] {
    let here = grid[place];
    let below = place.checked_sub(1).map(|below| here - grid[below]);
    let above = grid.get(place + 1).map(|above| above - here);
    // a grid of one level is used only for drop-tail, whose drop function is constant
    let either = below.or(above).unwrap_or(1.0);
    [
        here - below.unwrap_or(either),
        here + above.unwrap_or(either),
    ]
}

/// Returns the move to the exact average `exact`, rounded as `Move` says.
fn rounded(grid: &[f64], exact: f64, missing: usize, counts: usize) -> Move {
    let above = grid.partition_point(|level| *level <= exact);
    let (low, high) = (above.saturating_sub(1), above.min(grid.len() - 1));
    let up = if low < high {
        (exact - grid[low]) / (grid[high] - grid[low])
    } else {
        0.0
    };
    Move {
        low: low * counts + missing,
        high: high * counts + missing,
        up,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_keeps_the_mean_on_any_grid() {
        let grid = [0.0, 0.1, 0.5, 2.0, 3.0, 10.0];
        for exact in [0.0, 0.05, 0.1, 0.4, 1.999, 2.0, 7.3, 10.0] {
            let Move { low, high, up } = rounded(&grid, exact, 0, 1);
            assert!(high <= low + 1 && (0.0..=1.0).contains(&up));
            let mean = (1.0 - up) * grid[low] + up * grid[high];
            assert!((mean - exact).abs() < 1e-15, "{exact}: {mean}");
        }
    }

    #[test]
    fn an_end_has_a_neighbour_beyond_it() {
        let grid = [0.0, 0.5, 2.0];
        assert_eq!(neighbours(&grid, 0), [-0.5, 0.5]);
        assert_eq!(neighbours(&grid, 1), [0.0, 2.0]);
        assert_eq!(neighbours(&grid, 2), [0.5, 3.5]);
    }
}
