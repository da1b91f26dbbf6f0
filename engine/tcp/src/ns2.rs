//! What ns-2.35 does otherwise than the RFCs: its defaults, and its deviations.
//!
//! Each deviation is a field of [`Quirks`] with the function of ns-2 that makes it. What a field
//! does is said here and nowhere else; other files follow the RFCs and ask for it by name.

use crate::config::{Config, MS, SECOND, Variant};
use crate::congestion::MIN_SSTHRESH;
use crate::recovery::DUPLICATE_THRESHOLD;
use crate::segment::Ack;
use crate::sender::{Phase, Sender};

/// Where a sender does as ns-2.35 does, and not as the RFCs have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// A loss or a mark reduces the window allowed, min(cwnd, receiver window), not what is in
    /// flight (RFC 5681, equation 4): the threshold to whole packets, cwnd with its fraction
    /// (`TcpAgent::slowdown`, `precisionReduce_`). A time-out leaves the threshold if an ECN echo
    /// made the last reduction, however long ago (`TcpAgent::timeout`); after a time-out every echo
    /// counts (`TcpAgent::ecn`). By RFC 5681, section 3.1, a time-out leaves the threshold if the
    /// packet timed out before.
    pub reduces_allowed_window: bool,
    /// The window grows by ACKs, each of them by one packet in slow start, and by one packet for a
    /// window of ACKs beyond it (`TcpAgent::opencwnd`). RFC 5681, section 3.1, recommends to count what
    /// they acknowledge, so that delayed ACKs do not halve the growth.
    pub counts_acks: bool,
    /// cwnd stays where partial ACKs left it when an ACK ends NewReno's or Reno's recovery, and
    /// grows as by any new ACK (`NewRenoTcpAgent::recv` without `exit_recovery_fix_`); RFC 6582,
    /// section 3.2, step 3, asks for min(ssthresh, flight + 1).
    pub grows_at_full_ack: bool,
    /// A sender with selective acknowledgements counts the packets in the network: one more for
    /// each that it sends, one less for each ACK, two less for a partial one (`Sack1TcpAgent::recv`).
    /// RFC 6675, section 4 (SetPipe), reckons anew from the scoreboard at each ACK. All holes are
    /// taken for lost; the scoreboard lasts for one recovery only; an ECN echo prolongs it; between
    /// a time-out and the next new ACK duplicates are ignored; a packet sent again is still timed.
    pub counts_pipe: bool,
    /// Retransmissions too are ECN-capable and carry CWR (`TcpAgent::output`), against RFC 3168,
    /// section 6.1.5.
    pub marks_retransmissions: bool,
}

impl Quirks {
    /// All of them.
    pub const ALL: Quirks = Quirks {
        reduces_allowed_window: true,
        counts_acks: true,
        grows_at_full_ack: true,
        counts_pipe: true,
        marks_retransmissions: true,
    };
}

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
            quirks: Quirks::ALL,
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
