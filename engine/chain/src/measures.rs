//! What the steady state says of queue, losses and waits.

use crate::{
    chain::{Chain, Changed},
    filter::Sampling,
};

/// Slots up to which the distribution of waits is followed.
const LONGEST_WAIT: usize = 1_000_000;

/// What becomes of arrivals, packets per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fates {
    /// Packets that arrive.
    pub arrivals: f64,
    /// Dropped by chance.
    pub early: f64,
    /// Dropped because the law leaves no chance.
    pub forced: f64,
    /// Dropped because the buffer is full.
    pub overflow: f64,
    /// Admitted with a mark.
    pub marked: f64,
}

impl Fates {
    /// Packets that are lost, for whatever reason.
    pub fn lost(&self) -> f64 {
        self.early + self.forced + self.overflow
    }
}

/// The measures of a distribution over the states, mostly the steady state.
#[derive(Clone, Debug)]
pub struct Measures {
    /// Probability that k packets wait at the end of a slot.
    pub queue: Vec<f64>,
    /// Probability of each level of the average, at the end of a slot.
    pub average: Vec<f64>,
    /// Probability that the server is busy at the end of a slot.
    pub utilization: f64,
    /// What becomes of arrivals.
    pub fates: Fates,
    /// Packets per slot that are admitted while r packets are in the system, by r.
    pub admitted: Vec<f64>,
}

impl Chain {
    /// The measures of a distribution over the chain's states.
    pub fn measures(&self, probabilities: &[f64]) -> Measures {
        let (sizes, states) = (self.sizes(), self.modulator_states());
        let mut measures = Measures {
            queue: vec![0.0; sizes - 1],
            average: vec![0.0; self.level_count()],
            utilization: 0.0,
            fates: Fates::default(),
            admitted: vec![0.0; sizes],
        };
        let mut changed = Changed::new(states);
        for (level, part) in probabilities.chunks_exact(self.width()).enumerate() {
            for (size, here) in part.chunks_exact(states).enumerate() {
                let probability: f64 = here.iter().sum();
                measures.queue[size.saturating_sub(1)] += probability;
                measures.average[level] += probability;
                if size > 0 {
                    measures.utilization += probability;
                }
                changed.after_service(self, part, size);
                self.judge(level, size, changed.active(), &mut measures);
            }
        }
        measures
    }

    /// Counts `arriving` packets per slot that find the average at `level` and `size` packets.
    fn judge(&self, level: usize, size: usize, arriving: f64, measures: &mut Measures) {
        let judged = match self.sampling {
            Sampling::Arrivals => self.seen(level, size),
            Sampling::Clock => [(level, 1.0), (level, 0.0)],
        };
        let is_full = size + 1 == self.sizes();
        for (level, share) in judged {
            let packets = arriving * share;
            let law = self.levels.law[level];
            let admitted = packets * (1.0 - self.loss(level, size));
            let fates = &mut measures.fates;
            fates.arrivals += packets;
            measures.admitted[size] += admitted;
            fates.forced += packets * law.forced;
            let chance = packets * law.early;
            let rest = packets * (1.0 - law.forced - law.early).max(0.0);
            match (self.discipline.ecn, is_full) {
                (false, _) => fates.early += chance,
                (true, false) => fates.marked += chance,
                (true, true) => fates.overflow += chance,
            }
            if is_full {
                fates.overflow += rest;
            }
        }
    }

    /// The time in the system (slots) of admitted packets under drop from tail: probability of
    /// each number of slots, until less than `rest` is left. `None` beyond a million slots.
    ///
    /// A packet that finds r others stays for r + 1 services, each geometric, the running one
    /// included since it has no memory: a mixture of negative binomial laws.
    pub fn waits(&self, admitted: &[f64], rest: f64) -> Option<Vec<f64>> {
        let total: f64 = admitted.iter().sum();
        let mut left: Vec<f64> = admitted.iter().map(|x| x / total).collect();
        let mut waits = vec![0.0];
        while left.iter().sum::<f64>() > rest {
            waits.push(self.mu * left[0]);
            for r in 0..left.len() {
                let next = left.get(r + 1).copied().unwrap_or(0.0);
                left[r] = self.stay(1) * left[r] + self.mu * next;
            }
            if waits.len() > LONGEST_WAIT {
                return None;
            }
        }
        Some(waits)
    }

    /// Sum and sum of squares of these times, per slot.
    pub fn wait_sums(&self, admitted: &[f64]) -> (f64, f64) {
        let (mut sum, mut square_sum) = (0.0, 0.0);
        for (services, packets) in (1..).map(f64::from).zip(admitted) {
            let mean = services / self.mu;
            let variance = services * (1.0 - self.mu) / (self.mu * self.mu);
            sum += packets * mean;
            square_sum += packets * (variance + mean * mean);
        }
        (sum, square_sum)
    }
}
