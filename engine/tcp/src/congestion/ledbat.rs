//! LEDBAT: keeps a queue of 100 ms at most, and gives way to others (RFC 6817). It takes round-trip
//! times, where the RFC has one-way delays: a queue on the way back counts, too.

use std::collections::VecDeque;

use super::{Cause, Growth, Sample};
use crate::config::{MS, SECOND};

/// Queueing delay that it aims at (RFC 6817, section 2.5: TARGET, at most 100 ms).
const TARGET_NS: u64 = 100 * MS;

/// Packets a round trip by which the window grows at most (GAIN).
const GAIN: f64 = 1.0;

/// Least window, packets (MIN_CWND), and how far it may exceed what was in flight
/// (ALLOWED_INCREASE).
const LEAST_WINDOW: f64 = 2.0;
const ALLOWED_INCREASE: f64 = 1.0;

/// The delay is the least of so many samples (CURRENT_FILTER); the path without a queue has the
/// least delay of so many minutes (BASE_HISTORY).
const CURRENT_SAMPLES: usize = 4;
const BASE_MINUTES: usize = 10;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledbat(Box<Delays>);

#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    /// Least delay of each of the last minutes, the present one last, ns, and when it began.
    base_ns: VecDeque<u64>,
    minute_ns: u64,
    current_ns: VecDeque<u64>,
}

impl Growth for Ledbat {
    /// There is no slow start (section 2.4.2 begins with the growth law).
    fn ends_slow_start(&mut self, _cwnd: f64, ack: &Sample) -> bool {
        self.0.take(ack.now_ns, ack.rtt_ns);
        true
    }

    /// Section 2.4.2.
    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64 {
        self.0.take(ack.now_ns, ack.rtt_ns);
        let off_target = 1.0 - self.0.queueing_ns() as f64 / TARGET_NS as f64;
        let grown = cwnd + GAIN * off_target * credit / cwnd;
        let in_flight = ack.flight.map_or(cwnd, |flight| f64::from(flight.before));
        grown.min(in_flight + ALLOWED_INCREASE).max(LEAST_WINDOW)
    }

    /// Section 2.4.2: half, once a round trip.
    fn reduce(&mut self, cwnd: f64, _used: f64, _cause: Cause) -> f64 {
        (cwnd / 2.0).max(LEAST_WINDOW)
    }
}

impl Delays {
    /// Takes the round-trip time of an ACK.
    pub(super) fn take(&mut self, now_ns: u64, rtt_ns: u64) {
        if self.base_ns.is_empty() || now_ns >= self.minute_ns + 60 * SECOND {
            self.minute_ns = now_ns;
            self.base_ns.push_back(rtt_ns);
            if self.base_ns.len() > BASE_MINUTES {
                self.base_ns.pop_front();
            }
        }
        if let Some(least) = self.base_ns.back_mut() {
            *least = rtt_ns.min(*least);
        }
        self.current_ns.push_back(rtt_ns);
        if self.current_ns.len() > CURRENT_SAMPLES {
            self.current_ns.pop_front();
        }
    }

    /// Returns the delay of the path without a queue.
    pub(super) fn base_ns(&self) -> u64 {
        least(&self.base_ns)
    }

    /// Returns the delay that the queue adds now.
    pub(super) fn queueing_ns(&self) -> u64 {
        least(&self.current_ns).saturating_sub(self.base_ns())
    }
}

fn least(of: &VecDeque<u64>) -> u64 {
    of.iter().copied().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Ledbat;
    use crate::config::{MS, SECOND};
    use crate::congestion::path::Path;
    use crate::congestion::signals::InFlight;
    use crate::congestion::{CongestionControl, Growth, Sample, hash};
    use crate::sender::GREEDY;
    use crate::sender::Phase;

    /// The pseudocode of RFC 6817, section 2.4.2, for packets in place of bytes.
    #[derive(Default)]
    struct Pseudocode {
        current_delays: Vec<f64>,
        base_delays: Vec<f64>,
        last_rollover: u64,
    }

    impl Pseudocode {
        fn on_acknowledgement(&mut self, cwnd: f64, newly_acked: f64, ack: &Sample) -> f64 {
            let delay = ack.rtt_ns as f64;
            if self.base_delays.is_empty() || ack.now_ns - self.last_rollover >= 60 * SECOND {
                self.last_rollover = ack.now_ns;
                self.base_delays.push(delay);
            }
            let minute = self.base_delays.last_mut().unwrap();
            *minute = minute.min(delay);
            self.current_delays.push(delay);
            let least = |all: &[f64], last: usize| {
                let from = all.len().saturating_sub(last);
                all[from..].iter().copied().fold(f64::MAX, f64::min)
            };
            let queuing_delay = least(&self.current_delays, 4) - least(&self.base_delays, 10);
            let target = 100e6;
            let off_target = (target - queuing_delay) / target;
            let grown = cwnd + 1.0 * off_target * newly_acked / cwnd;
            let flightsize = f64::from(ack.flight.unwrap().before);
            grown.min(flightsize + 1.0).max(2.0)
        }
    }

    fn acknowledged(now_ns: u64, rtt_ns: u64, before: u32) -> Sample {
        Sample {
            now_ns,
            srtt_ns: rtt_ns,
            min_rtt_ns: rtt_ns,
            rtt_ns,
            delivered: 1,
            next: 0,
            sent: 0,
            grows: true,
            refills: false,
            echo: false,
            ce: 0,
            phase: Phase::Open,
            whole: false,
            flight: Some(InFlight {
                before,
                ..InFlight::default()
            }),
        }
    }

    #[test]
    fn it_is_the_pseudocode_of_the_rfc() {
        let (mut ledbat, mut pseudocode) = (Ledbat::default(), Pseudocode::default());
        let (mut cwnd, mut shrank, mut held) = (10.0_f64, 0, 0);
        let mut now_ns = 0;
        for step in 0..20_000 {
            // 16 minutes, with a queue of up to 300 ms and a path that grows longer after five
            now_ns += 50 * MS - hash(step) % (4 * MS);
            let path_ns = if now_ns < 300 * SECOND { 40 } else { 90 } * MS;
            let packets = (hash(step + 1) % 5) as f64;
            let before = (cwnd as u32).saturating_sub((hash(step + 2) % 3) as u32);
            let rtt_ns = path_ns + hash(step / 40) % (300 * MS);
            let ack = acknowledged(now_ns, rtt_ns, before);
            let expected = pseudocode.on_acknowledgement(cwnd, packets, &ack);
            shrank += u32::from(expected < cwnd);
            held += u32::from(expected == f64::from(before) + 1.0);
            cwnd = ledbat.grow(cwnd, packets, &ack);
            assert!((cwnd - expected).abs() < 1e-9, "{step}: {cwnd} {expected}");
        }
        assert!(shrank > 500 && held > 500, "{shrank} {held}");
    }

    fn path() -> Path {
        Path::new(CongestionControl::Ledbat, GREEDY, &[], |_| {})
    }

    #[test]
    fn alone_it_holds_a_queue_of_the_target() {
        // 1000 packets per second: 100 ms are 100 packets, beside the 100 that fill the path
        let mut path = path();
        path.run(200 * SECOND);
        let (mut least, mut most) = (u64::MAX, 0);
        path.watch(260 * SECOND, |path| {
            (least, most) = (least.min(path.queue()), most.max(path.queue()));
        });
        assert!(least >= 90 && most <= 105, "{least} {most}");
    }

    #[test]
    fn it_grows_by_a_packet_a_round_trip_at_most() {
        let mut path = path();
        path.run(5 * SECOND);
        let before = path.sender.cwnd();
        path.run(7 * SECOND);
        let grown = path.sender.cwnd() - before;
        assert!((15.0..=20.5).contains(&grown), "{grown}");
    }

    #[test]
    fn where_others_keep_a_longer_queue_it_gives_way() {
        let mut path = path();
        path.run(20 * SECOND);
        // the others' queue: 200 ms
        path.delay_ns += 200 * MS;
        path.run(100 * SECOND);
        assert!(path.sender.cwnd() <= 3.0, "{}", path.sender.cwnd());
        path.delay_ns -= 200 * MS;
        let before = path.sender.cwnd();
        path.run(110 * SECOND);
        assert!(path.sender.cwnd() > before + 30.0);
    }
}
