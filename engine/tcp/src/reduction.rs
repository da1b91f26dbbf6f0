//! How a sender reduces its window for losses, time-outs and marks: at most once for each window of
//! data.

use crate::config::{Config, Variant};
use crate::congestion::Event;
use crate::recovery;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

impl Sender {
    /// Returns the window, packets, that a loss or a mark found now would reduce.
    pub(crate) fn used(&self, config: &Config) -> f64 {
        if config.quirks.reduces_allowed_window {
            return self.allowed_window(config);
        }
        if config.quirks.counts_whole_packets {
            return self.congestion.cwnd();
        }
        // RFC 5681, section 3.2, step 2: without the packets that limited transmit sent.
        let used = f64::from(self.next - self.una - u32::from(self.limited));
        if config.variant == Variant::Rack {
            // The packets beyond cwnd were sent because others had arrived out of order.
            return used.min(self.congestion.cwnd());
        }
        used
    }

    /// True if a time-out leaves the threshold as it is, because the same loss or a mark lowered it
    /// before.
    pub(crate) fn spares_threshold(&self, config: &Config) -> bool {
        let marked = self.phase == Phase::Marked;
        if config.quirks.reduces_allowed_window {
            return marked;
        }
        let reduced =
            marked || self.phase == Phase::Recovery && config.quirks.keeps_threshold_in_recovery;
        // RFC 5681, section 3.1: a packet lost again says nothing new about the path.
        self.una < self.timed_out || (reduced && self.una < self.recover)
    }

    /// Returns the window, packets, that a time-out reduces.
    pub(crate) fn used_at_time_out(&self, config: &Config) -> f64 {
        let mut used = self.used(config);
        if !config.quirks.reduces_allowed_window {
            // Recovery may have sent several windows of new data behind a packet that was lost
            // again; RFC 5681, section 3.1, allows "no more than" equation 4.
            used = used.min(self.congestion.cwnd());
        }
        used
    }

    /// Reacts to an ECN echo, once for each window of data (RFC 3168, section 6.1.2). A window
    /// below one packet sends nothing until the timer expires; if marks continue, the timer backs
    /// off.
    pub(crate) fn on_echo(&mut self, config: &Config, ack: &Ack) {
        if ack.next <= self.recover && !self.echo_counts_again(config) {
            return;
        }
        if config.quirks.marks_reduce_by_and_by && self.rack.is_some() {
            if ack.next >= self.una {
                recovery::on_echo(self, config);
            }
            return;
        }
        self.recover = self.max;
        if !self.echo_prolongs_recovery(config) {
            self.phase = Phase::Marked;
        }
        if self.closed_by_mark {
            self.rto.back_off(config);
        }
        self.closed_by_mark = self.congestion.cwnd() <= 1.0;
        self.take_mark(config, false);
    }

    /// Tells the congestion control of a mark that no reduction covers.
    pub(crate) fn take_mark(&mut self, config: &Config, gradually: bool) {
        let used = self.used(config);
        self.congestion
            .on_event(config, Event::Mark { used, gradually });
        self.reduced = config.ecn;
    }
}
