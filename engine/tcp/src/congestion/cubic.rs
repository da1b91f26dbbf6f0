//! CUBIC's growth and reduction (RFC 9438, without HyStart++), with one choice of Linux: above the
//! window of the last loss Reno's window goes on growing at the same rate (RFC 8312, section 4.2).
//! RFC 9438, section 4.3, suggests one packet a round trip there.

use super::{Cause, Growth, Sample};
use crate::deadline::Deadline;

/// Multiplicative decrease factor (RFC 9438, section 4.6).
const BETA: f64 = 0.7;

/// Aggressiveness, packets per second cubed (RFC 9438, section 5.1).
const C: f64 = 0.4;

/// Growth of the window that Reno would have with CUBIC's decrease (RFC 9438, section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Clone, Debug, Default)]
pub(crate) struct Cubic {
    /// Window before the last reduction, packets; 0: start from the present window.
    w_max: f64,
    /// Reno's window, packets.
    w_est: f64,
    /// Time from the start of the epoch to `w_max`, seconds.
    k_s: f64,
    /// When congestion avoidance began.
    epoch: Deadline,
}

impl Growth for Cubic {
    /// RFC 9438, sections 4.2 to 4.5, which assume one ACK for each packet.
    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64 {
        let epoch_ns = match self.epoch.get() {
            Some(epoch_ns) => epoch_ns,
            None => self.begin_epoch(cwnd, ack.now_ns),
        };
        let elapsed_s = (ack.now_ns - epoch_ns) as f64 * 1e-9;
        self.w_est += ALPHA * f64::from(ack.delivered) / cwnd;
        if self.w_cubic(elapsed_s) < self.w_est {
            return self.w_est.max(cwnd);
        }
        let target = self.w_cubic(elapsed_s + ack.srtt_ns as f64 * 1e-9);
        let step = (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd;
        cwnd + step * credit.min(cwnd)
    }

    /// RFC 9438, section 4.6.
    fn reduce(&mut self, cwnd: f64, used: f64, cause: Cause) -> f64 {
        self.w_max = match cause {
            // Section 4.8: growth starts from the window at that time.
            Cause::TimeOut => 0.0,
            // Section 4.7: fast convergence.
            Cause::Loss | Cause::Mark if cwnd < self.w_max => cwnd * (1.0 + BETA) / 2.0,
            Cause::Loss | Cause::Mark => cwnd,
        };
        self.epoch = Deadline::NONE;
        used * BETA
    }

    /// Leaves the idle time out (RFC 9438, section 5.8).
    fn on_idle(&mut self, idle_ns: u64) {
        if let Some(epoch_ns) = self.epoch.get() {
            self.epoch = Deadline::at(epoch_ns + idle_ns);
        }
    }
}

impl Cubic {
    fn begin_epoch(&mut self, cwnd: f64, now_ns: u64) -> u64 {
        self.w_max = self.w_max.max(cwnd);
        self.k_s = ((self.w_max - cwnd) / C).cbrt();
        self.w_est = cwnd;
        self.epoch = Deadline::at(now_ns);
        now_ns
    }

    /// RFC 9438, equation 1, packets.
    fn w_cubic(&self, elapsed_s: f64) -> f64 {
        let from_max_s = elapsed_s - self.k_s;
        C * from_max_s * from_max_s * from_max_s + self.w_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of one packet.
    fn ack_at(now_ns: u64, srtt_ns: u64) -> Sample {
        Sample::of_one(now_ns, srtt_ns, false)
    }

    /// Lets a window grow from `reduced` packets, with one ACK for each packet. Returns the window
    /// at the end of each round trip.
    fn grow(cubic: &mut Cubic, reduced: f64, rtt_ns: u64, rounds: u32) -> Vec<f64> {
        let mut cwnd = reduced;
        let mut at_ends = vec![];
        for round in 0..u64::from(rounds) {
            let packets = cwnd as u64;
            for packet in 0..packets {
                let now_ns = round * rtt_ns + packet * rtt_ns / packets;
                cwnd = cubic.grow(cwnd, 1.0, &ack_at(now_ns, rtt_ns));
            }
            at_ends.push(cwnd);
        }
        at_ends
    }

    #[test]
    fn the_window_follows_the_cubic() {
        // RFC 9438, section 4.2: from 700 after a loss at 1000, K = cbrt(300 / 0.4) = 9.0856 s;
        // W(t) = 0.4 (t - K)^3 + 1000, concave up to K and convex after.
        let mut cubic = Cubic::default();
        cubic.reduce(1000.0, 1000.0, Cause::Loss);
        let windows = grow(&mut cubic, 700.0, 100_000_000, 150);
        let k_s = 750.0_f64.cbrt();
        assert!((k_s - 9.0856).abs() < 1e-4);
        for (round, cwnd) in windows.iter().enumerate() {
            let elapsed_s = (round + 1) as f64 * 0.1;
            let by_formula = 0.4 * (elapsed_s - k_s).powi(3) + 1000.0;
            // The target lies a round trip ahead and each ACK goes 1/cwnd of the way to it.
            assert!(
                (cwnd / by_formula - 1.0).abs() < 0.01,
                "at {elapsed_s} s: {cwnd}, by the formula {by_formula}"
            );
        }
    }

    #[test]
    fn on_short_paths_it_grows_as_reno_would() {
        // Section 4.3: with RTT 1 ms from 7 packets after a loss at 10 the cubic hardly moves; per
        // round trip W_est gains alpha = 3 * 0.3 / 1.7 = 0.529, also beyond 10.
        let mut cubic = Cubic::default();
        cubic.reduce(10.0, 10.0, Cause::Loss);
        let windows = grow(&mut cubic, 7.0, 1_000_000, 20);
        assert!(
            (windows[4] - (7.0 + 5.0 * 0.529)).abs() < 0.3,
            "{windows:?}"
        );
        let beyond = windows[19] - windows[9];
        assert!((beyond - 10.0 * 0.529).abs() < 0.4, "{windows:?}");
    }

    #[test]
    fn a_flow_that_shrinks_lets_go_of_its_share() {
        // Section 4.7: a loss at 80 after one at 100 sets W_max to 80 * 1.7 / 2 = 68.
        let mut cubic = Cubic::default();
        cubic.reduce(100.0, 100.0, Cause::Loss);
        assert_eq!(cubic.w_max, 100.0);
        cubic.reduce(80.0, 80.0, Cause::Mark);
        assert!((cubic.w_max - 68.0).abs() < 1e-12);
        cubic.reduce(90.0, 90.0, Cause::Loss);
        assert_eq!(cubic.w_max, 90.0);
    }

    #[test]
    fn after_a_time_out_it_starts_from_where_it_is() {
        // Section 4.8: K = 0 and W_max is the window at that time.
        let mut cubic = Cubic::default();
        cubic.reduce(1000.0, 1000.0, Cause::Loss);
        cubic.reduce(500.0, 500.0, Cause::TimeOut);
        cubic.grow(350.0, 1.0, &ack_at(7_000_000_000, 100_000_000));
        assert_eq!((cubic.k_s, cubic.w_max), (0.0, 350.0));
    }
}
