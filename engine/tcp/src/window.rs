//! The congestion window and its threshold.

use crate::config::{Config, Reduction, Variant};
use crate::cubic::{self, Cubic};

/// Least slow-start threshold, packets (RFC 5681, equation 4).
const MIN_SSTHRESH: f64 = 2.0;

#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Window {
    /// Congestion window, packets.
    pub cwnd: f64,
    /// Slow-start threshold, packets.
    pub ssthresh: f64,
    cubic: Cubic,
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
            cubic: Cubic::default(),
        }
    }

    /// Opens the window by an ACK of `acked` new packets (RFC 5681, equations 2 and 3).
    pub fn open(&mut self, config: &Config, now_ns: u64, srtt_ns: u64, acked: u32) {
        if self.cwnd < self.ssthresh {
            self.cwnd += 1.0;
        } else if config.variant == Variant::Cubic {
            self.cwnd = self.cubic.grow(self.cwnd, now_ns, srtt_ns, acked);
        } else {
            self.cwnd += 1.0 / self.cwnd;
        }
    }

    /// After idle time nothing has grown; if it `restarts`, the window does from at most the initial
    /// one.
    pub fn resume(&mut self, config: &Config, idle_ns: u64, restarts: bool) {
        self.cubic.stand_still(idle_ns);
        if restarts {
            self.cwnd = self.cwnd.min(config.initial_window);
        }
    }

    /// Lowers threshold and window after a loss or a mark; `used` is the window to be reduced.
    pub fn reduce(&mut self, config: &Config, used: f64) {
        self.cubic.reduce(self.cwnd);
        self.lower_threshold(config, used);
        self.cwnd = match config.reduction {
            // RFC 3168, section 6.1.2: of a window of one nothing is left.
            Reduction::Flight if self.cwnd <= 1.0 => self.cwnd / 2.0,
            Reduction::Flight => self.ssthresh.min(self.cwnd),
            Reduction::Window => used * factor(config),
        };
    }

    /// Lowers the threshold after a time-out.
    pub fn time_out(&mut self, config: &Config, used: f64) {
        self.cubic.time_out(self.cwnd);
        self.lower_threshold(config, used);
    }

    fn lower_threshold(&mut self, config: &Config, used: f64) {
        let reduced = used * factor(config);
        self.ssthresh = match config.reduction {
            Reduction::Flight => reduced.max(MIN_SSTHRESH),
            Reduction::Window => reduced.floor().max(MIN_SSTHRESH),
        };
    }
}

/// What a loss leaves of the window.
fn factor(config: &Config) -> f64 {
    match config.variant {
        Variant::Cubic => cubic::BETA,
        _ => 0.5,
    }
}
