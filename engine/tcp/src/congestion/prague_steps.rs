//! How Prague's window follows the fractional one as in Linux: by one packet with each ACK, and only a
//! step down lowers the threshold of slow start (`prague_update_cwnd`). So a mark or a loss in slow
//! start takes its share, but slow start goes on with each ACK of a packet without a mark, and ends at
//! the first step down: with an ACK of marked packets only, in loss recovery, or while the window is
//! not used. Nor does a time-out lower the threshold.

use super::{LEAST_WINDOW, State, Version, Window};

/// How the window follows the fractional one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Not as in Linux: a reduction sets the threshold, too, and so ends slow start.
    Simple,
    /// Up to the next whole number (`frac_cwnd`). Slow start forgets the fraction, and with it what
    /// marks have taken.
    Fraction,
    /// By a packet when the fraction carries one up or down (`cwnd_cnt`, module versions 0.5 and
    /// 0.6). Slow start leaves the fraction, and with it what marks have taken.
    Carry,
}

impl<V: Version> State<V> {
    /// Ends an ACK of so many packets without a mark.
    pub(super) fn follow(&mut self, window: &mut Window, unmarked: u32) {
        let mut unmarked = f64::from(unmarked);
        if unmarked > 0.0 && !self.recovers {
            if window.cwnd < window.ssthresh {
                let grown = unmarked.min(window.ssthresh - window.cwnd);
                window.cwnd += grown;
                self.window = match V::STEPS {
                    Steps::Carry => self.window + grown,
                    _ => window.cwnd,
                };
                unmarked -= grown;
                if unmarked == 0.0 {
                    return;
                }
            }
            self.climb(window, unmarked, window.cwnd);
        }
        self.step(window);
    }

    fn step(&mut self, window: &mut Window) {
        let (target, fraction) = match V::STEPS {
            Steps::Carry => (window.cwnd, self.window - window.cwnd),
            _ => (self.window.ceil().max(LEAST_WINDOW), 0.0),
        };
        if target < window.cwnd || fraction <= -1.0 {
            window.cwnd -= 1.0;
            if window.cwnd < LEAST_WINDOW {
                (window.cwnd, self.window) = (LEAST_WINDOW, LEAST_WINDOW);
            }
            window.ssthresh = window.cwnd;
        } else if target > window.cwnd || fraction >= 1.0 {
            window.cwnd += 1.0;
        }
    }

    /// A loss that a probe has repaired counts as a mark: it begins the state CWR, which ends at once
    /// (`tcp_process_tlp_ack`).
    pub(super) fn answer_repair(&mut self, window: &mut Window, now_ns: u64) {
        let is_repaired = std::mem::take(&mut self.is_repaired);
        if is_repaired && !self.is_in_cwr() && !self.waits(window, now_ns, self.reduced_ns) {
            self.reduce(window, 1.0 - self.share() / 2.0);
            self.reduced_ns = now_ns;
        }
    }

    /// Continues after an idle time with at most so many packets; what is to be taken of a window with
    /// a carry stays (`tcp_cwnd_restart`).
    pub(super) fn restart(&mut self, window: &mut Window, most: f64) {
        let carry = match V::STEPS {
            Steps::Carry => self.window - window.cwnd,
            _ => 0.0,
        };
        window.cwnd = window.cwnd.min(most);
        self.window = window.cwnd + carry;
    }

    /// A time-out begins, which is a loss unless an earlier one covers it, or marks: in the state CWR
    /// it is none (`tcp_enter_loss`, `prague_enter_loss`). So many packets are in flight.
    pub(super) fn time_out(&mut self, window: &mut Window, is_new: bool, in_flight: u32) {
        self.carry_before = self.window - window.cwnd;
        if is_new && (V::STEPS == Steps::Simple || !self.is_in_cwr()) {
            self.lose(window);
        }
        let cwnd = f64::from(in_flight) + 1.0;
        self.window = match V::STEPS {
            Steps::Simple => cwnd,
            Steps::Fraction => self.window,
            Steps::Carry => self.window + cwnd - window.cwnd,
        };
        window.cwnd = cwnd;
    }

    /// Takes the last time-out back (`prague_cwnd_undo`): what is still to be taken of a window with a
    /// carry is taken twice, as in Linux.
    pub(super) fn undo(&mut self, window: &mut Window) {
        let carry = self.window - window.cwnd;
        window.undo();
        self.recovers = false;
        self.window = match V::STEPS {
            Steps::Carry => window.cwnd + 2.0 * carry - self.carry_before,
            _ => window.cwnd,
        };
    }
}

#[cfg(test)]
#[path = "prague_steps_tests.rs"]
mod tests;
