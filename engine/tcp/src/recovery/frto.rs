//! F-RTO: finds spurious time-outs (RFC 5682, section 3.1), as in Linux (`tcp_process_loss`).
//!
//! After a time-out the first packet is sent again. When an ACK then advances, new packets are sent
//! before the other old ones are sent again. If a packet arrives that was sent before the time-out
//! and only once, the time-out was spurious and is undone. If new packets arrive and the ones
//! before them do not, those are lost.

use super::rack::Arrivals;
use crate::config::Config;
use crate::congestion::Event;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frto {
    /// It is not yet known whether the last time-out was spurious.
    is_open: bool,
    /// The present ACK allows new packets, and no retransmissions.
    sends_new: bool,
    /// The time-out lowered the threshold, and no mark says that this was right.
    can_undo: bool,
}

impl Sender {
    /// Called when the timer expired, before the phase changes; `lowers` is true if the time-out
    /// lowers the threshold. A time-out during recovery is not questioned, unless the same packet
    /// timed out before (RFC 5682, section 3.1, step 1).
    pub(crate) fn question_time_out(&mut self, lowers: bool) {
        let begins = matches!(self.phase, Phase::Open | Phase::Marked);
        let repeats = self.una < self.timed_out;
        let frto = &mut self.rack().frto;
        frto.is_open = begins || repeats;
        frto.sends_new = false;
        if lowers || begins {
            frto.can_undo = lowers;
        }
    }

    /// Takes an ACK after a time-out, before the position moves (steps 2 and 3).
    pub(crate) fn answer_time_out(&mut self, config: &Config, ack: &Ack, arrivals: &Arrivals) {
        let has_sent_new = self.max > self.recover;
        let is_partial = arrivals.advances && ack.next < self.recover;
        let frto = &mut self.rack().frto;
        frto.can_undo &= !(config.ecn && ack.ece);
        if !frto.is_open {
            return;
        }
        if arrivals.original {
            frto.is_open = false;
            self.take_back(config);
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

    /// The packets that the ACK allows wait for their time.
    pub(crate) fn keeps_sending_new(&mut self) {
        self.rack().frto.sends_new = true;
    }

    /// No new packet could be sent: recovery goes on as usual.
    pub(crate) fn ends_question(&mut self) {
        self.rack().frto.is_open = false;
    }

    /// Undoes a spurious time-out: nothing is lost, and the window is restored.
    fn take_back(&mut self, config: &Config) {
        self.phase = Phase::Open;
        self.recover = 0;
        let rack = self.rack();
        rack.flight.lose_none();
        if std::mem::take(&mut rack.frto.can_undo) {
            self.congestion.on_event(config, Event::SpuriousTimeOut);
        }
    }
}
