//! ns-2.35: its defaults, and what some of its [`Quirks`] do.

use crate::config::{Config, MS, SECOND, Variant};
use crate::congestion::MIN_SSTHRESH;
use crate::quirks::Quirks;
use crate::recovery::DUPLICATE_THRESHOLD;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

impl Config {
    /// Returns the defaults of ns-2.35's `Agent/TCP` family with `Agent/TCPSink`
    /// (`tcl/lib/ns-default.tcl`); `receiver_window` is its `window_`.
    pub fn ns2(variant: Variant, receiver_window: u32) -> Config {
        Config {
            syn: true,
            initial_window: 2.0,
            // below 2 packets the receiver's window alone limits the sender
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

/// Returns the threshold, packets, for a reduction to `left` packets (`reduces_allowed_window`).
pub(crate) fn threshold(left: f64) -> f64 {
    left.floor().max(MIN_SSTHRESH)
}

impl Sender {
    /// Returns the window, packets, that a reduction starts from (`reduces_allowed_window`).
    pub(crate) fn allowed_window(&self, config: &Config) -> f64 {
        (self.congestion.cwnd() + f64::from(self.inflation)).min(f64::from(config.receiver_window))
    }

    /// True if an ECN echo counts although the last reduction covers it (`reduces_allowed_window`).
    pub(crate) fn echo_counts_again(&self, config: &Config) -> bool {
        config.quirks.reduces_allowed_window && self.phase == Phase::TimedOut
    }

    /// True if recovery continues after an ECN echo (`counts_pipe`): the echo comes with the ACK
    /// that would end recovery, but `Sack1` goes on.
    pub(crate) fn echo_prolongs_recovery(&self, config: &Config) -> bool {
        let counts = config.variant.uses_sack() && config.quirks.counts_pipe;
        counts && self.phase == Phase::Recovery
    }

    /// Starts to count the packets in the network, for a recovery (`counts_pipe`): three have left
    /// it; the retransmission is not counted.
    pub(crate) fn start_counting(&mut self) {
        self.scoreboard.pipe = (self.max - self.una) as i32 - DUPLICATE_THRESHOLD as i32;
    }

    /// Reduces the count by one for an ACK, and by two for a partial ACK, because its
    /// retransmission left the network as well (`counts_pipe`).
    pub(crate) fn count_down(&mut self, ack: &Ack) {
        self.scoreboard.pipe -= if ack.next > self.una { 2 } else { 1 };
    }
}
