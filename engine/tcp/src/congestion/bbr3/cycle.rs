//! PROBE_BW: go down, cruise, refill the pipe, and probe for more.

use super::{Ack, Mode, State, hash, per_second};
use crate::config::SECOND;
use crate::congestion::Window;
use crate::sender::Phase;

/// After 2 to 3 seconds it probes (`bbr_bw_probe_base_us`, `bbr_bw_probe_rand_us`), and after as
/// many rounds as Reno needs at this bandwidth-delay product to come back from a loss, at most so
/// many (`bbr_bw_probe_max_rounds`), or one less (`bbr_bw_probe_rand_rounds`).
const PROBE_AFTER_NS: u64 = 2 * SECOND;
const PROBE_SPREAD_NS: u64 = SECOND;
const PROBE_AFTER_ROUNDS: f64 = 63.0;

/// After marks alone it probes again at once, first with this share of the upper bound
/// (`bbr_ecn_reprobe_gain`).
const PROBE_AGAIN: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cycle {
    Up,
    Down,
    Cruise,
    Refill,
}

impl Cycle {
    /// Of the pacing rate, in multiples of 1/256 (`bbr_pacing_gain`).
    pub fn gain(self) -> f64 {
        match self {
            Self::Up => 1.25,
            Self::Down => 232.0 / 256.0,
            Self::Cruise | Self::Refill => 1.0,
        }
    }
}

/// What ACKs say of probes (`bbr_ack_phase`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

impl State {
    /// `bbr_is_probing_bandwidth`.
    pub(super) fn is_probing(&self) -> bool {
        matches!(
            self.mode,
            Mode::Startup | Mode::ProbeBw(Cycle::Refill | Cycle::Up)
        )
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle(&mut self, window: &Window, of: &Ack) {
        if !self.is_full || self.adapt_upper(window, of) {
            return;
        }
        let Mode::ProbeBw(cycle) = self.mode else {
            return;
        };
        match cycle {
            Cycle::Cruise => {
                self.probe_if_due(window, of);
            }
            Cycle::Refill => {
                if self.round_starts {
                    self.bounds.probes = true;
                    self.begin_up(window, of);
                }
            }
            Cycle::Up => self.end_up_if_done(window, of),
            Cycle::Down => {
                if !self.probe_if_due(window, of) && self.is_down(window, of) {
                    self.begin_cruise();
                }
            }
        }
    }

    /// `bbr_adapt_upper_bounds`. Returns true if this begins another phase.
    fn adapt_upper(&mut self, window: &Window, of: &Ack) -> bool {
        let probes = matches!(self.mode, Mode::ProbeBw(_));
        let is_limited = of.rate.is_some_and(|rate| self.is_limited(&rate));
        if self.ack_phase == AckPhase::Starting && self.round_starts {
            self.ack_phase = AckPhase::Feedback;
        }
        if self.ack_phase == AckPhase::Stopping && self.round_starts {
            self.bounds.probes = false;
            self.ack_phase = AckPhase::Init;
            if probes && !is_limited {
                self.bounds.forget_rates();
            }
            if probes && self.bounds.stopped_at_risk && !self.bounds.was_too_high {
                self.begin_refill(0);
                return true;
            }
        }
        let Some(rate) = &of.rate else { return false };
        let in_flight = f64::from(rate.in_flight_at_send);
        if self.is_too_high(rate) {
            if self.bounds.probes {
                self.go_lower(window, in_flight, is_limited, of.now_ns);
            }
        } else if self.bounds.in_flight_high.is_finite() {
            self.bounds.in_flight_high = self.bounds.in_flight_high.max(in_flight);
            if self.mode == Mode::ProbeBw(Cycle::Up) && self.is_at_upper(window) {
                self.bounds.raise_upper(of.ack.delivered);
                if self.round_starts {
                    self.bounds.raise_faster(window.cwnd);
                }
            }
        }
        false
    }

    /// True if the upper bound keeps more packets from leaving.
    fn is_at_upper(&self, window: &Window) -> bool {
        self.fills_window && window.cwnd >= self.bounds.in_flight_high
    }

    /// `bbr_check_time_to_probe_bw`.
    fn probe_if_due(&mut self, window: &Window, of: &Ack) -> bool {
        let only_marks = self.marks_in_cycle && !self.loss_in_cycle;
        if self.answers_marks && only_marks && of.ack.phase == Phase::Open {
            let first = (self.bounds.in_flight_high * PROBE_AGAIN).max(1.0);
            self.begin_refill(first.log2().min(30.0) as u32);
            return true;
        }
        let rounds = self.target_in_flight(window).min(PROBE_AFTER_ROUNDS);
        let has_waited = of.now_ns > self.cycle_since_ns + self.probe_wait_ns;
        let is_due = has_waited || f64::from(self.rounds_since_probe) >= rounds;
        if is_due {
            self.begin_refill(0);
        }
        is_due
    }

    /// `bbr_check_time_to_cruise`.
    fn is_down(&self, window: &Window, of: &Ack) -> bool {
        let in_flight = self.at_next_departure(window, of.flight.before, of.now_ns);
        let target = self.target(self.bounds.max_rate());
        in_flight <= self.bounds.with_headroom().min(target)
    }

    fn end_up_if_done(&mut self, window: &Window, of: &Ack) {
        let in_flight = self.at_next_departure(window, of.flight.before, of.now_ns);
        let is_risky = self.bounds.was_too_high && in_flight >= self.bounds.in_flight_high;
        if is_risky {
            self.bounds.stopped_at_risk = true;
        } else if self.is_at_upper(window) {
            self.forget_full_rate();
            self.full_rate = of.rate.as_ref().map_or(0.0, per_second);
        }
        if is_risky || self.is_full_now {
            self.bounds.was_too_high = false;
            self.begin_down(of.now_ns);
        }
    }

    /// `bbr_start_bw_probe_refill`.
    fn begin_refill(&mut self, raise_rounds: u32) {
        self.bounds.forget_lower();
        self.bounds.raise_rounds = raise_rounds;
        self.bounds.raise_acked = 0.0;
        self.bounds.stopped_at_risk = false;
        self.ack_phase = AckPhase::Refilling;
        self.round_end = self.delivered;
        self.mode = Mode::ProbeBw(Cycle::Refill);
    }

    /// `bbr_start_bw_probe_up`.
    fn begin_up(&mut self, window: &Window, of: &Ack) {
        self.ack_phase = AckPhase::Starting;
        self.round_end = self.delivered;
        self.cycle_since_ns = of.now_ns;
        self.forget_full_rate();
        self.full_rate = of.rate.as_ref().map_or(0.0, per_second);
        self.mode = Mode::ProbeBw(Cycle::Up);
        self.bounds.raise_faster(window.cwnd);
    }

    /// `bbr_start_bw_probe_down`.
    pub(super) fn begin_down(&mut self, now_ns: u64) {
        self.forget_signals();
        self.bounds.raise_after = f64::INFINITY;
        let chance = hash(now_ns);
        self.rounds_since_probe = (chance % 2) as u32;
        self.probe_wait_ns = PROBE_AFTER_NS + (chance >> 1) % PROBE_SPREAD_NS;
        self.cycle_since_ns = now_ns;
        self.ack_phase = AckPhase::Stopping;
        self.round_end = self.delivered;
        self.mode = Mode::ProbeBw(Cycle::Down);
    }

    /// `bbr_start_bw_probe_cruise`.
    pub(super) fn begin_cruise(&mut self) {
        let bounds = &mut self.bounds;
        if bounds.in_flight_low.is_finite() {
            bounds.in_flight_low = bounds.in_flight_low.min(bounds.in_flight_high);
        }
        self.mode = Mode::ProbeBw(Cycle::Cruise);
    }
}
