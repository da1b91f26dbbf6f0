//! CUBIC as in Linux (net/ipv4/tcp_cubic.c): RFC 9438 in whole packets. While the window stays the
//! same, the growth is computed at most 32 times a second. Slow start ends by HyStart.
//!
//! Both matter for small windows. Reno's window grows by a packet when 15/8 windows, rounded down,
//! are acknowledged; and it does not grow between two computations.

use super::hystart::HyStart;
use super::{Cause, Growth, Sample};

/// Multiplicative decrease factor, in 1/1024 (`beta`).
const BETA: u32 = 717;

/// Aggressiveness, packets per second cubed (`bic_scale`).
const C: f64 = 0.4;

/// Eighths of a window that are acknowledged until Reno's window grows by one
/// (`beta_scale` = 8 (1 + beta) / 3 (1 - beta)).
const REST: u32 = 15;

/// Time between two computations while the window stays the same, ms (HZ / 32).
const PAUSE_MS: u32 = 31;

/// Most packets that must be acknowledged for one packet of growth before the first loss.
const FIRST_COUNT: u32 = 20;

/// State of CUBIC; starts anew after a time-out (`bictcp_reset`).
#[derive(Clone, Debug)]
pub(crate) enum LinuxCubic {
    /// Slow start.
    Start(HyStart),
    /// Congestion avoidance.
    Avoidance(Avoidance),
}

impl Default for LinuxCubic {
    fn default() -> Self {
        Self::Start(HyStart::default())
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Avoidance {
    /// Window before the last reduction, packets; 0: none (`last_max_cwnd`).
    w_max: u32,
    /// Inflection point of the cubic: window, packets (`bic_origin_point`), and time, ms from the
    /// start of the epoch (`bic_K`).
    origin: u32,
    k_ms: u32,
    /// Start of the epoch, ms, plus one; 0: the epoch begins with the next ACK (`epoch_start`).
    epoch: u32,
    /// Reno's window (`tcp_cwnd`), and packets acknowledged since it grew (`ack_cnt`).
    w_est: u32,
    acknowledged: u32,
    /// Packets to be acknowledged for one packet of growth (`cnt`), and those acknowledged since
    /// the last growth (`snd_cwnd_cnt`).
    count: u32,
    counted: u32,
    /// Window, packets, and time, ms, of the last computation (`last_cwnd`, `last_time`).
    last_cwnd: u32,
    last_ms: u32,
}

impl Growth for LinuxCubic {
    /// `cubictcp_acked`.
    fn ends_slow_start(&mut self, cwnd: f64, ack: &Sample) -> bool {
        let Self::Start(start) = self else {
            return false;
        };
        let ends = start.ends(cwnd, ack);
        if ends {
            *self = Self::Avoidance(Avoidance::default());
        }
        ends
    }

    /// `cubictcp_cong_avoid`.
    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64 {
        let window = (cwnd as u32).max(1);
        let credit = credit as u32;
        let avoidance = self.avoidance();
        avoidance.update(window, credit, ack);
        f64::from(avoidance.count_up(window, credit))
    }

    /// `cubictcp_recalc_ssthresh`.
    fn reduce(&mut self, cwnd: f64, _used: f64, cause: Cause) -> f64 {
        let window = cwnd as u32;
        match cause {
            Cause::TimeOut => *self = Self::default(),
            Cause::Loss | Cause::Mark => self.avoidance().end_epoch(window),
        }
        f64::from(window) * f64::from(BETA) / 1024.0
    }

    /// Leaves the idle time out (`cubictcp_cwnd_event`).
    fn on_idle(&mut self, idle_ns: u64) {
        if let Self::Avoidance(avoidance) = self
            && avoidance.epoch > 0
        {
            avoidance.epoch = avoidance.epoch.wrapping_add(ms(idle_ns)).max(1);
        }
    }
}

impl LinuxCubic {
    fn avoidance(&mut self) -> &mut Avoidance {
        if let Self::Start(_) = self {
            *self = Self::Avoidance(Avoidance::default());
        }
        match self {
            Self::Avoidance(avoidance) => avoidance,
            Self::Start(_) => unreachable!("it was replaced"),
        }
    }
}

fn ms(time_ns: u64) -> u32 {
    (time_ns / 1_000_000) as u32
}

impl Avoidance {
    fn end_epoch(&mut self, window: u32) {
        self.w_max = if window < self.w_max {
            // fast convergence (RFC 9438, section 4.7)
            (u64::from(window) * u64::from(1024 + BETA) / 2048) as u32
        } else {
            window
        };
        (self.epoch, self.counted) = (0, 0);
    }

    /// Computes how many packets must be acknowledged for one packet of growth (`bictcp_update`).
    fn update(&mut self, window: u32, credit: u32, ack: &Sample) {
        self.acknowledged += credit;
        let now_ms = ms(ack.now_ns);
        let since_ms = now_ms.wrapping_sub(self.last_ms);
        if window == self.last_cwnd && since_ms <= PAUSE_MS {
            return;
        }
        if self.epoch == 0 || since_ms > 0 {
            (self.last_cwnd, self.last_ms) = (window, now_ms);
            if self.epoch == 0 {
                self.begin_epoch(window, credit, now_ms);
            }
            self.follow_cubic(window, now_ms, ms(ack.min_rtt_ns));
        }
        self.follow_reno(window);
        // at most half a window of growth in a round trip
        self.count = self.count.max(2);
    }

    fn begin_epoch(&mut self, window: u32, credit: u32, now_ms: u32) {
        self.epoch = now_ms.wrapping_add(1).max(1);
        self.acknowledged = credit;
        self.w_est = window;
        let below = self.w_max.saturating_sub(window);
        self.k_ms = (1e3 * (f64::from(below) / C).cbrt()) as u32;
        self.origin = self.w_max.max(window);
    }

    /// Follows RFC 9438, equation 1, one round trip ahead.
    fn follow_cubic(&mut self, window: u32, now_ms: u32, rtt_ms: u32) {
        let elapsed_ms = now_ms.wrapping_add(1).wrapping_sub(self.epoch);
        let from_bend_s = (f64::from(elapsed_ms) + f64::from(rtt_ms) - f64::from(self.k_ms)) / 1e3;
        let above = (C * from_bend_s.abs().powi(3)) as u32;
        let target = if from_bend_s < 0.0 {
            self.origin.saturating_sub(above)
        } else {
            self.origin.saturating_add(above)
        };
        self.count = if target > window {
            window / (target - window)
        } else {
            window.saturating_mul(100)
        };
        if self.w_max == 0 {
            self.count = self.count.min(FIRST_COUNT);
        }
    }

    /// Grows at least as Reno would with CUBIC's decrease (RFC 9438, section 4.3).
    fn follow_reno(&mut self, window: u32) {
        let needed = (u64::from(window) * u64::from(REST) / 8) as u32;
        while self.acknowledged > needed {
            self.acknowledged -= needed;
            self.w_est += 1;
        }
        if self.w_est > window {
            self.count = self.count.min(window / (self.w_est - window));
        }
    }

    /// Returns the window after an ACK (`tcp_cong_avoid_ai`).
    fn count_up(&mut self, mut window: u32, credit: u32) -> u32 {
        if self.counted >= self.count {
            // these packets were counted for a slower growth
            self.counted = 0;
            window += 1;
        }
        self.counted += credit;
        window += self.counted / self.count;
        self.counted %= self.count;
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reduces a window of `lost_at` packets and lets it grow for `rounds` round trips, with one
    /// ACK for each packet, evenly spaced. Returns the window at the end of each round trip.
    fn grow(lost_at: f64, rtt_ns: u64, rounds: u32) -> Vec<f64> {
        let mut cubic = LinuxCubic::default();
        let mut cwnd = cubic.reduce(lost_at, lost_at, Cause::Loss).floor();
        let mut at_ends = vec![];
        for round in 0..u64::from(rounds) {
            let packets = cwnd as u64;
            for packet in 0..packets {
                let now_ns = round * rtt_ns + packet * rtt_ns / packets;
                cwnd = cubic.grow(cwnd, 1.0, &Sample::of_one(now_ns, rtt_ns, true));
            }
            at_ends.push(cwnd);
        }
        at_ends
    }

    #[test]
    fn large_windows_follow_the_cubic() {
        // from 700 after a loss at 1000, K = cbrt(300 / 0.4) s: W(t) = 0.4 (t - K)^3 + 1000
        let k_s = 750.0_f64.cbrt();
        for (round, cwnd) in grow(1000.0, 100_000_000, 150).iter().enumerate() {
            let elapsed_s = (round + 1) as f64 * 0.1;
            let by_formula = 0.4 * (elapsed_s - k_s).powi(3) + 1000.0;
            assert!(
                (cwnd / by_formula - 1.0).abs() < 0.01,
                "at {elapsed_s} s: {cwnd}, by the formula {by_formula}"
            );
        }
    }

    #[test]
    fn renos_window_grows_when_fifteen_eighths_are_acknowledged() {
        let (mut window, mut grown_after) = (7, vec![]);
        let mut cubic = Avoidance {
            w_est: window,
            ..Avoidance::default()
        };
        for acknowledged in 1..=45 {
            cubic.acknowledged += 1;
            cubic.follow_reno(window);
            if cubic.w_est > window {
                window = cubic.w_est;
                grown_after.push(acknowledged);
            }
        }
        // 7 packets need 13, and the first step one more; then 8 packets need 15, and 9 packets 16
        assert_eq!(grown_after, [14, 29, 45]);
    }

    #[test]
    fn on_short_paths_it_waits_for_a_look() {
        // with a round trip of 1 ms it computes every 32 ms, and then grows by a few packets
        let windows = grow(10.0, 1_000_000, 64);
        let steps = windows.windows(2).filter(|pair| pair[1] > pair[0]).count();
        assert!((2..=6).contains(&steps), "{windows:?}");
    }

    #[test]
    fn a_time_out_forgets_the_window() {
        let mut cubic = LinuxCubic::default();
        cubic.reduce(1000.0, 1000.0, Cause::Loss);
        assert_eq!(cubic.avoidance().w_max, 1000);
        cubic.reduce(800.0, 800.0, Cause::Loss);
        // fast convergence: 800 (1 + 717/1024) / 2
        assert_eq!(cubic.avoidance().w_max, 680);
        assert_eq!(cubic.reduce(100.0, 100.0, Cause::TimeOut).floor(), 70.0);
        assert!(matches!(cubic, LinuxCubic::Start(_)));
    }
}
