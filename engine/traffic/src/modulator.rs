//! The self-similar modulator of S. Robert: bursts at several time-scales.

use sluice_random::{Stream, geometric, uniform};

/// Longest mean stay in the slowest state of a modulator, slots: with longer ones, rounding would
/// change the 8th digit of the variance.
const LONGEST_STATE: f64 = 1e9;
/// The least ln q, with which the mean of two states is 1e-26; with the greatest, -`LEAST_LN_Q`, it
/// is 1.
const LEAST_LN_Q: f64 = -60.0;

/// A Markov chain that sends a packet in each slot in state 0. It goes from state 0 to state j with
/// probability a^-j, and from state j to state 0 with probability (q/a)^j. Domanska, Domanski &
/// Czachorski 2008, section III.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modulator {
    /// Above 1; the sum of a^-j must not exceed 1.
    pub a: f64,
    /// Above 0, at most `a`.
    pub q: f64,
    /// At least 2.
    pub states: u32,
}

impl Modulator {
    /// Returns the modulator with this mean and this `a`; q depends only on the mean and on the
    /// number of states.
    ///
    /// # Errors
    /// If a value is out of range, if `a` is too small for this number of states, or so large that
    /// the slowest state would last for more than 10^9 slots.
    pub fn of_mean(mean: f64, a: f64, states: u32) -> Result<Self, String> {
        let modulator = Self {
            a,
            q: Self::q_of_mean(mean, states)?,
            states,
        };
        modulator.check()?;
        let slowest = (a / modulator.q).powi(states as i32 - 1);
        if slowest > LONGEST_STATE * (1.0 + 1e-9) {
            return Err(format!(
                "a = {a} is too large for q = {} and {states} states: the slowest state would last \
                 {slowest:.3e} slots; at most 1e9 are allowed",
                modulator.q
            ));
        }
        Ok(modulator)
    }

    /// Returns the q with this mean: mean = 1 / (1 + q^-1 + ... + q^-(states - 1)).
    ///
    /// # Errors
    /// If a value is out of range.
    pub fn q_of_mean(mean: f64, states: u32) -> Result<f64, String> {
        if states < 2 {
            return Err(format!("states = {states} must be at least 2"));
        }
        if !(mean > 0.0 && mean < 1.0) {
            return Err(format!(
                "mean = {mean} must be above 0 and below 1 (packets per slot)"
            ));
        }
        if mean < 1.0 / LONGEST_STATE {
            return Err(format!(
                "mean = {mean:e} must be at least 1e-09 (packets per slot)"
            ));
        }
        // the sum falls as q grows: bisect until there is no number in between
        let wanted = 1.0 / mean - 1.0;
        let (mut low, mut high) = (LEAST_LN_Q, -LEAST_LN_Q);
        loop {
            let ln_q = f64::midpoint(low, high);
            if ln_q == low || ln_q == high {
                return Ok(ln_q.exp());
            }
            let sum: f64 = (1..states).map(|j| (-f64::from(j) * ln_q).exp()).sum();
            if sum > wanted {
                low = ln_q;
            } else {
                high = ln_q;
            }
        }
    }

    /// Returns the mean number of packets per slot: 1 / (1 + q^-1 + ... + q^-(states - 1)).
    pub fn mean(&self) -> f64 {
        let weights = (0..self.states as i32).map(|j| self.q.powi(-j));
        1.0 / weights.sum::<f64>()
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// If there is no such Markov chain; the error names the parameter.
    pub fn check(&self) -> Result<(), String> {
        let Self { a, q, states } = *self;
        if !(2..=20).contains(&states) {
            return Err(format!("states = {states} must lie between 2 and 20"));
        }
        if !(a > 1.0 && a.is_finite()) {
            return Err(format!("a = {a} must exceed 1"));
        }
        if !(q > 0.0 && q <= a) {
            return Err(format!("q = {q} must be above 0 and at most a = {a}"));
        }
        let leaving: f64 = (1..states as i32).map(|j| a.powi(-j)).sum();
        if leaving > 1.0 + 1e-12 {
            return Err(format!(
                "a = {a} is too small for {states} states: \
                 the probabilities a^-j of leaving state 0 add up to {leaving:.4}, over 1"
            ));
        }
        Ok(())
    }
}

/// Draws the slots in which packets arrive, one stay in a state after the other; stays in all
/// states are geometric.
#[derive(Clone, Debug)]
pub struct ModulatedSlots {
    random: Stream,
    /// P(go from state 0 to one of the states 1 ..= j), by j - 1.
    leave: Vec<f64>,
    /// ln P(stay in state 0).
    ln_stay: f64,
    /// ln P(stay in state j), by j - 1.
    ln_away: Vec<f64>,
    /// The next slot.
    next: u64,
    /// Slots that remain of the stay in state 0.
    run: u64,
}

impl ModulatedSlots {
    /// Starts in state 0.
    pub fn new(modulator: Modulator, mut random: Stream) -> Self {
        let Modulator { a, q, states } = modulator;
        let states = 1..states as i32;
        let leave: Vec<f64> = states
            .clone()
            .scan(0.0, |sum, j| {
                *sum += a.powi(-j);
                Some(*sum)
            })
            .collect();
        let ln_stay = (-leave[leave.len() - 1]).ln_1p();
        let run = geometric(&mut random, ln_stay);
        let ln_away = states.map(|j| (-(q / a).powi(j)).ln_1p()).collect();
        Self {
            random,
            leave,
            ln_stay,
            ln_away,
            next: 0,
            run,
        }
    }

    /// Starts in a state drawn from the stationary distribution, in which state j has the weight
    /// q^-j.
    pub fn stationary(modulator: Modulator, random: Stream) -> Self {
        let mut slots = Self::new(modulator, random);
        let weights = (0..modulator.states as i32).map(|j| modulator.q.powi(-j));
        let mut point = uniform(&mut slots.random) * weights.clone().sum::<f64>();
        let state = weights.take_while(|weight| {
            point -= weight;
            point > 0.0
        });
        if let Some(away) = state.count().min(slots.ln_away.len()).checked_sub(1) {
            // a geometric stay has no memory: the rest of it has the distribution of the whole stay
            slots.next = geometric(&mut slots.random, slots.ln_away[away]);
        }
        slots
    }

    /// Returns the next slot with a packet; slots rise strictly.
    #[inline]
    pub fn next_slot(&mut self) -> u64 {
        if self.run == 0 {
            self.next = self.next.saturating_add(self.away());
            self.run = geometric(&mut self.random, self.ln_stay);
        }
        self.run -= 1;
        let slot = self.next;
        self.next = slot.saturating_add(1);
        slot
    }

    /// Draws the length of one stay outside state 0, slots.
    fn away(&mut self) -> u64 {
        let last = self.leave.len() - 1;
        let point = uniform(&mut self.random) * self.leave[last];
        let state = self
            .leave
            .iter()
            .position(|sum| point <= *sum)
            .unwrap_or(last);
        geometric(&mut self.random, self.ln_away[state])
    }
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;

    use super::*;

    // mean 1 / (1 + sum of q^-j) = 1/2 for q = 1.9276 and 5 states
    const MODULATOR: Modulator = Modulator {
        a: 8.0,
        q: 1.927_562,
        states: 5,
    };

    /// Returns the mean and its standard error.
    fn mean(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, (squares / (count * (count - 1.0))).sqrt())
    }

    #[test]
    fn it_has_its_mean() {
        let (slots, runs) = (2_000_000, 16);
        let share = |k| {
            let mut source = ModulatedSlots::new(MODULATOR, stream(5, "arrivals", k));
            (0..).take_while(|_| source.next_slot() < slots).count() as f64 / slots as f64
        };
        let (mean, error) = mean(&(0..runs).map(share).collect::<Vec<_>>());
        assert!(error < 0.005, "{error}");
        assert!((mean - 0.5).abs() < 4.0 * error, "{mean} +- {error}");
    }

    #[test]
    fn a_stationary_one_has_it_in_every_slot() {
        for slot in [0, 1, 30] {
            let hit = |k| {
                let mut source = ModulatedSlots::stationary(MODULATOR, stream(6, "arrivals", k));
                let first = (0..).map(|_| source.next_slot()).find(|next| *next >= slot);
                f64::from(u8::from(first == Some(slot)))
            };
            let (mean, error) = mean(&(0..20_000).map(hit).collect::<Vec<_>>());
            assert!(error < 0.005, "{slot}: {error}");
            assert!((mean - 0.5).abs() < 4.0 * error, "{slot}: {mean}");
        }
    }

    #[test]
    fn a_mean_fixes_q() {
        for states in [2, 5, 20] {
            for mean in [1e-9, 1e-3, 0.25, 0.5, 0.999_999] {
                let q = Modulator::q_of_mean(mean, states).unwrap();
                let found = Modulator { a: 31.0, q, states }.mean();
                assert!(
                    (found / mean - 1.0).abs() < 1e-12,
                    "{states} {mean}: {found}"
                );
            }
        }
        let words = |mean, a, states| Modulator::of_mean(mean, a, states).unwrap_err();
        assert!(words(0.0, 8.0, 5).starts_with("mean = 0 must be above 0"));
        assert!(words(0.5, 8.0, 21).starts_with("states = 21 must lie"));
        assert!(words(0.1, 1.95, 20).starts_with("a = 1.95 is too small"));
        assert!(words(0.5, 1e9, 5).starts_with("a = 1000000000 is too large"));
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let cases = [
            (
                Modulator {
                    states: 1,
                    ..MODULATOR
                },
                "states = 1 must lie",
            ),
            (
                Modulator {
                    a: 1.0,
                    ..MODULATOR
                },
                "a = 1 must exceed 1",
            ),
            (
                Modulator {
                    q: 9.0,
                    ..MODULATOR
                },
                "q = 9 must be above 0 and at most a = 8",
            ),
            (
                Modulator {
                    a: 1.8,
                    q: 1.0,
                    states: 5,
                },
                "a = 1.8 is too small for 5 states",
            ),
        ];
        assert_eq!(MODULATOR.check(), Ok(()));
        for (modulator, reason) in cases {
            assert!(
                modulator.check().unwrap_err().starts_with(reason),
                "{modulator:?}"
            );
        }
    }
}
