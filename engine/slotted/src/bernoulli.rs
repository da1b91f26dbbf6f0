//! Independent Bernoulli trials, one per slot, drawn for 64 slots at a time.

use rand::Rng;

use sluice_random::Stream;

/// In each slot there is a success with the same probability, independently of other slots.
pub struct BernoulliSlots {
    random: Stream,
    /// Probability in units of 2^-64; `None` for a certain success.
    threshold: Option<u64>,
    /// `successes` holds the slots `base .. base + 64`, lowest bit first.
    base: u64,
    successes: u64,
    /// End of the run: no success is searched beyond it, however rare successes are.
    end: u64,
}

impl BernoulliSlots {
    /// Trials with this `probability`, in [0, 1], in the slots before `end`.
    pub fn new(probability: f64, random: Stream, end: u64) -> Self {
        let threshold = (probability < 1.0).then_some((probability * 2_f64.powi(64)) as u64);
        let mut slots = Self {
            random,
            threshold,
            base: 0,
            successes: 0,
            end,
        };
        slots.successes = slots.draw();
        slots
    }

    /// Returns the first slot with a success, at `slot` or later; if there is none before `end`,
    /// some slot at `end` or later. `slot` must not be less than in the last call.
    #[inline]
    pub fn first_from(&mut self, slot: u64) -> u64 {
        match self.first_drawn(slot) {
            Some(success) => success,
            None => self.first_beyond(slot),
        }
    }

    /// Returns the first success at `slot` or later, if it is among the drawn slots.
    #[inline]
    fn first_drawn(&self, slot: u64) -> Option<u64> {
        let skipped = slot.saturating_sub(self.base);
        if skipped >= 64 {
            return None;
        }
        let left = self.successes & (u64::MAX << skipped);
        (left != 0).then(|| self.base + u64::from(left.trailing_zeros()))
    }

    #[inline(never)]
    fn first_beyond(&mut self, slot: u64) -> u64 {
        if self.threshold == Some(0) {
            // no slot has a success, so `successes` stays 0 for the last block
            self.base = self.end.max(slot) / 64 * 64;
        }
        while self.base + 64 < self.end {
            self.base += 64;
            self.successes = self.draw();
            if let Some(success) = self.first_drawn(slot) {
                return success;
            }
        }
        self.end.max(slot)
    }

    /// Returns the successes in the slots `base .. base + 64`, lowest bit first. `base` is a
    /// multiple of 64, and the last result of `first_from` must have needed these slots.
    #[inline]
    pub fn block(&self, base: u64) -> u64 {
        debug_assert_eq!(self.base, base);
        self.successes
    }

    /// Compares 64 random binary fractions with the threshold. Each random word gives one bit of
    /// all 64 fractions. Stops when every comparison is decided: about 7 words for 64 trials.
    fn draw(&mut self) -> u64 {
        let Some(mut bits) = self.threshold else {
            return u64::MAX;
        };
        let (mut below, mut undecided) = (0, u64::MAX);
        while bits != 0 && undecided != 0 {
            let word = self.random.next_u64();
            if bits >> 63 == 1 {
                below |= undecided & !word;
                undecided &= word;
            } else {
                undecided &= !word;
            }
            bits <<= 1;
        }
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_random::stream;

    const END: u64 = 1 << 40;

    #[test]
    fn the_share_of_successes_is_the_probability() {
        for p in [0.001, 0.25, 0.3, 0.5, 0.9999] {
            let mut slots = BernoulliSlots::new(p, stream(3, "test", 0), END);
            let (n, mut slot, mut successes) = (2_000_000_u64, 0, 0_u64);
            loop {
                slot = slots.first_from(slot) + 1;
                if slot > n {
                    break;
                }
                successes += 1;
            }
            let error = successes as f64 / n as f64 - p;
            assert!(
                error.abs() < 4.0 * (p * (1.0 - p) / n as f64).sqrt(),
                "{p}: {error}"
            );
        }
    }

    #[test]
    fn certain_and_impossible() {
        let mut always = BernoulliSlots::new(1.0, stream(3, "test", 0), END);
        assert_eq!(
            [
                always.first_from(0),
                always.first_from(1),
                always.first_from(200)
            ],
            [0, 1, 200]
        );
        assert_eq!(
            BernoulliSlots::new(0.0, stream(3, "test", 0), END).first_from(5),
            END
        );
    }

    #[test]
    fn what_hardly_ever_happens_is_not_waited_for() {
        let mut rare = BernoulliSlots::new(1e-15, stream(3, "test", 0), 10_000);
        assert_eq!(
            [rare.first_from(0), rare.first_from(10_001)],
            [10_000, 10_001]
        );
        let mut never = BernoulliSlots::new(5e-324, stream(3, "test", 0), 10_000);
        assert_eq!(never.first_from(0), 10_000);
        assert_eq!(never.block(9984), 0);
    }
}
