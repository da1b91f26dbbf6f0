//! The shortest round trip, and PROBE_RTT, which measures it.

use super::{Ack, AckPhase, LEAST_WINDOW, Mode, State};
use crate::config::{MS, SECOND};
use crate::congestion::{Delivery, Window};
use crate::timers::{JIFFY_NS, jiffies};

/// How long a shortest round-trip time counts (`bbr_min_rtt_win_sec`); after how long without a
/// shorter one PROBE_RTT follows, and how long that lasts (`bbr_probe_rtt_win_ms`,
/// `bbr_probe_rtt_mode_ms`), with half a bandwidth-delay product (`bbr_probe_rtt_cwnd_gain`). Times
/// are in jiffies, and are over in the one after the last.
const MIN_RTT_COUNTS: u64 = 10 * SECOND / JIFFY_NS;
const PROBE_RTT_AFTER: u64 = 5 * SECOND / JIFFY_NS;
const PROBE_RTT_LASTS: u64 = 200 * MS / JIFFY_NS;
const PROBE_RTT_GAIN: f64 = 0.5;

impl State {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, of: &Ack, delivery: &Delivery) {
        let now = jiffies(of.now_ns);
        let since = *self.probe_rtt_min_at.get_or_insert(now);
        let is_due = now > since + PROBE_RTT_AFTER;
        if let Some(rtt_ns) = delivery.rtt_ns
            && (is_due || self.probe_rtt_min_ns.is_none_or(|least| rtt_ns < least))
        {
            (self.probe_rtt_min_ns, self.probe_rtt_min_at) = (Some(rtt_ns), Some(now));
        }
        let is_old = now > *self.min_rtt_at.get_or_insert(now) + MIN_RTT_COUNTS;
        if let Some(rtt_ns) = self.probe_rtt_min_ns
            && (is_old || self.min_rtt_ns.is_none_or(|least| rtt_ns <= least))
        {
            (self.min_rtt_ns, self.min_rtt_at) = (Some(rtt_ns), self.probe_rtt_min_at);
            self.update_burst();
        }
        if is_due && !self.restarts && self.mode != Mode::ProbeRtt {
            self.remember(window.cwnd);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
            self.ack_phase = AckPhase::Stopping;
            self.round_end = self.delivered;
            self.held_back = (self.delivered, self.delivered);
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_round_trip(window, of);
        }
        if of.rate.is_some_and(|rate| rate.packets > 0) {
            self.restarts = false;
        }
    }

    fn probe_round_trip(&mut self, window: &mut Window, of: &Ack) {
        self.held_back.1 = self.delivered + u64::from(of.flight.now);
        if self.probe_rtt_until.is_none() {
            if f64::from(of.flight.now) <= self.probe_rtt_window() {
                self.probe_rtt_until = Some(jiffies(of.now_ns) + PROBE_RTT_LASTS);
                self.probe_rtt_round_done = false;
                self.round_end = self.delivered;
            }
            return;
        }
        self.probe_rtt_round_done |= self.round_starts;
        if self.probe_rtt_round_done {
            self.end_probe_rtt(window, of.now_ns);
        }
    }

    /// `bbr_probe_rtt_cwnd`.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.product(self.bounds.rate(), PROBE_RTT_GAIN)
            .max(LEAST_WINDOW)
    }

    /// `bbr_check_probe_rtt_done`, `bbr_exit_probe_rtt`.
    pub(super) fn end_probe_rtt(&mut self, window: &mut Window, now_ns: u64) {
        let now = jiffies(now_ns);
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_min_at = Some(now);
        window.cwnd = window.cwnd.max(self.window_before);
        self.bounds.forget_lower();
        if self.is_full {
            self.begin_down(now_ns);
            self.begin_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }
}
