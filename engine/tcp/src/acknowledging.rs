//! How an ACK of new data changes position, timer and window, outside recovery or at its end.

use crate::config::Config;
use crate::congestion::{Progress, Window};
use crate::deadline::Deadline;
use crate::segment::Ack;
use crate::sender::{Moment, Phase, Sender};

impl Sender {
    /// Processes an ACK of new data outside recovery: position, round-trip time and timer, then
    /// growth of the window.
    pub(crate) fn accept<F>(&mut self, moment: &mut Moment<F>, ack: &Ack) {
        let acked = self.acknowledge(moment, ack);
        self.grow(moment, ack, acked);
    }

    /// Processes an ACK of new data: position, round-trip time, timer. Returns how many packets it
    /// acknowledges.
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
            let ticks = |time_ns| (time_ns + self.clock_phase_ns) / moment.config.tick_ns;
            let elapsed = ticks(moment.now_ns).saturating_sub(ticks(sent_ns));
            self.rto.sample(moment.config, elapsed);
            self.timed_at = Deadline::NONE;
        }
        self.closed_by_mark &= ack.ece;
        self.restart_timer(moment);
        acked
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

    /// Lets the window grow after an ACK of new data; the ACK of the SYN sets the initial window.
    /// An ACK with an ECN echo lets nothing grow.
    pub(crate) fn grow<F>(&mut self, moment: &Moment<F>, ack: &Ack, acked: u32) {
        let config = moment.config;
        if config.syn && ack.next == 1 {
            // RFC 5681, section 3.1: one packet if the SYN was lost.
            let spared = u32::from(config.quirks.forgives_lost_syn);
            if spared > 0 {
                self.window = Window::new(config);
            }
            self.window.cwnd = if self.timeouts > spared {
                1.0
            } else {
                config.initial_window
            };
            return;
        }
        let progress = self.progress(moment, ack, acked);
        if !progress.echo {
            self.window.open(config, &progress);
        }
    }

    /// Returns what an ACK tells the congestion control.
    #[inline]
    pub(crate) fn progress<F>(&self, moment: &Moment<F>, ack: &Ack, packets: u32) -> Progress {
        let srtt_ns = self.rto.srtt_ns(moment.config);
        let (rtt_ns, least_ns) = match &self.rack {
            Some(rack) => (rack.rtt_ns, rack.min_rtt_ns),
            None => (srtt_ns, None),
        };
        Progress {
            now_ns: moment.now_ns,
            srtt_ns,
            min_rtt_ns: least_ns.unwrap_or(srtt_ns),
            rtt_ns,
            packets,
            credit: self.credit(moment.config, packets),
            whole: moment.config.quirks.counts_whole_packets,
            next: ack.next,
            sent: self.max,
            echo: moment.config.ecn && ack.ece,
        }
    }

    /// Returns by how many packets an ACK counts when the window grows: as many as it acknowledges
    /// (recommended by RFC 5681, section 3.1). After the sender went back, these packets may have
    /// arrived long ago, and the ACK counts as one packet (RFC 3465, section 2.3).
    fn credit(&self, config: &Config, packets: u32) -> f64 {
        let was = self.una.saturating_sub(packets);
        let went_back = matches!(self.phase, Phase::TimedOut | Phase::Recovery);
        let refills = went_back && self.rack.is_none() && was < self.recover;
        if config.quirks.counts_acks || refills {
            1.0
        } else {
            f64::from(packets)
        }
    }

    /// Records the selective acknowledgements of an ACK; returns true if they report anything new.
    pub(crate) fn learn(&mut self, ack: &Ack) -> bool {
        self.scoreboard.advance(self.una);
        self.scoreboard.update(self.una, self.max, ack)
    }
}
