//! Measures of queue, losses and times from the steady state.

use crate::{
    chain::{Chain, Changed},
    filter::Sampling,
};

/// Longest time in a distribution of times, slots.
const LONGEST: usize = 1_000_000;

/// Outcomes of arrivals, packets per slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fates {
    /// Packets that arrive.
    pub arrivals: f64,
    /// Early drops.
    pub early: f64,
    /// Drops because the drop function is 1.
    pub forced: f64,
    /// Drops because the buffer is full.
    pub overflow: f64,
    /// Admitted with a mark.
    pub marked: f64,
}

impl Fates {
    /// Returns the packets that are lost, for any reason.
    pub fn lost(&self) -> f64 {
        self.early + self.forced + self.overflow
    }
}

/// Sums over the times (sojourn times or delays) of the packets served, per slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    /// Sum of the times, slots.
    pub sum: f64,
    /// Sum of their squares, slots^2.
    pub square_sum: f64,
}

impl Sums {
    /// Sums that are not known.
    pub const UNKNOWN: Self = Self {
        sum: f64::NAN,
        square_sum: f64::NAN,
    };

    /// Returns the sums of the delays from those of the sojourn times of `served` packets per slot.
    /// A service is geometric, with mean 1 / mu and second moment (2 - mu) / mu^2, and does not
    /// depend on the sojourn time.
    pub fn with_service(self, served: f64, mu: f64) -> Self {
        Self {
            sum: self.sum + served / mu,
            square_sum: self.square_sum + 2.0 * self.sum / mu + served * (2.0 - mu) / (mu * mu),
        }
    }
}

/// Measures of a distribution over the states, usually of the steady state.
#[derive(Clone, Debug)]
pub struct Measures {
    /// Entry k: probability that k packets wait at the end of a slot.
    pub queue: Vec<f64>,
    /// Probability of each level of the average, at the end of a slot.
    pub average: Vec<f64>,
    /// Probability that the server is busy at the end of a slot.
    pub utilization: f64,
    /// Outcomes of arrivals.
    pub fates: Fates,
    /// Entry r: packets per slot that are admitted while r packets are in the system.
    pub admitted: Vec<f64>,
}

impl Chain {
    /// Returns the measures of a distribution over the chain's states.
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

    /// Counts `arriving` packets per slot that find the average at `level` and `size` packets in
    /// the system.
    fn judge(&self, level: usize, size: usize, arriving: f64, measures: &mut Measures) {
        let judged = match self.sampling {
            Sampling::Arrivals => self.seen(level, size),
            Sampling::Clock => [(level, 1.0), (level, 0.0)],
        };
        let is_full = size + 1 == self.sizes();
        for (level, share) in judged {
            let packets = arriving * share;
            let chances = self.levels.chances(level, size);
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

    /// Returns the distribution of the sojourn times (slots from arrival to start of service) of
    /// admitted packets under drop from tail: the probability of each number of slots, until at
    /// most `rest` is left. `None` if that takes more than a million slots.
    ///
    /// A packet that finds r others is served after r services, the running one included. A
    /// geometric service has no memory, so this is a mixture of negative binomial distributions.
    pub fn sojourns(&self, admitted: &[f64], rest: f64) -> Option<Vec<f64>> {
        self.times(admitted, rest)
    }

    /// Returns the distribution of the delays (slots from arrival to the end of service), as
    /// `sojourns` does; each packet needs one service more.
    pub fn delays(&self, admitted: &[f64], rest: f64) -> Option<Vec<f64>> {
        self.times(&one_more(admitted), rest)
    }

    /// Returns the distribution of the time, in slots, until all services of a packet have ended.
    /// `packets` holds the packets that need r services, by r.
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

    /// Returns the sums of the sojourn times under drop from tail.
    pub fn sojourn_sums(&self, admitted: &[f64]) -> Sums {
        self.sums(admitted)
    }

    /// Returns the sums of the delays under drop from tail.
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

/// Returns the same packets, with one service more for each.
fn one_more(packets: &[f64]) -> Vec<f64> {
    std::iter::once(0.0)
        .chain(packets.iter().copied())
        .collect()
}
