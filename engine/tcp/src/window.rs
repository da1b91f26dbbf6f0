//! The congestion window and its threshold.

use crate::config::{Config, Halving};

/// Least slow-start threshold, packets (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;

#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// Congestion window, packets.
    pub cwnd: f64,
    /// Slow-start threshold, packets.
    pub ssthresh: f64,
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
        }
    }

    /// Opens the window by an ACK of new data (RFC 5681, equations 2 and 3).
    pub fn open(&mut self) {
        if self.cwnd < self.ssthresh {
            self.cwnd += 1.0;
        } else {
            self.cwnd += 1.0 / self.cwnd;
        }
    }

    /// Lowers threshold and window after a loss or a mark; `used` is the window to be halved.
    pub fn halve(&mut self, config: &Config, used: f64) {
        self.lower_threshold(used);
        self.cwnd = match config.halving {
            // RFC 3168, section 6.1.2: of a window of one nothing is left.
            Halving::Flight if self.cwnd <= 1.0 => self.cwnd / 2.0,
            Halving::Flight => self.ssthresh.min(self.cwnd),
            Halving::Window => used / 2.0,
        };
    }

    pub fn lower_threshold(&mut self, used: f64) {
        self.ssthresh = (used / 2.0).floor().max(MIN_SSTHRESH);
    }
}
