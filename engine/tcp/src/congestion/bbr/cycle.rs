//! PROBE_BW: ask for more, drain what that queued, cruise.

use super::{Mode, State, hash};
use crate::congestion::{InFlight, Window};

/// Pacing gains of the phases of PROBE_BW (`bbr_pacing_gain`): ask for more, drain what that queued,
/// cruise. Each lasts about a round trip.
pub(super) const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

impl State {
    /// `bbr_is_next_cycle_phase`.
    pub(super) fn is_phase_over(&self, window: &Window, flight: &InFlight, now_ns: u64) -> bool {
        let elapsed_ns = self.totals.delivered_ns.saturating_sub(self.cycle_since_ns);
        let is_full_length = self.min_rtt_ns.is_some_and(|min_ns| elapsed_ns > min_ns);
        if self.pacing_gain == 1.0 {
            return is_full_length;
        }
        let in_flight = self.at_next_departure(window, flight.before, now_ns);
        if self.pacing_gain > 1.0 {
            let is_reached = in_flight >= self.target(self.pacing_gain);
            return is_full_length && (flight.lost > 0 || is_reached);
        }
        is_full_length || in_flight <= self.target(1.0)
    }

    pub(super) fn advance_phase(&mut self) {
        self.cycle = (self.cycle + 1) % CYCLE.len() as u8;
        self.cycle_since_ns = self.totals.delivered_ns;
    }

    /// Begins PROBE_BW, in any phase but the second (`bbr_reset_probe_bw_mode`).
    pub(super) fn probe_bandwidth(&mut self, now_ns: u64) {
        self.mode = Mode::ProbeBw;
        self.cycle = 7 - (hash(now_ns) % 7) as u8;
        self.advance_phase();
    }

    /// `bbr_reset_mode`.
    pub(super) fn go_on(&mut self, now_ns: u64) {
        if self.is_full {
            self.probe_bandwidth(now_ns);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
