//! F-RTO: finds spurious time-outs (RFC 5682, section 3.1), as in Linux (`tcp_process_loss`).
//!
//! After a time-out the first packet is sent again. When an ACK then advances, new packets are sent
//! before the other old ones are sent again. If a packet arrives that was sent before the time-out
//! and only once, the time-out was spurious and is undone. If new packets arrive and the ones
//! before them do not, those are lost.

use super::rack::Arrivals;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frto {
    /// It is not yet known whether the last time-out was spurious.
    is_open: bool,
    /// The present ACK allows new packets, and no retransmissions.
    sends_new: bool,
    /// Window and threshold before the time-out, packets, if it lowered them.
    before: Option<(f64, f64)>,
}

/// Least threshold that Linux assumes while the window could still grow, as a share of the window
/// (`tcp_current_ssthresh`).
const CURRENT_SHARE: f64 = 0.75;

impl Sender {
    /// Called when the timer expired, before the window changes; `lowers` is true if the time-out
    /// lowers the threshold. A time-out during recovery is not questioned, unless the same packet
    /// timed out before (RFC 5682, section 3.1, step 1).
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

    /// Takes an ACK after a time-out, before the position moves (steps 2 and 3).
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

    /// True if an ACK allows new packets, and no retransmissions (step 2b).
    pub(crate) fn sends_new_first(&mut self) -> bool {
        let goes_on = self.phase == Phase::TimedOut;
        std::mem::take(&mut self.rack().frto.sends_new) && goes_on
    }

    /// No new packet could be sent: recovery goes on as usual.
    pub(crate) fn ends_question(&mut self) {
        self.rack().frto.is_open = false;
    }

    /// Undoes a spurious time-out: nothing is lost, and the window is restored.
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
