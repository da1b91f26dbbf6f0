//! The shortest round trip, and PROBE_RTT, which measures it.

use super::{LEAST_WINDOW, Mode, State};
use crate::config::{MS, SECOND};
use crate::congestion::{Delivery, InFlight, Window};
use crate::timers::{JIFFY_NS, jiffies};

/// How long a shortest round-trip time counts, and how long PROBE_RTT lasts, jiffies
/// (`bbr_min_rtt_win_sec`, `bbr_probe_rtt_mode_ms`).
const MIN_RTT_COUNTS: u64 = 10 * SECOND / JIFFY_NS;
const PROBE_RTT_LASTS: u64 = 200 * MS / JIFFY_NS;

impl State {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(
        &mut self,
        window: &mut Window,
        flight: &InFlight,
        of: &Delivery,
        now_ns: u64,
    ) {
        let now = jiffies(now_ns);
        let since = *self.min_rtt_at.get_or_insert(now);
        let is_old = now > since + MIN_RTT_COUNTS;
        // an equal one does not put PROBE_RTT off (since Linux 5.10)
        if let Some(rtt_ns) = of.rtt_ns
            && (is_old || self.min_rtt_ns.is_none_or(|min_ns| rtt_ns < min_ns))
        {
            (self.min_rtt_ns, self.min_rtt_at) = (Some(rtt_ns), Some(now));
        }
        if is_old && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.remember(window.cwnd);
            self.probe_rtt_until = None;
            self.held_back = (of.delivered, of.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_round_trip(window, flight, of.delivered, now_ns);
        }
    }

    fn probe_round_trip(
        &mut self,
        window: &mut Window,
        flight: &InFlight,
        delivered: u64,
        now_ns: u64,
    ) {
        self.held_back.1 = delivered + u64::from(flight.now);
        if self.probe_rtt_until.is_none() {
            if f64::from(flight.now) <= LEAST_WINDOW {
                self.probe_rtt_until = Some(jiffies(now_ns) + PROBE_RTT_LASTS);
                self.probe_rtt_round_done = false;
                self.round_end = delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_starts;
        if self.probe_rtt_round_done {
            self.end_probe_rtt(window, now_ns);
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn end_probe_rtt(&mut self, window: &mut Window, now_ns: u64) {
        let now = jiffies(now_ns);
        if self.probe_rtt_until.is_some_and(|until| now > until) {
            self.min_rtt_at = Some(now);
            window.cwnd = window.cwnd.max(self.window_before);
            self.go_on(now_ns);
        }
    }
}
