//! Policers, which drop all above a rate: if two intervals in a row lose more than a fifth at about
//! the same rate, BBR takes this rate for 48 rounds (Linux: `bbr_lt_bw_sampling`; "LT", long term).

use crate::config::MS;

/// Rounds of an interval, at least and at most (`bbr_lt_intvl_min_rtts`, and four times as many).
const LEAST_ROUNDS: u8 = 4;
const MOST_ROUNDS: u8 = 16;

/// Losses per packet delivered that are those of a policer (`bbr_lt_loss_thresh`).
const LOSS: f64 = 50.0 / 256.0;

/// Rates are the same if they differ by an eighth, or by 4 kbit/s, at most (`bbr_lt_bw_ratio`,
/// `bbr_lt_bw_diff`), with packets of 1448 bytes.
const RATIO: f64 = 1.0 / 8.0;
const DIFFERENCE_PPS: f64 = 4000.0 / 8.0 / 1448.0;

/// Rounds for which the rate is used (`bbr_lt_bw_max_rtts`).
const USED_ROUNDS: u8 = 48;

/// Packets delivered and lost since the start, and when the last one was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub delivered: u64,
    pub delivered_ns: u64,
    pub lost: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// Rate of the last interval, packets per second; 0: none.
    rate: f64,
    is_used: bool,
    samples: bool,
    rounds: u8,
    since: Totals,
}

impl Policer {
    /// True if there seems to be a policer: its rate is used.
    pub fn is_used(&self) -> bool {
        self.is_used
    }

    /// Returns the rate of the policer.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Forgets all (`bbr_reset_lt_bw_sampling`).
    pub fn stop(&mut self) {
        *self = Self::default();
    }

    /// Counts a round in which the rate is used; returns true if it was the last one.
    pub fn is_over(&mut self) -> bool {
        self.rounds += 1;
        let is_over = self.rounds >= USED_ROUNDS;
        if is_over {
            self.stop();
        }
        is_over
    }

    /// Takes an ACK; returns true if a policer was found.
    pub fn sample(&mut self, now: &Totals, loses: bool, is_limited: bool, new_round: bool) -> bool {
        if !self.samples {
            // the policer's tokens must be used up first
            if !loses {
                return false;
            }
            self.begin(now);
            self.samples = true;
        }
        if is_limited {
            self.stop();
            return false;
        }
        self.rounds += u8::from(new_round);
        if self.rounds < LEAST_ROUNDS {
            return false;
        }
        if self.rounds > MOST_ROUNDS {
            self.stop();
            return false;
        }
        loses && self.end_interval(now)
    }

    fn begin(&mut self, now: &Totals) {
        (self.since, self.rounds) = (*now, 0);
    }

    /// An interval ends with a loss, when the tokens are used up.
    fn end_interval(&mut self, now: &Totals) -> bool {
        let lost = (now.lost - self.since.lost) as f64;
        let delivered = (now.delivered - self.since.delivered) as f64;
        let elapsed_ns = now.delivered_ns.saturating_sub(self.since.delivered_ns);
        if delivered == 0.0 || lost < LOSS * delivered || elapsed_ns < MS {
            return false;
        }
        let rate = delivered * 1e9 / elapsed_ns as f64;
        let difference = (rate - self.rate).abs();
        let is_same = difference <= RATIO * self.rate || difference <= DIFFERENCE_PPS;
        if self.rate > 0.0 && is_same {
            self.rate = (rate + self.rate) / 2.0;
            (self.is_used, self.rounds) = (true, 0);
            return true;
        }
        self.rate = rate;
        self.begin(now);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of 100 ms, each of which delivers `delivered` packets and loses `lost`. Returns the
    /// round in which a policer is found.
    fn found_in(rounds: &[(u64, u64)]) -> Option<usize> {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        rounds.iter().position(|(delivered, lost)| {
            totals.delivered += delivered;
            totals.lost += lost;
            totals.delivered_ns += 100 * MS;
            policer.sample(&totals, *lost > 0, false, true)
        })
    }

    #[test]
    fn two_intervals_with_many_losses_and_the_same_rate_are_a_policers() {
        // an interval begins with the first loss, and ends in its fourth round
        assert_eq!(found_in(&[(100, 30); 20]), Some(8 - 1));
        // a loss below a fifth is none, nor are rates that differ by more than an eighth
        assert_eq!(found_in(&[(100, 19); 20]), None);
        let varies: Vec<_> = (0..40)
            .map(|round| {
                if round / 4 % 2 == 0 {
                    (100, 50)
                } else {
                    (200, 100)
                }
            })
            .collect();
        assert_eq!(found_in(&varies), None);
    }

    #[test]
    fn its_rate_counts_for_48_rounds() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        while !policer.is_used() {
            totals.delivered += 100;
            totals.lost += 30;
            totals.delivered_ns += 100 * MS;
            policer.sample(&totals, true, false, true);
        }
        assert!((policer.rate() - 1000.0).abs() < 1e-9);
        let rounds = (1..).find(|_| policer.is_over());
        assert_eq!((rounds, policer.is_used()), (Some(48), false));
    }
}
