//! HyStart as in Linux's CUBIC (net/ipv4/tcp_cubic.c; S. Ha and I. Rhee, "Taming the elephants: new
//! TCP slow start", Computer Networks 55(9), 2011). Slow start ends before packets are lost: when a
//! train of ACKs is as long as half a round trip, or when the round-trip time has grown.

use super::Sample;

/// Smallest window at which it ends slow start, packets (`hystart_low_window`).
const LEAST_WINDOW: f64 = 16.0;

/// Largest gap between the ACKs of a train, us (`hystart_ack_delta_us`).
const TRAIN_GAP_US: u32 = 2000;

/// What a sender's own bursts may add to a round trip, us (`hystart_ack_delay`).
const BURST_US: u32 = 1000;

/// Round-trip times of a round that are needed before the least of them is compared
/// (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u8 = 8;

/// Growth of the round-trip time that ends slow start, us: an eighth, within these bounds
/// (`HYSTART_DELAY_THRESH`).
const LEAST_GROWTH_US: u32 = 4000;
const MOST_GROWTH_US: u32 = 16000;

/// State of the present round trip. Times are in us and wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HyStart {
    began_us: u32,
    last_us: u32,
    /// The packet whose ACK begins the next round trip (`end_seq`).
    end: u32,
    least_rtt_us: u32,
    samples: u8,
}

impl HyStart {
    /// Takes an ACK in slow start; returns true if slow start ends (`hystart_update`).
    pub fn ends(&mut self, cwnd: f64, ack: &Sample) -> bool {
        let now_us = us(ack.now_ns);
        if ack.next > self.end {
            *self = Self {
                began_us: now_us,
                last_us: now_us,
                end: ack.sent,
                least_rtt_us: u32::MAX,
                samples: 0,
            };
        }
        cwnd >= LEAST_WINDOW && (self.is_long_train(now_us, ack) || self.is_delayed(ack))
    }

    fn is_long_train(&mut self, now_us: u32, ack: &Sample) -> bool {
        if now_us.wrapping_sub(self.last_us) > TRAIN_GAP_US {
            return false;
        }
        self.last_us = now_us;
        now_us.wrapping_sub(self.began_us) > us(ack.min_rtt_ns).saturating_add(BURST_US) / 2
    }

    fn is_delayed(&mut self, ack: &Sample) -> bool {
        self.least_rtt_us = self.least_rtt_us.min(us(ack.rtt_ns));
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        let min_rtt_us = us(ack.min_rtt_ns);
        let growth_us = (min_rtt_us / 8).clamp(LEAST_GROWTH_US, MOST_GROWTH_US);
        self.least_rtt_us > min_rtt_us.saturating_add(growth_us)
    }
}

/// Converts a time to us; wraps around after 71 minutes.
fn us(time_ns: u64) -> u32 {
    (time_ns / 1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs rounds of 40 ms, in which ACKs come `gap_us` apart and the round-trip time grows by
    /// `growth_us` each round. Returns the window at which slow start ends.
    fn ends_at(gap_us: u64, growth_us: u64) -> f64 {
        let mut start = HyStart::default();
        let (mut cwnd, mut next) = (10.0, 0);
        for round in 0..8 {
            let sent = next + cwnd as u32;
            for place in 0..cwnd as u64 {
                next += 1;
                let ack = Sample {
                    next,
                    sent: sent + place as u32,
                    rtt_ns: (40_000 + round * growth_us) * 1000,
                    ..Sample::of_one((round * 40_000 + place * gap_us) * 1000, 40_000_000, true)
                };
                if start.ends(cwnd, &ack) {
                    return cwnd;
                }
                cwnd += 1.0;
            }
        }
        f64::INFINITY
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        // every 1 ms: past (40 + 1) / 2 ms comes the 22nd ACK of the round that begins with 40 packets
        assert_eq!(ends_at(1000, 0), 61.0);
        // further apart they are no train
        assert_eq!(ends_at(2100, 0), f64::INFINITY);
    }

    #[test]
    fn round_trips_that_grow_end_slow_start() {
        // by 3 ms a round: more than 40 / 8 ms in the third round, and known with its ninth ACK
        assert_eq!(ends_at(10, 3000), 48.0);
        assert_eq!(ends_at(10, 0), f64::INFINITY);
    }
}
