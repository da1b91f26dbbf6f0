//! What BBR estimates: the largest rate of late, and how many packets are acknowledged at once.

use super::float::{float, larger, smaller};

/// Rounds in which a rate counts (`bbr_bw_rtts`).
const ROUNDS: u32 = 10;

/// The longest pause between bursts of ACKs that is bridged (`bbr_extra_acked_max_us`).
const LONGEST_PAUSE_S: f64 = 0.1;

/// Packets after which an epoch ends in any case (`bbr_ack_epoch_acked_reset_thresh`).
const LONGEST_EPOCH: u64 = 1 << 20;

/// The largest rate of the last rounds, by three values: the best, the best after it, and the best
/// after that. When the first is too old the second takes its place (K. Nichols' filter; Linux:
/// `lib/win_minmax.c`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LargestRate([(u32, f64); 3]);

impl LargestRate {
    pub fn get(&self) -> f64 {
        self.0[0].1
    }

    pub fn take(&mut self, round: u32, rate: f64) {
        let [best, second, third] = &mut self.0;
        let latest = (round, rate);
        if rate >= best.1 || round - third.0 > ROUNDS {
            self.0 = [latest; 3];
            return;
        }
        if rate >= second.1 {
            (*second, *third) = (latest, latest);
        } else if rate >= third.1 {
            *third = latest;
        }
        let age = round - best.0;
        if age > ROUNDS {
            (*best, *second, *third) = (*second, *third, latest);
            if round - best.0 > ROUNDS {
                (*best, *second) = (*second, *third);
            }
        } else if second.0 == best.0 && age > ROUNDS / 4 {
            // nothing better in a quarter of the time
            (*second, *third) = (latest, latest);
        } else if third.0 == second.0 && age > ROUNDS / 2 {
            *third = latest;
        }
    }
}

/// How many more packets are acknowledged at times than the rate says, because ACKs come in bursts
/// (`bbr_update_ack_aggregation`). The window must allow for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregation {
    since_ns: u64,
    acked: u64,
    /// Largest excess, packets, of the present rounds and of those before.
    excess: [f64; 2],
    present: usize,
    rounds: u8,
}

impl Aggregation {
    pub fn begin(&mut self, now_ns: u64) {
        (self.since_ns, self.acked) = (now_ns, 0);
    }

    /// Takes packets that are acknowledged. A new round has the number of rounds after which a
    /// largest excess is forgotten.
    pub fn update(
        &mut self,
        delivered_ns: u64,
        acked: u32,
        rate: f64,
        window: f64,
        new_round: Option<u8>,
    ) {
        if let Some(forgotten_after) = new_round {
            self.rounds += 1;
            if self.rounds >= forgotten_after {
                self.rounds = 0;
                self.present = 1 - self.present;
                self.excess[self.present] = 0.0;
            }
        }
        let acked = u64::from(acked);
        let elapsed_ns = delivered_ns.saturating_sub(self.since_ns);
        let mut expected = (rate * elapsed_ns as f64 * 1e-9).floor();
        if float(self.acked) <= expected || self.acked + acked >= LONGEST_EPOCH {
            self.begin(delivered_ns);
            expected = 0.0;
        }
        self.acked += acked;
        let excess = smaller(float(self.acked) - expected, window);
        let largest = &mut self.excess[self.present];
        *largest = larger(*largest, excess);
    }

    /// Returns the packets that the window gets more (`bbr_ack_aggregation_cwnd`).
    pub fn packets(&self, rate: f64) -> f64 {
        let excess = larger(self.excess[0], self.excess[1]);
        smaller(excess, (rate * LONGEST_PAUSE_S).floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MS;

    #[test]
    fn the_largest_rate_counts_for_ten_rounds() {
        let mut largest = LargestRate::default();
        largest.take(1, 100.0);
        let after: Vec<f64> = (2..=13)
            .map(|round| {
                largest.take(round, 60.0);
                largest.get()
            })
            .collect();
        assert_eq!(after[..10], [100.0; 10]);
        assert_eq!(after[10..], [60.0; 2]);
        largest.take(14, 80.0);
        assert_eq!(largest.get(), 80.0);
    }

    #[test]
    fn it_is_between_the_last_rate_and_the_largest_of_ten_rounds() {
        let mut largest = LargestRate::default();
        let rates: Vec<f64> = (0..400_u64)
            .map(|round| (crate::congestion::hash(round) % 1000) as f64)
            .collect();
        for (round, rate) in rates.iter().enumerate() {
            largest.take(round as u32, *rate);
            let last = &rates[round.saturating_sub(10)..=round];
            let exact = last.iter().copied().fold(0.0, f64::max);
            assert!((*rate..=exact).contains(&largest.get()), "round {round}");
        }
    }

    #[test]
    fn bursts_of_acks_are_counted_above_the_rate() {
        let mut aggregation = Aggregation::default();
        // ten packets every 10 ms, at a rate of 1000 packets a second
        for burst in 1..=100 {
            aggregation.update(burst * 10 * MS, 10, 1000.0, 1000.0, None);
        }
        assert_eq!(aggregation.packets(1000.0), 10.0);
        // at most what leaves in 100 ms
        assert_eq!(aggregation.packets(50.0), 5.0);
    }
}
