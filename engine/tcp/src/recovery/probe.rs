//! Tail loss probes (RFC 8985, section 7): if no ACK comes, one more packet makes the receiver
//! report what is missing, long before a time-out.

use crate::config::{Config, MS, SECOND};
use crate::deadline::Deadline;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Phase, Sender};

/// Longest time that a receiver may hold back the ACK of a single packet (RFC 8985, section 7.2:
/// TLP.max_ack_delay; the value is Linux's).
const ACK_DELAY_NS: u64 = 200 * MS;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    /// When it is sent (PTO).
    pub at: Deadline,
    /// The probe that was sent and that no ACK has answered.
    sent: Option<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// One past the highest packet sent at that time (TLP.end_seq).
    end: u32,
    /// True if the probe was a retransmission (TLP.is_retrans).
    again: bool,
}

impl Probe {
    /// Takes an ACK; `advances` is true if it acknowledges new data. Returns true if the probe
    /// repaired a loss that nothing else reports (RFC 8985, section 7.4.2).
    pub fn on_ack(&mut self, ack: &Ack, advances: bool) -> bool {
        let Some(sent) = self.sent.filter(|sent| ack.next >= sent.end) else {
            return false;
        };
        // the packet and its probe have both arrived
        let both = !advances && ack.sack[0].is_empty();
        let repaired = sent.again && ack.next > sent.end;
        if repaired || both || !sent.again {
            self.sent = None;
        }
        repaired
    }
}

impl Sender {
    /// Returns one past the last packet that receiver and application allow to send.
    pub(crate) fn limit(&self, config: &Config) -> u32 {
        let limit = self.una.saturating_add(config.receiver_window);
        limit.min(self.end)
    }

    /// Sets the time of the next probe: two round trips from now. There is none if a packet is
    /// known to be missing, if a probe is in flight (RFC 8985, section 7.2), or if only a SYN is:
    /// before the connection is open there is nothing to probe with.
    pub(crate) fn schedule_probe<F>(&mut self, moment: &Moment<F>) {
        let flight = self.max - self.una;
        let quiet = matches!(self.phase, Phase::Open | Phase::Marked);
        let time_out = self.deadline;
        let srtt_ns = self.rto.srtt_ns(moment.config);
        let opens = moment.config.syn && self.una == 0;
        let rack = self.rack();
        let known = rack.flight.sacked() > 0 || rack.flight.has_lost();
        rack.probe.at = if flight == 0 || opens || !quiet || known || rack.probe.sent.is_some() {
            Deadline::NONE
        } else {
            let mut wait_ns = if srtt_ns == 0 { SECOND } else { 2 * srtt_ns };
            if flight == 1 {
                wait_ns += ACK_DELAY_NS;
            }
            moment.config.timer(moment.now_ns, wait_ns).min(time_out)
        };
    }

    /// Sends a probe: a new packet, even beyond the window, or else the last packet again (RFC
    /// 8985, section 7.3).
    pub(crate) fn send_probe<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>) {
        let again = self.next >= self.limit(moment.config);
        if again {
            self.resend(moment, self.max - 1, true);
        } else {
            self.transmit(moment, self.next);
            self.next += 1;
        }
        let end = self.max;
        self.rack().probe = Probe {
            at: Deadline::NONE,
            sent: Some(Sent { end, again }),
        };
        self.restart_timer(moment);
    }
}
