//! The congestion window and its threshold.

use super::{AnyControl, Cause, Progress};
use crate::config::Config;
use crate::ns2;

/// Least slow-start threshold, packets (RFC 5681, equation 4).
pub(crate) const MIN_SSTHRESH: f64 = 2.0;

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Window {
    /// Congestion window, packets.
    pub cwnd: f64,
    /// Slow-start threshold, packets.
    pub ssthresh: f64,
    control: AnyControl,
}

impl Window {
    pub fn new(config: &Config) -> Window {
        Window {
            cwnd: if config.syn {
                1.0
            } else {
                config.initial_window
            },
            ssthresh: config.initial_ssthresh,
            control: config.congestion_control.start(),
        }
    }

    /// Shows an ACK to the congestion control.
    #[inline]
    pub fn note(&mut self, ack: &Progress) {
        self.control.on_ack(ack);
    }

    /// Lets the window grow after an ACK of new data: in slow start by the credit of the ACK, up to
    /// the threshold (RFC 3465, section 2.2, without its limit L, as Linux does). Beyond the
    /// threshold the congestion control lets it grow by the rest of the credit.
    #[inline]
    pub fn open(&mut self, config: &Config, ack: &Progress) {
        let mut rest = *ack;
        if self.cwnd < self.ssthresh && self.control.ends_slow_start(self.cwnd, ack) {
            self.ssthresh = self.cwnd;
        }
        if self.cwnd < self.ssthresh {
            let cwnd = self.cwnd + ack.credit;
            if cwnd <= self.ssthresh || config.quirks.counts_acks {
                self.cwnd = cwnd;
                return;
            }
            rest.credit = cwnd - self.ssthresh;
            self.cwnd = self.ssthresh;
        }
        self.cwnd = self.control.grow(self.cwnd, &rest);
    }

    /// Resumes after `idle_ns`, which do not count as time for growth. If it `restarts`, the window
    /// is set to at most the initial one.
    pub fn resume(&mut self, config: &Config, idle_ns: u64, restarts: bool) {
        self.control.on_idle(idle_ns);
        if restarts {
            self.cwnd = self.cwnd.min(config.initial_window);
        }
    }

    /// Lowers threshold and window after a loss or a mark; `used` is the window to be reduced,
    /// packets.
    pub fn reduce(&mut self, config: &Config, used: f64, cause: Cause) {
        let left = self.lower_threshold(config, used, cause);
        self.cwnd = if config.quirks.reduces_allowed_window {
            left
        } else if self.cwnd <= 1.0 {
            // RFC 3168, section 6.1.2: a window of one packet shrinks below one, and nothing is
            // sent.
            self.cwnd / 2.0
        } else {
            self.ssthresh.min(self.cwnd)
        };
    }

    /// Lowers the threshold after a time-out.
    pub fn time_out(&mut self, config: &Config, used: f64) {
        self.lower_threshold(config, used, Cause::TimeOut);
    }

    /// Lowers the threshold to what the congestion control leaves, and returns that value, not
    /// rounded.
    fn lower_threshold(&mut self, config: &Config, used: f64, cause: Cause) -> f64 {
        let left = self.control.reduce(self.cwnd, used, cause);
        self.ssthresh = if config.quirks.reduces_allowed_window {
            ns2::threshold(left)
        } else if config.quirks.counts_whole_packets {
            left.floor().max(MIN_SSTHRESH)
        } else {
            left.max(MIN_SSTHRESH)
        };
        left
    }

    /// The congestion control's estimate of the share of packets that are marked, if it has one.
    pub fn marked_share(&self) -> Option<f64> {
        self.control.marked_share()
    }
}
