//! How many packets may be in flight.

use super::{Ack, Cycle, LEAST_WINDOW, Mode, State};
use crate::congestion::Window;
use crate::congestion::bbr::{FIRST_WINDOW, at_next_departure, kept, product, repairs};

impl State {
    pub(super) fn product(&self, rate: f64, gain: f64) -> f64 {
        product(rate, self.min_rtt_ns, gain)
    }

    /// `bbr_quantization_budget`.
    fn with_ends(&self, packets: f64) -> f64 {
        let least = f64::from(3 * self.burst).max(LEAST_WINDOW);
        let probes = self.mode == Mode::ProbeBw(Cycle::Up);
        packets.max(least) + if probes { 2.0 } else { 0.0 }
    }

    /// `bbr_inflight` with a gain of 1.
    pub(super) fn target(&self, rate: f64) -> f64 {
        self.with_ends(self.product(rate, 1.0))
    }

    /// `bbr_target_inflight`.
    pub(super) fn target_in_flight(&self, window: &Window) -> f64 {
        self.target(self.bounds.rate()).min(window.cwnd)
    }

    /// See [`at_next_departure`].
    pub(super) fn at_next_departure(&self, window: &Window, in_flight: u32, now_ns: u64) -> f64 {
        let burst = (self.pacing_gain > 1.0).then_some(self.burst);
        at_next_departure(in_flight, burst, self.bounds.rate(), window.wait_ns(now_ns))
    }

    /// `bbr_set_cwnd`: losses do not change it, only the bounds that they set.
    pub(super) fn update_window(&mut self, window: &mut Window, of: &Ack) {
        let (rate, acked) = (self.bounds.rate(), f64::from(of.ack.delivered));
        if acked > 0.0 {
            let more = self.aggregation.packets(rate);
            let target = self.with_ends(self.product(rate, self.window_gain) + more);
            if self.is_full {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || window.cwnd < 2.0 * FIRST_WINDOW {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_window());
        }
    }

    /// `bbr_bound_cwnd_for_inflight_model`.
    pub(super) fn bound_window(&self, window: &mut Window) {
        let upper = match self.mode {
            Mode::ProbeRtt | Mode::ProbeBw(Cycle::Cruise) => self.bounds.with_headroom(),
            Mode::ProbeBw(_) => self.bounds.in_flight_high,
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        let bound = upper.min(self.bounds.in_flight_low).max(LEAST_WINDOW);
        window.cwnd = window.cwnd.min(bound);
    }

    /// Keeps the window and the bounds before losses change them (`bbr_ssthresh`).
    pub(super) fn remember(&mut self, window: f64) {
        let is_reduced = repairs(self.phase) || self.mode == Mode::ProbeRtt;
        self.window_before = kept(self.window_before, window, is_reduced);
        self.bounds.remember();
    }
}
