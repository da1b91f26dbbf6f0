//! Sets of states, the targets of first passages.

use std::ops::Range;

use crate::{
    chain::Chain,
    error::{ChainError, refuse},
};

/// Bounds of a set of states; without bounds the set contains every state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The queue is below this, packets.
    pub queue_below: Option<u32>,
    /// The queue is at least this, packets.
    pub queue_at_least: Option<u32>,
    /// The average is below this, packets.
    pub average_below: Option<f64>,
    /// The average is at least this, packets.
    pub average_at_least: Option<f64>,
}

/// The states within a range of levels and a range of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    levels: Range<usize>,
    sizes: Range<usize>,
}

impl Set {
    /// The empty set.
    pub const NONE: Self = Self {
        levels: 0..0,
        sizes: 0..0,
    };

    #[inline]
    pub(crate) fn contains(&self, level: usize, size: usize) -> bool {
        self.levels.contains(&level) && self.sizes.contains(&size)
    }
}

impl Chain {
    /// Returns the set of the states within all of the bounds.
    ///
    /// # Errors
    /// If an empty system never reaches a state of the set, or if a bound is not a number.
    pub fn set(&self, bounds: &Bounds) -> Result<Set, ChainError> {
        let averages = [bounds.average_below, bounds.average_at_least];
        if averages.into_iter().flatten().any(f64::is_nan) {
            refuse!("{}: a bound must be a number", bounds.text());
        }
        let averages = self.averages();
        let levels_below = |average: f64| averages.partition_point(|level| *level < average);
        // size s means s - 1 waiting packets; size 0 means none
        let sizes_below = |queue: u32| match queue {
            0 => 0,
            _ => (queue as usize + 1).min(self.sizes()),
        };
        let set = Set {
            levels: bounds.average_at_least.map_or(0, levels_below)
                ..bounds.average_below.map_or(averages.len(), levels_below),
            sizes: bounds.queue_at_least.map_or(0, sizes_below)
                ..bounds.queue_below.map_or(self.sizes(), sizes_below),
        };
        let sizes = self.sizes();
        let mut reached = self.reached().into_iter().enumerate();
        if !reached.any(|(cell, known)| known && set.contains(cell / sizes, cell % sizes)) {
            refuse!(
                "the set is never reached: an empty system leads to no state with {}; the queue \
                 has at most {} packets, and the average reaches {}",
                bounds.text(),
                self.discipline.limit,
                averages.last().expect("a level")
            );
        }
        Ok(set)
    }
}

impl Bounds {
    fn text(&self) -> String {
        let shown = [
            self.queue_below.map(|x| format!("queue < {x}")),
            self.queue_at_least.map(|x| format!("queue >= {x}")),
            self.average_below.map(|x| format!("average < {x}")),
            self.average_at_least.map(|x| format!("average >= {x}")),
        ];
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        shown.join(" and ")
    }
}
