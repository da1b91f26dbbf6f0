//! The shortest round trip, and PROBE_RTT, which measures it.

use super::{Ack, AckPhase, LEAST_WINDOW, Mode, State};
use crate::config::{MS, SECOND};
use crate::congestion::{Delivery, Window};

/// How long a shortest round-trip time counts (`bbr_min_rtt_win_sec`); after how long without a
/// shorter one PROBE_RTT follows, and how long that lasts (`bbr_probe_rtt_win_ms`,
/// `bbr_probe_rtt_mode_ms`), with half a bandwidth-delay product (`bbr_probe_rtt_cwnd_gain`).
const MIN_RTT_COUNTS_NS: u64 = 10 * SECOND;
const PROBE_RTT_AFTER_NS: u64 = 5 * SECOND;
const PROBE_RTT_NS: u64 = 200 * MS;
const PROBE_RTT_GAIN: f64 = 0.5;

impl State {
    /// `bbr_update_min_rtt`.
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, of: &Ack, delivery: &Delivery) {
        let now_ns = of.now_ns;
        let since_ns = *self.probe_rtt_min_at_ns.get_or_insert(now_ns);
        let is_due = now_ns > since_ns + PROBE_RTT_AFTER_NS;
        if let Some(rtt_ns) = delivery.rtt_ns
            && (is_due || self.probe_rtt_min_ns.is_none_or(|least| rtt_ns < least))
        {
            (self.probe_rtt_min_ns, self.probe_rtt_min_at_ns) = (Some(rtt_ns), Some(now_ns));
        }
        let is_old = now_ns > *self.min_rtt_at_ns.get_or_insert(now_ns) + MIN_RTT_COUNTS_NS;
        if let Some(rtt_ns) = self.probe_rtt_min_ns
            && (is_old || self.min_rtt_ns.is_none_or(|least| rtt_ns <= least))
        {
            (self.min_rtt_ns, self.min_rtt_at_ns) = (Some(rtt_ns), self.probe_rtt_min_at_ns);
        }
        if is_due && !self.restarts && self.mode != Mode::ProbeRtt {
            self.remember(window.cwnd);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until_ns = None;
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
        if self.probe_rtt_until_ns.is_none() {
            if f64::from(of.flight.now) <= self.probe_rtt_window() {
                self.probe_rtt_until_ns = Some(of.now_ns + PROBE_RTT_NS);
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
        self.product(self.bounds.rate(), PROBE_RTT_GAIN).max(LEAST_WINDOW)
    }

    /// `bbr_check_probe_rtt_done`, `bbr_exit_probe_rtt`.
    pub(super) fn end_probe_rtt(&mut self, window: &mut Window, now_ns: u64) {
        if self.probe_rtt_until_ns.is_none_or(|until_ns| now_ns <= until_ns) {
            return;
        }
        self.probe_rtt_min_at_ns = Some(now_ns);
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
