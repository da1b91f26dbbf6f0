//! Sends what the window allows, and runs the timer until all packets are acknowledged.

use sluice_ecn::Ecn;

use crate::accurate_ecn::FIRST_COUNT;
use crate::config::Config;
use crate::congestion::Sent;
use crate::deadline::Deadline;
use crate::negotiation::{Feedback, Settled};
use crate::recovery;
use crate::segment::Segment;
use crate::sender::{Moment, Sender};

impl Sender {
    /// Returns how many packets the window allows in flight.
    fn allowed(&self, config: &Config) -> u32 {
        (self.congestion.cwnd() as u32)
            .saturating_add(self.inflation)
            .min(config.receiver_window)
    }

    /// Restarts the timer, or stops it when all packets are acknowledged (RFC 6298, 5.2 and 5.3).
    pub(crate) fn restart_timer<F>(&mut self, moment: &Moment<F>) {
        self.deadline = if self.is_done() {
            Deadline::NONE
        } else {
            let config = moment.config;
            config.timer(moment.now_ns, self.rto.timeout_ns(config))
        };
    }

    /// Goes back to the first packet not acknowledged. All packets from there on are sent again as
    /// the window opens; a sender that recovers by times sends only the lost ones again. None of
    /// them can be timed (Karn's algorithm).
    /// Returns how many packets recovery by times now finds lost.
    pub(crate) fn go_back<F>(&mut self, moment: &Moment<F>) -> u32 {
        let mut lost = 0;
        if let Some(rack) = &mut self.rack {
            lost = rack.on_time_out(moment.now_ns, self.una);
            self.report_losses();
        } else {
            self.next = self.una;
        }
        self.timed_at = Deadline::NONE;
        self.restart_timer(moment);
        lost
    }

    /// Sends what the window allows, at most `burst` packets.
    #[inline]
    pub(crate) fn send_window<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>, burst: u32) {
        if self.rack.is_some() {
            return recovery::send(self, moment);
        }
        let limit = self
            .una
            .saturating_add(self.allowed(moment.config))
            .min(self.end);
        for _ in 0..burst {
            self.next = self.scoreboard.first_unsacked(self.next);
            if self.next >= limit || !self.may_leave(moment) {
                break;
            }
            self.transmit(moment, self.next);
            self.next += 1;
        }
    }

    pub(crate) fn transmit<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>, seq: u32) {
        self.transmit_once(moment, seq, false);
    }

    /// Returns the codepoint of a packet of a flow that uses ECN, whether it carries CWR, and its
    /// three flags ([`Segment::ace`]).
    #[inline(never)]
    fn ecn_of(&mut self, config: &Config, syn: bool, retransmitted: bool) -> (Ecn, bool, u8) {
        if syn {
            let ace = self.flags_of_syn(config, retransmitted);
            let ecn = match ace {
                0 => Ecn::NotEct,
                _ => config.codepoint_of_syn(),
            };
            return (ecn, false, ace);
        }
        let (ecn, cwr) = self.codepoint(config, retransmitted);
        (ecn, cwr, FIRST_COUNT * u8::from(config.accurate_ecn))
    }

    /// Returns the codepoint of a data packet of a flow that uses ECN, and whether it carries CWR.
    fn codepoint(&mut self, config: &Config, retransmitted: bool) -> (Ecn, bool) {
        let capable = !matches!(self.settled, Settled::Mangled | Settled::Useless);
        let tells = !retransmitted || config.quirks.marks_retransmissions;
        let cwr = tells && self.reduced && !config.accurate_ecn;
        let stays = config.quirks.needed_ecn_stays && config.congestion_control.needs_ecn();
        self.reduced &= !cwr;
        let ecn = if capable && (tells || stays) {
            config.capable()
        } else {
            Ecn::NotEct
        };
        (ecn, cwr)
    }

    /// Returns the flags AE, CWR and ECE of a SYN: what it asks for.
    fn flags_of_syn(&self, config: &Config, retransmitted: bool) -> u8 {
        let feedback = config.feedback();
        let asks = match feedback {
            // once more, then no longer (RFC 9768, section 3.1.4.1)
            Feedback::Accurate => self.retransmissions == 0,
            Feedback::Classic | Feedback::None => !config.quirks.resent_syn_asks_no_more,
        };
        if asks || !retransmitted {
            feedback.asked()
        } else {
            Feedback::None.asked()
        }
    }

    /// Sends a packet; `probes_again` if it repeats one as a probe.
    pub(crate) fn transmit_once<F: FnMut(Segment)>(
        &mut self,
        moment: &mut Moment<F>,
        seq: u32,
        probes_again: bool,
    ) {
        let config = moment.config;
        let syn = config.syn && seq == 0;
        let retransmitted = seq < self.max;
        let (ecn, cwr, ace) = if config.ecn {
            self.ecn_of(config, syn, retransmitted)
        } else {
            (Ecn::NotEct, false, 0)
        };
        let push = config.quirks.pushes_writes && !syn && self.pushes(config, moment.now_ns, seq);
        (moment.send)(Segment {
            seq,
            syn,
            retransmitted,
            ecn,
            cwr,
            push,
            ace,
        });
        if let Some(rack) = &mut self.rack {
            let in_flight = rack.on_sent(moment.now_ns, seq);
            self.congestion.on_sent(&Sent {
                now_ns: moment.now_ns,
                in_flight,
                probes_again,
            });
        }
        if retransmitted {
            self.retransmissions += 1;
        } else {
            let nothing_flew = self.una == self.max;
            self.max = seq + 1;
            if self.timed_at.is_none() {
                self.timed_seq = seq;
                self.timed_at = Deadline::at(moment.now_ns);
            }
            if nothing_flew {
                self.deadline = Deadline::NONE;
            }
        }
        if self.deadline.is_none() {
            self.restart_timer(moment);
        }
        if config.pacing {
            self.pace(config, moment.now_ns);
        }
    }
}
