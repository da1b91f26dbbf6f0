//! STARTUP ends when the pipe is full, and DRAIN when the queue is empty.

use super::{Ack, Mode, State, per_second};
use crate::congestion::Window;

/// The pipe is full when the rate has not grown by a quarter in three rounds
/// (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u8 = 3;

impl State {
    /// `bbr_reset_full_bw`.
    pub(super) fn forget_full_rate(&mut self) {
        (self.full_rate, self.full_rounds, self.is_full_now) = (0.0, 0, false);
    }

    /// `bbr_check_full_bw_reached`.
    pub(super) fn check_full(&mut self, of: &Ack) {
        let Some(rate) = &of.rate else { return };
        if self.is_full_now || self.is_limited(rate) {
            return;
        }
        let sample = per_second(rate);
        if sample >= self.full_rate * FULL_GROWTH {
            self.forget_full_rate();
            self.full_rate = sample;
        } else if self.round_starts {
            self.full_rounds += 1;
            self.is_full_now = self.full_rounds >= FULL_ROUNDS;
            self.is_full |= self.is_full_now;
        }
    }

    /// `bbr_check_drain`.
    pub(super) fn check_drain(&mut self, window: &mut Window, of: &Ack) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.target(self.bounds.max_rate());
            self.forget_signals();
        }
        if self.mode == Mode::Drain
            && self.at_next_departure(window, of.flight.now, of.now_ns)
                <= self.target(self.bounds.max_rate())
        {
            self.begin_down(of.now_ns);
        }
    }
}
