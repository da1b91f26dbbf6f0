//! HyStart++ (RFC 9406): the first slow start goes on at a quarter of its pace when the round-trip
//! time has grown, and ends five rounds later, or goes on in full if the growth was a false alarm.

use super::Sample;
use crate::config::MS;

/// Section 4.3.
const MIN_RTT_THRESH_NS: u64 = 4 * MS;
const MAX_RTT_THRESH_NS: u64 = 16 * MS;
const MIN_RTT_DIVISOR: u64 = 8;
const SAMPLES: u8 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u8 = 5;

/// Most packets by which an ACK lets the window grow if packets are not paced (L).
const MOST_UNPACED: f64 = 8.0;

/// What an ACK lets the window do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// Grow by so many packets.
    Grow(f64),
    /// Slow start is over.
    End,
}

/// Slow start, or conservative slow start (CSS).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HyStartPlus {
    /// The packet whose ACK begins the next round (windowEnd).
    round_end: u32,
    /// Least round-trip times of the last round and of this one, ns, and the samples of this one.
    last_ns: Option<u64>,
    present_ns: Option<u64>,
    samples: u8,
    /// In CSS: the least round-trip time when it began, and the rounds since.
    baseline_ns: Option<u64>,
    rounds: u8,
}

impl HyStartPlus {
    /// Takes an ACK in slow start that counts as `credit` packets (section 4.2).
    pub fn on_ack(&mut self, credit: f64, paces: bool, ack: &Sample) -> Pace {
        if ack.next > self.round_end && self.begins_round(ack.sent) {
            return Pace::End;
        }
        self.present_ns = Some(
            self.present_ns
                .map_or(ack.rtt_ns, |least| least.min(ack.rtt_ns)),
        );
        self.samples = self.samples.saturating_add(1);
        if self.samples >= SAMPLES {
            self.compare();
        }
        let most = if paces { f64::INFINITY } else { MOST_UNPACED };
        let packets = credit.min(most);
        Pace::Grow(if self.baseline_ns.is_some() {
            packets / CSS_GROWTH_DIVISOR
        } else {
            packets
        })
    }

    /// Returns true if CSS has lasted long enough; its first round counts, however short.
    fn begins_round(&mut self, sent: u32) -> bool {
        self.round_end = sent;
        (self.last_ns, self.present_ns, self.samples) = (self.present_ns, None, 0);
        self.rounds += u8::from(self.baseline_ns.is_some());
        self.rounds >= CSS_ROUNDS
    }

    fn compare(&mut self) {
        let Some(present_ns) = self.present_ns else {
            return;
        };
        if let Some(baseline_ns) = self.baseline_ns {
            if present_ns < baseline_ns {
                (self.baseline_ns, self.rounds) = (None, 0);
            }
        } else if let Some(last_ns) = self.last_ns {
            let growth_ns = (last_ns / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH_NS, MAX_RTT_THRESH_NS);
            if present_ns >= last_ns + growth_ns {
                self.baseline_ns = Some(present_ns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of ACKs, one for each packet of the window; `rtt_ms` gives the round-trip time of each
    /// round. Returns the window after each round; it ends when slow start does.
    fn windows(rtts_ms: &[u64]) -> Vec<f64> {
        let mut start = HyStartPlus::default();
        let (mut cwnd, mut next, mut after) = (16.0, 0, vec![]);
        for rtt_ms in rtts_ms {
            let (packets, sent) = (cwnd as u32, next + cwnd as u32);
            for place in 0..packets {
                next += 1;
                let ack = Sample {
                    next,
                    sent: sent + place,
                    rtt_ns: rtt_ms * MS,
                    ..Sample::of_one(0, rtt_ms * MS, false)
                };
                match start.on_ack(1.0, false, &ack) {
                    Pace::Grow(by) => cwnd += by,
                    Pace::End => return after,
                }
            }
            after.push(cwnd);
        }
        after
    }

    #[test]
    fn without_longer_round_trips_it_is_slow_start() {
        assert_eq!(windows(&[40; 5]), [32.0, 64.0, 128.0, 256.0, 512.0]);
        // 5 ms, an eighth of 40, are needed
        assert_eq!(windows(&[40, 44, 48]), [32.0, 64.0, 128.0]);
    }

    #[test]
    fn longer_round_trips_slow_it_down_and_end_it_after_five_rounds() {
        let after = windows(&[40, 40, 46, 46, 46, 46, 46, 46, 46]);
        // known with the eighth ACK of the third round: seven packets count in full, 57 a quarter
        assert_eq!(after[..3], [32.0, 64.0, 64.0 + 7.0 + 57.0 / 4.0]);
        for pair in after[2..].windows(2) {
            assert!((pair[1] / pair[0] - 1.25).abs() < 0.01);
        }
        // the round in which it began is the first of five
        assert_eq!(after.len(), 2 + 5);
    }

    #[test]
    fn a_false_alarm_is_taken_back() {
        let after = windows(&[40, 40, 46, 40, 40]);
        let before = after[2].floor();
        // seven ACKs at a quarter, then in full
        assert!((after[3] - after[2] - (7.0 / 4.0 + before - 7.0)).abs() < 1.01);
        assert!(after[4] / after[3] > 1.95);
    }

    #[test]
    fn an_ack_counts_for_eight_packets_at_most_if_packets_are_not_paced() {
        let ack = Sample::of_one(0, 40 * MS, false);
        let grown = |paces| HyStartPlus::default().on_ack(20.0, paces, &ack);
        assert_eq!(
            (grown(false), grown(true)),
            (Pace::Grow(8.0), Pace::Grow(20.0))
        );
    }

    #[test]
    fn a_sender_leaves_slow_start_before_the_buffer_is_full() {
        use crate::congestion::CongestionControl;
        use crate::congestion::path::Path;
        use crate::sender::GREEDY;
        // 100 packets fill the path, 1000 more may wait: a window of 1280 is too large
        let losses = |hystart_plus| {
            let mut path = Path::new(CongestionControl::Reno, GREEDY, &[], |config| {
                config.hystart_plus = hystart_plus;
            });
            path.limit = 1000;
            path.run(4_000 * MS);
            (path.dropped, path.sender.ssthresh())
        };
        let (without, with) = (losses(false), losses(true));
        assert!(without.0 > 100, "{without:?}");
        assert_eq!(with.0, 0);
        // Packets 310 to 629 leave with a window that grows from 160 to 320. The first of them waits
        // behind a queue that does not empty; the eighth ACK, at a window of 328, shows it. Five
        // rounds at a quarter of the pace follow.
        let most = 328.0 * 1.25_f64.powi(5);
        assert!((320.0..most).contains(&with.1), "{with:?}");
    }
}
