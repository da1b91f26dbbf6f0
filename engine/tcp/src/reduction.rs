//! What makes a sender reduce its window: losses, time-outs and marks, each once a window of data.

use crate::config::{Config, Pipe, Reduction};
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

impl Sender {
    /// The window that a loss found now reduces.
    pub(crate) fn used(&self, config: &Config) -> f64 {
        match config.reduction {
            // RFC 5681, section 3.2, step 2: without what limited transmit sent.
            Reduction::Flight => f64::from(self.next - self.una - self.limited),
            Reduction::Window => (self.window.cwnd + f64::from(self.inflation))
                .min(f64::from(config.receiver_window)),
        }
    }

    pub(crate) fn reduce_window(&mut self, config: &Config) {
        let used = self.used(config);
        self.window.reduce(config, used);
        self.reduced = config.ecn;
    }

    /// Leaves a window of one packet, as after a time-out.
    pub(crate) fn close_window(&mut self, config: &Config) {
        self.window.cwnd = 1.0;
        self.reduced = config.ecn;
    }

    /// Lowers the threshold for a time-out, unless the same loss or a mark did so before.
    pub(crate) fn lower_threshold(&mut self, config: &Config) {
        let marked = self.phase == Phase::Marked;
        let lowered = match config.reduction {
            // RFC 5681, section 3.1: a packet lost again says nothing new about the path.
            Reduction::Flight => self.una < self.timed_out || (marked && self.una < self.recover),
            Reduction::Window => marked,
        };
        if !lowered {
            let used = match config.reduction {
                // Recovery may have sent several windows of new data behind a packet that was lost
                // again; RFC 5681, section 3.1, allows "no more than" equation 4.
                Reduction::Flight => self.used(config).min(self.window.cwnd),
                Reduction::Window => self.used(config),
            };
            self.window.time_out(config, used);
        }
    }

    /// Reacts to an ECN echo, once a window of data (RFC 3168, section 6.1.2). Below one packet
    /// the window lets nothing go before the timer; if marks go on, the timer backs off.
    pub(crate) fn on_echo(&mut self, config: &Config, ack: &Ack) {
        let exempt = config.reduction == Reduction::Window && self.phase == Phase::TimedOut;
        if ack.next <= self.recover && !exempt {
            return;
        }
        self.recover = self.max;
        // The echo comes with the ACK that would end a recovery: ns-2's `Sack1` goes on with it.
        let counts = config.variant.uses_sack() && config.pipe == Pipe::Count;
        if !(counts && self.phase == Phase::Recovery) {
            self.phase = Phase::Marked;
        }
        if self.closed_by_mark {
            self.rto.back_off(config);
        }
        self.closed_by_mark = self.window.cwnd <= 1.0;
        self.reduce_window(config);
    }
}
