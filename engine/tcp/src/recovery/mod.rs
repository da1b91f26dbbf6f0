//! Loss recovery: which packets are considered lost, and which are sent again.
//!
//! Congestion control (`congestion`) decides how the window grows and shrinks. Each variant is a
//! file; this file holds what they share, from the third duplicate ACK to the end of recovery.

mod delivery;
mod flight;
mod frto;
mod newreno;
mod probe;
mod rack;
mod reno;
mod sack;
mod scoreboard;
mod tahoe;

pub(crate) use rack::{Rack, on_echo, on_more, on_timer, send};
pub(crate) use scoreboard::Scoreboard;

use crate::config::{Config, Variant};
use crate::congestion::Event;
use crate::deadline::Deadline;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Phase, Sender};

/// Duplicate ACKs that count as a loss (RFC 5681, section 3.2).
pub(crate) const DUPLICATE_THRESHOLD: u32 = 3;

/// Processes an ACK of packets that were sent.
#[inline]
pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    match moment.config.variant {
        Variant::Tahoe => tahoe::on_ack(sender, moment, ack),
        Variant::Reno => reno::on_ack(sender, moment, ack),
        Variant::NewReno => newreno::on_ack(sender, moment, ack),
        Variant::Sack => sack::on_ack(sender, moment, ack),
        Variant::Rack => rack::on_ack(sender, moment, ack),
    }
}

/// Sends what may leave now that a packet's time has come (`pacing`).
pub(crate) fn on_release<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    if moment.config.variant == Variant::Rack {
        send(sender, moment);
    } else if moment.config.variant == Variant::Sack && sender.phase == Phase::Recovery {
        sack::send_in_recovery(sender, moment);
    } else if sender.duplicates == 0 || sender.duplicates >= DUPLICATE_THRESHOLD {
        sender.send_window(moment, u32::MAX);
    }
}

impl Sender {
    /// True if an ACK repeats the last one (RFC 5681, section 2).
    pub(crate) fn is_duplicate(&self, ack: &Ack) -> bool {
        ack.next == self.una
    }

    /// True if three duplicate ACKs mean a new loss, not one that the last reduction covers (RFC
    /// 6582, section 3.2, step 2). For the first data packet they always mean a new loss.
    pub(crate) fn is_recovered(&self, config: &Config) -> bool {
        self.una > self.recover || self.una <= u32::from(config.syn)
    }

    /// Reduces the window for a loss reported by duplicate ACKs, unless an ECN echo of the same
    /// window already did so. `begins` if recovery by times begins with it. Returns true if the loss is
    /// new.
    pub(crate) fn enter_recovery(&mut self, config: &Config, begins: bool) -> bool {
        if self.una == self.max {
            return false;
        }
        let marked = self.phase == Phase::Marked && self.una <= self.recover;
        let covered = marked && config.quirks.marks_reduce_by_and_by;
        let reduces = !covered && self.is_recovered(config);
        if reduces {
            self.recover = self.max;
            self.reduced = config.ecn;
        } else if self.phase != Phase::Marked {
            return false;
        }
        let used = reduces.then(|| self.used(config));
        self.congestion
            .on_event(config, Event::Loss { used, begins });
        self.phase = Phase::Recovery;
        self.limited = 0;
        true
    }

    /// Begins fast recovery and sends the lost packet again if the loss is new; returns true if it
    /// is.
    pub(crate) fn fast_retransmit<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>) -> bool {
        let begins = self.enter_recovery(moment.config, false);
        if begins {
            self.timed_at = Deadline::NONE;
            self.restart_timer(moment);
            self.transmit(moment, self.una);
        }
        begins
    }

    /// Sends a new packet on the first and the second duplicate ACK (RFC 3042).
    pub(crate) fn limited_transmit<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>) {
        let allowed = (self.congestion.cwnd() as u32).saturating_add(self.duplicates);
        let room = self.next - self.una < allowed.min(moment.config.receiver_window);
        if moment.config.limited_transmit && room && self.next < self.end {
            self.transmit(moment, self.next);
            self.next += 1;
            self.limited += 1;
        }
    }

    /// Ends recovery by an ACK: for Reno the first new one, for NewReno one of all packets that
    /// were in flight when recovery began.
    pub(crate) fn end_recovery<F>(&mut self, moment: &mut Moment<F>, ack: &Ack) {
        self.phase = Phase::Open;
        let acked = self.acknowledge(moment, ack);
        let in_flight = self.max - self.una;
        self.congestion
            .on_event(moment.config, Event::Recovered { in_flight });
        let grows = moment.config.quirks.grows_at_full_ack;
        self.report_ack(moment, ack, acked, grows);
    }
}
