//! How Prague guesses that marks come from a classic queue, and what it takes from the window then
//! (Linux: `prague_classic_ecn_detection`, `prague_rtt_estimator`, `prague_classic_ecn_fallback` in
//! net/ipv4/tcp_prague.c, module version 0.6, L4STeam/linux at 02573a215581; off by default there).
//!
//! A classic queue is longer than one for L4S, and varies more. So a score rises while the round-trip
//! time varies by more than 750 us, or is more than 2 ms above the shortest, and falls else.
//!
//! Linux has whole numbers, and carries what rounding a logarithm leaves to the next one; here the
//! logarithms are exact.
//!
//! That of Linux 5.15 counts shares in 24 bits instead of 20, and still has the logarithms of both
//! thresholds in 20 (L4STeam/linux, issue 38). So they are a sixteenth: 1.5 us and 1.6 us, and every
//! queue counts as classic.

/// Variation and queue at which the score stays, us (`V0_LG`, `D0_LG`).
const VARIATION_US: f64 = 750.0;
const DEPTH_US: f64 = 2000.0;

/// Weights of both (`V`, `D`).
const WEIGHT: f64 = 0.5;

/// Below this score the queue counts as one for L4S, from one more on as classic (`L_STICKY`,
/// `CLASSIC_ECN`); the greatest score is as far from there as the least (`C_STICKY`).
const STICKY: f64 = 8.0;
const GREATEST: f64 = 2.0 * STICKY + 1.0;

/// Least estimate of the marked share in a classic queue, of which half is taken from the window: a
/// little more than CUBIC's 0.3.
const CLASSIC_SHARE: f64 = 0.5 + 0.125;

/// Greatest weight of the past in the mean round-trip time, as a power of 2 (`PRAGUE_MAX_SRTT_BITS`).
const MOST_SHIFT: i32 = 18;

/// The score, and what it follows from.
#[derive(Clone, Debug)]
pub(super) struct ClassicQueue {
    score: f64,
    /// Mean round-trip time, and its mean deviation, us.
    mean_us: Option<f64>,
    deviation_us: f64,
    /// A new round-trip time has the weight of 2 to minus this in the mean, half of it in the
    /// deviation.
    shift: i32,
}

impl Default for ClassicQueue {
    fn default() -> Self {
        Self {
            score: 0.0,
            mean_us: None,
            deviation_us: 1.0,
            shift: MOST_SHIFT,
        }
    }
}

impl ClassicQueue {
    /// Takes the round-trip time of an ACK.
    pub fn sample(&mut self, rtt_ns: u64) {
        let rtt_us = rtt_ns as f64 / 1e3;
        let Some(mean_us) = &mut self.mean_us else {
            self.mean_us = Some(rtt_us);
            return;
        };
        let error_us = rtt_us - *mean_us;
        let weight = 0.5_f64.powi(self.shift);
        *mean_us += weight * error_us;
        self.deviation_us += weight / 2.0 * (error_us.abs() - self.deviation_us);
    }

    /// The window is about to be reduced: the weights follow the threshold, packets, so that means
    /// last for several of the cycles in which windows go up and down.
    pub fn reduce(&mut self, ssthresh: f64) {
        let power = ssthresh.max(1.0).log2().floor();
        self.shift = ((power + (power / 2.0).floor() + 1.0).min(f64::from(MOST_SHIFT))) as i32;
    }

    /// A round is over; the shortest round-trip time is known. The logarithms of both thresholds lack
    /// so many bits.
    pub fn end_round(&mut self, min_rtt_ns: u64, missing_bits: i32) {
        let Some(mean_us) = self.mean_us else { return };
        let above = |us: f64, reference: f64| {
            us.max(1.0).log2() - reference.log2() * 0.5_f64.powi(missing_bits)
        };
        self.score += WEIGHT * above(self.deviation_us, VARIATION_US);
        let depth_us = mean_us - min_rtt_ns as f64 / 1e3;
        self.score += WEIGHT * above(depth_us, DEPTH_US).max(0.0);
        self.score = self.score.clamp(0.0, GREATEST);
    }

    /// Returns the least estimate of the marked share with which the window is reduced.
    pub fn least_share(&self) -> f64 {
        CLASSIC_SHARE * (self.score - STICKY).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the least share after each of 100 rounds of 20 ACKs; the round-trip time goes from
    /// `least_us` to `least_us + swing_us` and back in steps, ten rounds each way.
    fn shares(least_us: u64, swing_us: u64, missing_bits: i32) -> Vec<f64> {
        let mut queue = ClassicQueue::default();
        queue.reduce(64.0);
        assert_eq!(queue.shift, 10);
        (0..100)
            .map(|round: u64| {
                for ack in 0..20 {
                    let place = (round % 20 * 20 + ack).min(400 - (round % 20 * 20 + ack));
                    queue.sample(1000 * (least_us + swing_us * place / 200));
                }
                queue.end_round(1000 * least_us, missing_bits);
                queue.least_share()
            })
            .collect()
    }

    #[test]
    fn a_short_queue_is_none_and_a_long_one_is_found_after_some_rounds() {
        assert!(shares(20_000, 1000, 0).iter().all(|share| *share == 0.0));
        let classic = shares(20_000, 20_000, 0);
        assert_eq!(classic[0], 0.0);
        assert_eq!(classic[99], CLASSIC_SHARE);
        let found = classic.iter().position(|share| *share > 0.0).unwrap();
        assert!((5..90).contains(&found), "{found}");
    }

    #[test]
    fn with_the_thresholds_of_linux_5_15_every_queue_is_one() {
        let classic = shares(20_000, 100, 4);
        let found = classic.iter().position(|share| *share > 0.0).unwrap();
        assert!((2..20).contains(&found), "{found}");
        assert_eq!(classic[99], CLASSIC_SHARE);
    }

    #[test]
    fn the_score_goes_as_worked_out_by_hand() {
        let mut queue = ClassicQueue::default();
        queue.reduce(f64::INFINITY);
        assert_eq!(queue.shift, 18);
        queue.sample(30_000_000);
        queue.deviation_us = 3000.0;
        // lg(3000 / 750) = 2, lg(16000 / 2000) = 3
        queue.end_round(14_000_000, 0);
        assert!((queue.score - 2.5).abs() < 1e-9);
        // a queue below 2 ms takes nothing off
        queue.end_round(29_000_000, 0);
        assert!((queue.score - 3.5).abs() < 1e-9);
        queue.deviation_us = 0.0;
        queue.end_round(29_000_000, 0);
        assert_eq!(queue.score, 0.0);
        queue.score = 8.5;
        assert_eq!(queue.least_share(), 0.3125);
        queue.score = 17.0;
        queue.deviation_us = 3000.0;
        queue.end_round(14_000_000, 0);
        assert_eq!((queue.score, queue.least_share()), (17.0, 0.625));
    }
}
