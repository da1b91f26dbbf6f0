//! What the steady state says of queue, losses and times.

use crate::{
    chain::{Chain, Changed},
    filter::Sampling,
};

/// Slots up to which the distribution of times is followed.
const LONGEST: usize = 1_000_000;

/// What becomes of arrivals, packets per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fates {
    /// Packets that arrive.
    pub arrivals: f64,
    /// Dropped by chance.
    pub early: f64,
    /// Dropped because the drop function leaves no chance.
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

/// Of the packets served in a slot: the sum of their times (slots), and that of the squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// Of the times.
    pub sum: f64,
    /// Of their squares.
    pub square_sum: f64,
}

impl Sums {
    /// What is not known.
    pub const UNKNOWN: Self = Self {
        sum: f64::NAN,
        square_sum: f64::NAN,
    };

    /// Those of the delays, where these are of the sojourn times of `served` packets per slot: a
    /// service is geometric, with mean 1 / mu and second moment (2 - mu) / mu^2, and does not
    /// depend on the sojourn time.
    pub fn with_service(self, served: f64, mu: f64) -> Self {
        Self {
            sum: self.sum + served / mu,
            square_sum: self.square_sum + 2.0 * self.sum / mu + served * (2.0 - mu) / (mu * mu),
        }
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
            let chances = self.levels.chances[level];
            let admitted = packets * (1.0 - self.loss(level, size));
            let fates = &mut measures.fates;
            fates.arrivals += packets;
            measures.admitted[size] += admitted;
            fates.forced += packets * chances.forced;
            let chance = packets * chances.early;
            let rest = packets * (1.0 - chances.forced - chances.early).max(0.0);
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

    /// The sojourn times (slots from arrival to the start of service) of admitted packets under
    /// drop from tail: probability of each number of slots, until less than `rest` is left. `None`
    /// beyond a million slots.
    ///
    /// A packet that finds r others is served after r services, the running one included, since a
    /// geometric service has no memory: a mixture of negative binomial distributions.
    pub fn sojourns(&self, admitted: &[f64], rest: f64) -> Option<Vec<f64>> {
        self.times(admitted, rest)
    }

    /// The delays (slots from arrival to the end of service) likewise: one service more.
    pub fn delays(&self, admitted: &[f64], rest: f64) -> Option<Vec<f64>> {
        self.times(&one_more(admitted), rest)
    }

    /// How long services take of which `packets` need r, by r.
    fn times(&self, packets: &[f64], rest: f64) -> Option<Vec<f64>> {
        let total: f64 = packets.iter().sum();
        let mut left = packets.iter().map(|x| x / total);
        let mut times = vec![left.next().unwrap_or(0.0)];
        let mut left: Vec<f64> = left.collect();
        while left.iter().sum::<f64>() > rest {
            times.push(self.mu * left[0]);
            for r in 0..left.len() {
                let next = left.get(r + 1).copied().unwrap_or(0.0);
                left[r] = self.stay(1) * left[r] + self.mu * next;
            }
            if times.len() > LONGEST {
                return None;
            }
        }
        Some(times)
    }

    /// Sum and sum of squares of the sojourn times, per slot.
    pub fn sojourn_sums(&self, admitted: &[f64]) -> Sums {
        self.sums(admitted)
    }

    /// Sum and sum of squares of the delays, per slot.
    pub fn delay_sums(&self, admitted: &[f64]) -> Sums {
        self.sums(&one_more(admitted))
    }

    fn sums(&self, packets: &[f64]) -> Sums {
        let (mut sum, mut square_sum) = (0.0, 0.0);
        for (services, packets) in (0..).map(f64::from).zip(packets) {
            let mean = services / self.mu;
            let variance = services * (1.0 - self.mu) / (self.mu * self.mu);
            sum += packets * mean;
            square_sum += packets * (variance + mean * mean);
        }
        Sums { sum, square_sum }
    }
}

/// The same packets, each of which needs one service more.
fn one_more(packets: &[f64]) -> Vec<f64> {
    std::iter::once(0.0)
        .chain(packets.iter().copied())
        .collect()
}
