//! Tail loss probes: where ACKs fail to come, one more packet makes the receiver tell what it lacks,
//! long before a time-out (RFC 8985, section 7).

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
    /// The one sent that no ACK has answered.
    sent: Option<Sent>,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    /// One past the highest packet then (TLP.end_seq).
    end: u32,
    /// Whether it was sent before (TLP.is_retrans).
    again: bool,
}

impl Probe {
    /// Takes an ACK that does or does not advance; returns whether the probe repaired a loss of which
    /// nothing else tells (RFC 8985, section 7.4.2).
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
    /// Packets before this one may be sent, as far as receiver and application go.
    pub(crate) fn limit(&self, config: &Config) -> u32 {
        let limit = self.una.saturating_add(config.receiver_window);
        limit.min(self.end)
    }

    /// Sets the time of the next probe: two round trips from now, unless something is known to be
    /// missing or a probe is on its way (RFC 8985, section 7.2), or only a SYN is: before the
    /// connection stands there is nothing to probe with.
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

    /// Sends a probe: a new packet, whatever the window, or else the last one again (RFC 8985,
    /// section 7.3).
    pub(crate) fn send_probe<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>) {
        let again = self.next >= self.limit(moment.config);
        if again {
            self.resend(moment, self.max - 1);
        } else {
            self.transmit(moment, self.next);
            self.next += 1;
            self.rack().prr.on_sent();
        }
        let end = self.max;
        self.rack().probe = Probe {
            at: Deadline::NONE,
            sent: Some(Sent { end, again }),
        };
        self.restart_timer(moment);
    }
}
