//! How a sender reduces its window for losses, time-outs and marks: at most once for each window of
//! data.

use crate::config::{Config, Variant};
use crate::congestion::Cause;
use crate::recovery;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

impl Sender {
    /// Returns the window, packets, that a loss found now would reduce.
    fn used(&self, config: &Config) -> f64 {
        if config.quirks.reduces_allowed_window {
            return self.allowed_window(config);
        }
        if config.quirks.counts_whole_packets {
            return self.window.cwnd;
        }
        // RFC 5681, section 3.2, step 2: without the packets that limited transmit sent.
        let used = f64::from(self.next - self.una - self.limited);
        if config.variant == Variant::Rack {
            // The packets beyond cwnd were sent because others had arrived out of order.
            return used.min(self.window.cwnd);
        }
        used
    }

    pub(crate) fn reduce_window(&mut self, config: &Config, cause: Cause) {
        let used = self.used(config);
        self.window.reduce(config, used, cause);
        self.reduced = config.ecn;
    }

    /// Sets the window to one packet, as after a time-out.
    pub(crate) fn close_window(&mut self, config: &Config) {
        self.window.cwnd = 1.0;
        self.reduced = config.ecn;
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

    /// Lowers the threshold for a time-out.
    pub(crate) fn lower_threshold(&mut self, config: &Config) {
        let mut used = self.used(config);
        if !config.quirks.reduces_allowed_window {
            // Recovery may have sent several windows of new data behind a packet that was lost
            // again; RFC 5681, section 3.1, allows "no more than" equation 4.
            used = used.min(self.window.cwnd);
        }
        self.window.time_out(config, used);
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
        self.closed_by_mark = self.window.cwnd <= 1.0;
        self.reduce_window(config, Cause::Mark);
    }
}
