//! What all flows of one kind share.

use thiserror::Error;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// How a sender recovers from loss and lets its window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// Fast retransmit, then slow start (Jacobson 1988).
    Tahoe,
    /// Fast recovery until the first new ACK (RFC 5681, section 3.2).
    Reno,
    /// Fast recovery through partial ACKs (RFC 6582).
    NewReno,
    /// Recovery by selective acknowledgements (RFC 6675).
    Sack,
    /// CUBIC's window (RFC 9438) with recovery by selective acknowledgements.
    Cubic,
}

impl Variant {
    /// Whether receivers report what arrived out of order (RFC 2018).
    pub fn uses_sack(self) -> bool {
        matches!(self, Variant::Sack | Variant::Cubic)
    }
}

/// How much a loss or a mark takes off the window (half of it; by CUBIC three tenths), and when it
/// counts as a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Of what is in flight (RFC 5681, equation 4). A time-out leaves the threshold if the packet
    /// timed out before, or if an ECN echo of the same window lowered it.
    Flight,
    /// Of the window allowed, min(cwnd, receiver window), as in ns-2 with `precisionReduce_`: the
    /// threshold in whole packets, cwnd with its fraction. A time-out leaves the threshold if an
    /// ECN echo made the last reduction, however long ago; after a time-out every echo counts.
    Window,
}

/// What becomes of cwnd when an ACK ends NewReno's or Reno's recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullAck {
    /// min(ssthresh, flight + 1) (RFC 6582, section 3.2, step 3, option 1).
    Deflate,
    /// It stays where partial ACKs left it, and grows as by any new ACK (ns-2 without
    /// `exit_recovery_fix_`).
    Grow,
}

/// How a sender with selective acknowledgements counts the packets in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Anew from the scoreboard at each ACK (RFC 6675, section 4, SetPipe).
    Scoreboard,
    /// One more for each packet sent, one less for each ACK, two less for a partial one (ns-2's
    /// `Sack1`); the scoreboard lasts for one recovery only, and an ECN echo prolongs it.
    Count,
}

/// The parameters of a TCP connection, shared by all flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Loss recovery and growth.
    pub variant: Variant,
    /// Whether packet 0 is a SYN that opens the connection.
    pub syn: bool,
    /// Initial congestion window, packets.
    pub initial_window: f64,
    /// Initial slow-start threshold, packets.
    pub initial_ssthresh: f64,
    /// Receiver's advertised window, packets (ns-2's `window_`).
    pub receiver_window: u32,
    /// Granularity of the sender's clock for round-trip times, ns (ns-2's `tcpTick_`).
    pub tick_ns: u64,
    /// Time-out before the first round-trip time is known, ns.
    pub initial_rto_ns: u64,
    /// Least time-out, ns.
    pub min_rto_ns: u64,
    /// Greatest time-out, ns.
    pub max_rto_ns: u64,
    /// Send a new packet on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Longest time an ACK waits for a second packet, ns; none: every packet is acknowledged.
    pub delayed_ack_ns: Option<u64>,
    /// Bytes that selective acknowledgements add to an ACK besides 8 for each block.
    pub sack_option_bytes: u16,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Retransmissions too are ECN-capable and carry CWR, as in ns-2 and against RFC 3168,
    /// section 6.1.5.
    pub ecn_on_retransmission: bool,
    /// What a loss or a mark takes off the window.
    pub reduction: Reduction,
    /// What ends recovery does to cwnd.
    pub full_ack: FullAck,
    /// How packets in the network are counted.
    pub pipe: Pipe,
}

impl Config {
    /// The RFCs' values: initial window of 10 packets (RFC 6928), time-outs of RFC 6298 (1 s to
    /// 60 s), limited transmit, ACKs delayed by at most 100 ms (RFC 1122: below 500 ms). The
    /// connection is open from the start.
    pub fn rfc(variant: Variant) -> Config {
        Config {
            variant,
            syn: false,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            receiver_window: u32::MAX,
            tick_ns: MS,
            initial_rto_ns: SECOND,
            min_rto_ns: SECOND,
            max_rto_ns: 60 * SECOND,
            limited_transmit: true,
            delayed_ack_ns: Some(100 * MS),
            // kind, length, and two NOPs that align the blocks (RFC 2018, section 3; RFC 7323,
            // appendix A)
            sack_option_bytes: 4,
            ecn: false,
            ecn_on_retransmission: false,
            reduction: Reduction::Flight,
            full_ack: FullAck::Deflate,
            pipe: Pipe::Scoreboard,
        }
    }

    /// The defaults of ns-2.35's `Agent/TCP` family with `Agent/TCPSink` (`tcl/lib/ns-default.tcl`),
    /// its `window_` being `receiver_window`.
    pub fn ns2(variant: Variant, receiver_window: u32) -> Config {
        Config {
            syn: true,
            initial_window: 2.0,
            // below 2 the receiver's window rules alone
            initial_ssthresh: f64::from(receiver_window).max(2.0),
            receiver_window,
            tick_ns: 10 * MS,
            initial_rto_ns: 3 * SECOND,
            min_rto_ns: 200 * MS,
            delayed_ack_ns: None,
            sack_option_bytes: 0,
            ecn_on_retransmission: true,
            reduction: Reduction::Window,
            full_ack: FullAck::Grow,
            pipe: Pipe::Count,
            ..Config::rfc(variant)
        }
    }

    /// Says what is wrong with the parameters, if anything.
    ///
    /// # Errors
    /// [`ConfigError`] names the first parameter outside its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let bounds = [
            ("initial_window", self.initial_window, 1.0, 1e6, "packets"),
            (
                "initial_ssthresh",
                self.initial_ssthresh,
                2.0,
                f64::INFINITY,
                "packets",
            ),
            (
                "receiver_window",
                f64::from(self.receiver_window),
                1.0,
                f64::INFINITY,
                "packets",
            ),
            ("tick_ns", self.tick_ns as f64, 1e3, 1e9, "ns"),
            // so that doubling the least time-out until it is reached stays within 32 bits
            (
                "max_rto_ns",
                self.max_rto_ns as f64,
                self.tick_ns as f64,
                1e12,
                "ns",
            ),
            (
                "min_rto_ns",
                self.min_rto_ns as f64,
                self.tick_ns as f64,
                self.max_rto_ns as f64,
                "ns",
            ),
            (
                "initial_rto_ns",
                self.initial_rto_ns as f64,
                1.0,
                self.max_rto_ns as f64,
                "ns",
            ),
            (
                "delayed_ack_ns",
                self.delayed_ack_ns.unwrap_or(1) as f64,
                1.0,
                5e8,
                "ns",
            ),
        ];
        for (name, value, least, greatest, unit) in bounds {
            if !(least..=greatest).contains(&value) {
                return Err(ConfigError {
                    name,
                    value,
                    least,
                    greatest,
                    unit,
                });
            }
        }
        Ok(())
    }
}

/// A parameter outside its range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("tcp.{name} = {value} must lie between {least} and {greatest} ({unit})")]
pub struct ConfigError {
    /// Which.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Where its range starts.
    pub least: f64,
    /// Where its range ends.
    pub greatest: f64,
    /// Of all three.
    pub unit: &'static str,
}
