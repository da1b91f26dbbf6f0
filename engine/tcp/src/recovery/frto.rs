//! F-RTO: whether a time-out was needless (RFC 5682, section 3.1), as Linux has it
//! (`tcp_process_loss`).
//!
//! After a time-out the first packet goes once more. An ACK that then moves on does not yet let the
//! others go again: new packets go first. If a packet from before the time-out arrives that was sent
//! once only, the time-out is taken back; if new ones arrive, and those before them do not, these
//! are lost.

use super::rack::Arrivals;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frto {
    /// The last time-out is in question.
    is_open: bool,
    /// The ACK in hand lets new packets go, and none again.
    sends_new: bool,
    /// Window and threshold before it, if it lowered them.
    before: Option<(f64, f64)>,
}

/// What Linux takes for the threshold where it could still grow, as a share of the window
/// (`tcp_current_ssthresh`).
const CURRENT_SHARE: f64 = 0.75;

impl Sender {
    /// The timer ran out, and the window is as it was; `lowers` says whether the threshold becomes
    /// lower by it. In a recovery that goes on it is not in question, unless it is the same packet's
    /// again (RFC 5682, section 3.1, step 1).
    pub(crate) fn question_time_out(&mut self, lowers: bool) {
        let begins = matches!(self.phase, Phase::Open | Phase::Marked);
        let repeats = self.una < self.timed_out;
        let (cwnd, ssthresh) = (self.window.cwnd, self.window.ssthresh);
        let frto = &mut self.rack().frto;
        frto.is_open = begins || repeats;
        frto.sends_new = false;
        if lowers {
            frto.before = Some((cwnd, ssthresh.max(CURRENT_SHARE * cwnd)));
        } else if begins {
            frto.before = None;
        }
    }

    /// Takes an ACK while a time-out is in question, before the position moves (steps 2 and 3).
    pub(crate) fn answer_time_out(&mut self, ack: &Ack, arrivals: &Arrivals, echo: bool) {
        let has_sent_new = self.max > self.recover;
        let is_partial = arrivals.advances && ack.next < self.recover;
        let frto = &mut self.rack().frto;
        if echo {
            frto.before = None;
        }
        if !frto.is_open {
            return;
        }
        if arrivals.original {
            frto.is_open = false;
            self.take_back();
        } else if has_sent_new {
            frto.is_open = !arrivals.out_of_order;
        } else {
            frto.sends_new = is_partial;
        }
    }

    /// Whether an ACK lets new packets go, and none again (step 2b).
    pub(crate) fn sends_new_first(&mut self) -> bool {
        let goes_on = self.phase == Phase::TimedOut;
        std::mem::take(&mut self.rack().frto.sends_new) && goes_on
    }

    /// No new packet could go: the usual way.
    pub(crate) fn ends_question(&mut self) {
        self.rack().frto.is_open = false;
    }

    /// The time-out was needless: nothing is lost, and the window is what it was.
    fn take_back(&mut self) {
        self.phase = Phase::Open;
        self.recover = 0;
        let rack = self.rack();
        rack.flight.lose_none();
        if let Some((cwnd, ssthresh)) = rack.frto.before.take() {
            self.window.cwnd = self.window.cwnd.max(cwnd);
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
        }
    }
}
