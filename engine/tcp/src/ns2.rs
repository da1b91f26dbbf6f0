//! ns-2.35: its defaults, and what some of its [`Quirks`] do.

use crate::config::{Config, MS, SECOND, Variant};
use crate::congestion::MIN_SSTHRESH;
use crate::quirks::Quirks;
use crate::recovery::DUPLICATE_THRESHOLD;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

impl Config {
    /// The defaults of ns-2.35's `Agent/TCP` family with `Agent/TCPSink` (`tcl/lib/ns-default.tcl`),
    /// its `window_` being `receiver_window`.
    pub fn ns2(variant: Variant, receiver_window: u32) -> Config {
        Config {
            syn: true,
            initial_window: 2.0,
            // below 2 the receiver's window rules alone
            initial_ssthresh: f64::from(receiver_window).max(MIN_SSTHRESH),
            receiver_window,
            tick_ns: 10 * MS,
            initial_rto_ns: 3 * SECOND,
            min_rto_ns: 200 * MS,
            delayed_ack_ns: None,
            sack_option_bytes: 0,
            quirks: Quirks::NS2,
            ..Config::rfc(variant)
        }
    }
}

/// The threshold that a reduction to `left` packets sets (`reduces_allowed_window`).
pub(crate) fn threshold(left: f64) -> f64 {
    left.floor().max(MIN_SSTHRESH)
}

impl Sender {
    /// The window that a reduction takes from (`reduces_allowed_window`).
    pub(crate) fn allowed_window(&self, config: &Config) -> f64 {
        (self.window.cwnd + f64::from(self.inflation)).min(f64::from(config.receiver_window))
    }

    /// Whether an ECN echo counts though the last reduction covers it (`reduces_allowed_window`).
    pub(crate) fn echo_counts_again(&self, config: &Config) -> bool {
        config.quirks.reduces_allowed_window && self.phase == Phase::TimedOut
    }

    /// Whether an ECN echo leaves a recovery under way (`counts_pipe`): the echo comes with the ACK
    /// that would end it, and `Sack1` goes on.
    pub(crate) fn echo_prolongs_recovery(&self, config: &Config) -> bool {
        let counts = config.variant.uses_sack() && config.quirks.counts_pipe;
        counts && self.phase == Phase::Recovery
    }

    /// Starts the count of a recovery (`counts_pipe`): three packets have left the network; the
    /// retransmission is not counted.
    pub(crate) fn start_counting(&mut self) {
        self.scoreboard.pipe = (self.max - self.una) as i32 - DUPLICATE_THRESHOLD as i32;
    }

    /// Takes an ACK off the count, and a partial one twice: its retransmission left the network as
    /// well (`counts_pipe`).
    pub(crate) fn count_down(&mut self, ack: &Ack) {
        self.scoreboard.pipe -= if ack.next > self.una { 2 } else { 1 };
    }
}
