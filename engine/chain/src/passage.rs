//! First passages: the time until the chain reaches a set of states.

use crate::{
    chain::Chain,
    elimination::{inverse, normalise},
    error::{ChainError, refuse},
    set::Set,
    solve::Method,
};

/// The time until a set of states is reached; 0 if the start lies in the set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Mean, slots.
    pub mean: f64,
    /// Variance, slots^2.
    pub variance: f64,
    /// Estimate of the mean's error, slots.
    pub error: f64,
    /// The larger residual of the two solves, relative to their right sides.
    pub residual: f64,
    /// The method that was used.
    pub method: Method,
    /// Sweeps over all levels; 0 for the direct method.
    pub sweeps: usize,
}

impl Chain {
    /// Returns mean and variance of the slots until `set` is reached from the distribution `start`.
    ///
    /// With T the transitions that do not lead into the set, P(time > t) = start T^t 1. So the
    /// visits x = start (I - T)^-1 sum to E[time], and x (I - T)^-1 sums to
    /// E[time (time + 1)] / 2 (Kemeny & Snell 1960, theorem 3.3.3).
    ///
    /// # Errors
    /// As `solve`, and if the mean is beyond 1e200 slots.
    pub fn first_passage(
        &self,
        start: &[f64],
        set: &Set,
        method: Method,
    ) -> Result<Passage, ChainError> {
        let (sizes, states) = (self.sizes(), self.modulator_states());
        let mut outside = start.to_vec();
        for (cell, part) in outside.chunks_exact_mut(states).enumerate() {
            if set.contains(cell / sizes, cell % sizes) {
                part.fill(0.0);
            }
        }
        let mut resolver = self.visits(set, method)?;
        let visits = resolver.solve(&outside)?;
        let mean = visits.x.iter().sum::<f64>();
        // divided by the mean: its square can overflow in the solve
        let shares: Vec<f64> = visits.x.iter().map(|x| x / mean.max(1.0)).collect();
        let weighted = resolver.solve(&shares)?;
        let half = mean.max(1.0) * weighted.x.iter().sum::<f64>();
        Ok(Passage {
            mean,
            variance: 2.0 * half - mean - mean * mean,
            error: visits.error,
            residual: visits.residual.max(weighted.residual),
            method,
            sweeps: visits.sweeps + weighted.sweeps,
        })
    }

    /// Returns the distribution of a start with `queue` packets waiting and the average at
    /// `average` (packets). A packet is in service unless `queue` is 0. The average is spread over
    /// its two neighbours on the grid, so that its mean is kept. The modulator is in its own steady
    /// state. For LPF/ODA, all low arrivals are still missing if `queue` is above 0, and none is
    /// missing if it is 0.
    ///
    /// # Errors
    /// If `queue` is above the limit, or `average` above the highest average that is reached.
    pub fn start(&self, queue: u32, average: f64) -> Result<Vec<f64>, ChainError> {
        let (averages, limit) = (self.averages(), self.discipline.limit);
        let top = *averages.last().expect("a level");
        if queue > limit {
            refuse!("a start with queue = {queue} must have at most {limit} packets, the limit");
        }
        if !(average >= 0.0 && average <= top) {
            refuse!(
                "a start with average = {average} must have one from 0 to {top} packets, the \
                 highest that is reached"
            );
        }
        let level_of = |packets: f64| {
            let after = averages.partition_point(|level| *level <= packets);
            let first = averages.partition_point(|level| *level < packets);
            if queue > 0 { after - 1 } else { first }
        };
        let below = averages[averages.partition_point(|level| *level <= average) - 1];
        let above = averages[averages.partition_point(|level| *level < average)];
        let up = if above > below {
            (average - below) / (above - below)
        } else {
            0.0
        };
        let size = if queue > 0 { queue as usize + 1 } else { 0 };
        let mut start = vec![0.0; self.states()];
        for (packets, share) in [(below, 1.0 - up), (above, up)] {
            let place = self.place(level_of(packets), size);
            for (state, probability) in self.modulator_distribution().iter().enumerate() {
                start[place + state] += share * probability;
            }
        }
        Ok(start)
    }

    /// Returns the modulator's own steady state, from the visits to each state between two visits
    /// to its first one.
    fn modulator_distribution(&self) -> Vec<f64> {
        let states = self.modulator_states();
        let (mut t, mut back) = (vec![0.0; states * states], vec![0.0; states]);
        for change in [true, false]
            .iter()
            .flat_map(|active| self.changes(*active))
        {
            if change.to == 0 {
                back[change.from] += change.probability;
            } else {
                t[change.from * states + change.to] += change.probability;
            }
        }
        inverse(&mut t, &mut back);
        let mut distribution = t[..states].to_vec();
        normalise(&mut distribution);
        distribution
    }
}
