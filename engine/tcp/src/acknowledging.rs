//! How an ACK of new data changes position, timer and window, outside recovery or at its end.

use crate::config::Config;
use crate::congestion::{Delivery, Event, InFlight, Marks, Sample};
use crate::deadline::Deadline;
use crate::negotiation::Settled;
use crate::segment::Ack;
use crate::sender::{Moment, Phase, Sender};

impl Sender {
    /// Processes an ACK of new data outside recovery: position, round-trip time and timer, then
    /// growth of the window.
    #[inline(never)]
    pub(crate) fn accept<F>(&mut self, moment: &mut Moment<F>, ack: &Ack) {
        let acked = self.acknowledge(moment, ack);
        self.report_ack(moment, ack, acked, true);
    }

    /// Processes an ACK of new data: position, round-trip time, timer. Returns how many packets it
    /// acknowledges.
    #[inline]
    pub(crate) fn acknowledge<F>(&mut self, moment: &mut Moment<F>, ack: &Ack) -> u32 {
        let acked = ack.next - self.una;
        self.advance(ack);
        self.duplicates = 0;
        self.inflation = 0;
        self.limited = 0;
        self.partial_seen = false;
        if let Some(sent_ns) = self.timed_at.get()
            && ack.next > self.timed_seq
        {
            self.end_backoff(ack);
            self.take_round_trip(moment.config, sent_ns, moment.now_ns);
        }
        self.closed_by_mark &= ack.ece;
        self.restart_timer(moment);
        acked
    }

    // one packet of many is timed
    #[inline(never)]
    fn take_round_trip(&mut self, config: &Config, sent_ns: u64, now_ns: u64) {
        let ticks = |time_ns| (time_ns + u64::from(self.clock_phase_ns)) / config.tick_ns;
        let elapsed = ticks(now_ns).saturating_sub(ticks(sent_ns));
        self.rto.sample(config, elapsed);
        self.timed_at = Deadline::NONE;
    }

    /// Ends the backoff after a round trip was timed, but not while marks keep the window closed
    /// (RFC 3168, section 6.1.2).
    pub(crate) fn end_backoff(&mut self, ack: &Ack) {
        if !(self.closed_by_mark && ack.ece) {
            self.rto.end_backoff();
        }
    }

    pub(crate) fn advance(&mut self, ack: &Ack) {
        self.una = ack.next;
        self.next = self.next.max(self.una);
    }

    /// Processes a partial ACK. If it acknowledges the timed packet, it ends the backoff, but gives
    /// no sample, because it may answer a retransmission (RFC 6298, section 3).
    pub(crate) fn advance_in_recovery(&mut self, ack: &Ack) {
        self.advance(ack);
        if !self.timed_at.is_none() && ack.next > self.timed_seq {
            self.rto.end_backoff();
            self.timed_at = Deadline::NONE;
        }
    }

    /// Tells the congestion control of an ACK of new data; `grows` is true if the window may grow.
    #[inline]
    pub(crate) fn report_ack<F>(
        &mut self,
        moment: &Moment<F>,
        ack: &Ack,
        delivered: u32,
        grows: bool,
    ) {
        let rtt_ns = self.rto.srtt_ns(moment.config);
        let sample = Sample {
            refills: self.refills(delivered),
            ..self.sample(moment, ack, (delivered, grows), (rtt_ns, rtt_ns))
        };
        self.take_sample(moment.config, &sample, None);
    }

    /// The same for recovery by times, which also knows the packets in flight.
    pub(crate) fn report_ack_in_flight<F>(
        &mut self,
        moment: &Moment<F>,
        ack: &Ack,
        (delivered, grows): (u32, bool),
        flight: InFlight,
    ) {
        let rack = self.rack();
        let now = rack.flight.flying();
        let rtts_ns = (rack.rtt_ns, rack.min_rtt_ns);
        let least_ns = rtts_ns.1.unwrap_or(self.rto.srtt_ns(moment.config));
        let sample = Sample {
            flight: Some(InFlight { now, ..flight }),
            ..self.sample(moment, ack, (delivered, grows), (rtts_ns.0, least_ns))
        };
        let delivery = self.rack().sample(moment.now_ns, ack.next, sample.ce);
        self.take_sample(moment.config, &sample, delivery.as_ref());
    }

    /// The ACK of the SYN opens the connection.
    #[inline(always)]
    fn take_sample(&mut self, config: &Config, sample: &Sample, delivery: Option<&Delivery>) {
        if sample.grows && config.syn && sample.next == 1 {
            let timeouts = self.timeouts;
            let marked =
                self.settled == Settled::NewMarked && !config.quirks.spares_window_of_marked_syn;
            self.congestion
                .on_event(config, Event::Opened { timeouts, marked });
        } else {
            self.congestion.on_ack(config, sample, delivery);
        }
    }

    #[inline(always)]
    fn sample<F>(
        &self,
        moment: &Moment<F>,
        ack: &Ack,
        (delivered, grows): (u32, bool),
        (rtt_ns, min_rtt_ns): (u64, u64),
    ) -> Sample {
        Sample {
            now_ns: moment.now_ns,
            srtt_ns: self.rto.srtt_ns(moment.config),
            min_rtt_ns,
            rtt_ns,
            delivered,
            next: ack.next,
            sent: self.max,
            grows,
            refills: false,
            echo: moment.config.ecn && ack.ece,
            ce: if moment.config.accurate_ecn {
                self.congestion.new_marks()
            } else {
                0
            },
            phase: self.phase,
            whole: moment.config.quirks.counts_whole_packets,
            flight: None,
        }
    }

    /// True if packets that an ACK acknowledges may have arrived long ago, because the sender went
    /// back.
    #[inline]
    fn refills(&self, packets: u32) -> bool {
        let was = self.una.saturating_sub(packets);
        let went_back = matches!(self.phase, Phase::TimedOut | Phase::Recovery);
        went_back && was < self.recover
    }

    /// Tells a congestion control that counts marks what an ACK says about them.
    pub(crate) fn count_marks(&mut self, config: &Config, ack: &Ack) {
        let acked = ack.next.saturating_sub(self.una);
        let echo = config.ecn && ack.ece;
        self.congestion.count_marks(&Marks {
            acked,
            marked: match (config.accurate_ecn, echo) {
                (true, _) => self.congestion.new_marks().min(acked),
                (false, true) => acked,
                (false, false) => 0,
            },
            next: ack.next,
            sent: self.max,
            whole: config.quirks.counts_whole_packets,
        });
    }

    /// Reads accurate feedback: how many packets were newly marked. Returns the ACK as one that
    /// echoes marks, if the congestion control does not answer their number.
    ///
    /// In the first ACK after the handshake the count cannot be 0, unless three packets were marked
    /// before it or a path clears it (RFC 9768, section 3.2.2.4): then nothing is read any more. Nor
    /// is it once every packet was marked for some rounds (section 3.2.2.3).
    pub(crate) fn read_count(&mut self, config: &Config, ack: &Ack) -> Ack {
        if matches!(self.settled, Settled::New | Settled::NewMarked) && self.una > 0 {
            self.settled = if ack.ace == 0 {
                Settled::Useless
            } else {
                Settled::All
            };
        }
        let marks = match self.settled {
            Settled::Useless => 0,
            _ => self.read_marks(config, ack),
        };
        self.congestion.marks_read(marks);
        Ack {
            ece: marks > 0 && !config.congestion_control.answers_marks(),
            ..*ack
        }
    }

    /// Returns how many packets an ACK tells to be newly marked; 0 if marks have no end.
    fn read_marks(&mut self, config: &Config, ack: &Ack) -> u32 {
        let acked = self.newly_acknowledged(config, ack);
        let is_latest = ack.next > self.una;
        let Some(marks) = self.congestion.read_counter(ack, acked, is_latest) else {
            return 0;
        };
        let may_be_resent = self
            .congestion
            .may_be_resent(self.retransmissions, self.una, self.max);
        let is_open = self.una >= u32::from(config.syn);
        if is_open
            && !may_be_resent
            && !config.quirks.takes_endless_marks
            && self
                .congestion
                .marks_are_endless(acked, marks, ack.next, self.max)
        {
            self.settled = Settled::Useless;
            return 0;
        }
        marks
    }

    /// Returns how many packets an ACK newly acknowledges, selectively or not. Without selective
    /// acknowledgements each duplicate ACK is for one.
    pub(crate) fn newly_acknowledged(&self, config: &Config, ack: &Ack) -> u32 {
        match (&self.rack, ack.next.checked_sub(self.una)) {
            (_, None) => 0,
            // in order: what most ACKs are
            (Some(rack), Some(acked)) if rack.flight.sacked() == 0 && ack.sack[0].is_empty() => {
                acked
            }
            (Some(rack), _) => rack.unknown(ack),
            (_, _) if config.variant.uses_sack() => {
                self.scoreboard.unknown(self.una, self.max, ack)
            }
            (_, Some(0)) => 1,
            (_, Some(acked)) => acked.saturating_sub(self.duplicates).max(1),
        }
    }

    /// Records the selective acknowledgements of an ACK; returns true if they report anything new.
    pub(crate) fn learn(&mut self, ack: &Ack) -> bool {
        self.scoreboard.advance(self.una);
        self.scoreboard.update(self.una, self.max, ack)
    }
}
