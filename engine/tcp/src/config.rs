//! Parameters that all flows of one kind share.

use std::sync::OnceLock;

use sluice_ecn::Ecn;
use thiserror::Error;

use crate::congestion::CongestionControl;
use crate::negotiation::{Feedback, Server};
use crate::quirks::Quirks;
use crate::segment::Echo;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

/// How a sender recovers from loss.
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
    /// Recovery by times, as in today's systems: RACK-TLP (RFC 8985) with selective
    /// acknowledgements and proportional rate reduction (RFC 9937).
    Rack,
}

impl Variant {
    /// True if receivers report packets that arrived out of order (RFC 2018).
    pub fn uses_sack(self) -> bool {
        matches!(self, Variant::Sack | Variant::Rack)
    }
}

/// The parameters of a TCP connection, shared by all flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Loss recovery.
    pub variant: Variant,
    /// How many packets may be in flight, and how fast they leave.
    pub congestion_control: CongestionControl,
    /// True if packet 0 is a SYN that opens the connection.
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
    /// Packets leave one by one, at a rate that follows the window.
    pub pacing: bool,
    /// Packets that pacing lets go leave in bursts, as many as the congestion control says.
    pub segmentation_offload: bool,
    /// The first slow start ends by HyStart++ (RFC 9406), if round-trip times grow.
    pub hystart_plus: bool,
    /// Longest time an ACK waits for another packet, ns; `None`: every packet is acknowledged at
    /// once.
    pub delayed_ack_ns: Option<u64>,
    /// Packets in order that an ACK waits for at most; 2 in RFC 5681, section 4.2, more where ACKs are
    /// thinned.
    pub ack_every: u8,
    /// Bytes that selective acknowledgements add to an ACK besides 8 for each block.
    pub sack_option_bytes: u16,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Marks are fed back by their number (RFC 9768), if the other end can; without a handshake both
    /// ends have agreed on it.
    pub accurate_ecn: bool,
    /// Prague takes more from the window where marks seem to come from a classic queue.
    pub classic_fallback: bool,
    /// What the other end can do about marks, in a handshake; `None`: the same as this one.
    pub server: Option<Server>,
    /// Deviations from the RFCs, as in ns-2 or Linux.
    pub quirks: Quirks,
    /// Made when they are needed.
    pub fallbacks: Fallbacks,
}

/// Parameters of connections whose other end agreed to less than they ask for: to no feedback of
/// marks, and to the classic one. They follow from the parameters that they are part of.
#[derive(Debug, Default)]
pub struct Fallbacks(OnceLock<Box<[Config; 2]>>);

impl Clone for Fallbacks {
    /// None are made yet: the clone's parameters may be changed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Fallbacks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Config {
    /// The RFCs' values: initial window of 10 packets (RFC 6928), time-outs of RFC 6298 (1 s to
    /// 60 s), limited transmit, ACKs delayed by at most 100 ms (RFC 1122: below 500 ms). The
    /// connection is open from the start.
    pub fn rfc(variant: Variant) -> Config {
        Config {
            variant,
            congestion_control: CongestionControl::Reno,
            syn: false,
            initial_window: 10.0,
            initial_ssthresh: f64::INFINITY,
            receiver_window: u32::MAX,
            tick_ns: MS,
            initial_rto_ns: SECOND,
            min_rto_ns: SECOND,
            max_rto_ns: 60 * SECOND,
            limited_transmit: true,
            pacing: false,
            segmentation_offload: true,
            hystart_plus: false,
            delayed_ack_ns: Some(100 * MS),
            ack_every: 2,
            // kind, length, and two NOPs that align the blocks (RFC 2018, section 3; RFC 7323,
            // appendix A)
            sack_option_bytes: 4,
            ecn: false,
            accurate_ecn: false,
            classic_fallback: false,
            server: None,
            quirks: Quirks::NONE,
            fallbacks: Fallbacks::default(),
        }
    }

    /// Returns the feedback of marks that the connection asks for; without a handshake, that it has.
    #[inline]
    pub fn feedback(&self) -> Feedback {
        match (self.ecn, self.accurate_ecn) {
            (false, _) => Feedback::None,
            (true, false) => Feedback::Classic,
            (true, true) => Feedback::Accurate,
        }
    }

    /// Returns what the other end can do about marks.
    pub fn server(&self) -> Server {
        self.server.unwrap_or(match self.feedback() {
            Feedback::None => Server::None,
            Feedback::Classic => Server::Classic,
            Feedback::Accurate => Server::Accurate,
        })
    }

    /// Returns how a receiver echoes marks with this feedback.
    #[inline]
    pub(crate) fn echo(&self, feedback: Feedback) -> Echo {
        match feedback {
            Feedback::None => Echo::None,
            Feedback::Accurate => Echo::Accurate,
            Feedback::Classic if self.congestion_control.counts_marks() => Echo::PerPacket,
            Feedback::Classic => Echo::Classic,
        }
    }

    /// Returns the codepoint of packets that may be marked.
    #[inline]
    pub(crate) fn capable(&self) -> Ecn {
        match self.congestion_control.answers_marks() {
            true => Ecn::Ect1,
            false => Ecn::Ect0,
        }
    }

    /// Returns the codepoint of a SYN that asks for feedback of marks.
    pub(crate) fn codepoint_of_syn(&self) -> Ecn {
        match self.quirks.needed_ecn_in_syn && self.congestion_control.needs_ecn() {
            true => self.capable(),
            false => Ecn::NotEct,
        }
    }

    /// Returns the parameters of a connection whose other end agreed to this feedback, which is less
    /// than it asks for. A congestion control that cannot do with it is replaced by Reno (Linux:
    /// `dctcp_reno`, `prague_reno`).
    pub(crate) fn fallback(&self, feedback: Feedback) -> &Config {
        let fallbacks = self.fallbacks.0.get_or_init(|| {
            Box::new([Feedback::None, Feedback::Classic].map(|feedback| self.with_less(feedback)))
        });
        &fallbacks[usize::from(feedback != Feedback::None)]
    }

    fn with_less(&self, feedback: Feedback) -> Config {
        let ecn = feedback != Feedback::None;
        let control = self.congestion_control;
        let lacks = control.answers_marks() || control.needs_ecn() && !ecn;
        let (congestion_control, pacing) = match lacks {
            true => (CongestionControl::Reno, self.pacing && !control.paces()),
            false => (control, self.pacing),
        };
        Config {
            ecn,
            accurate_ecn: false,
            congestion_control,
            pacing,
            ..self.clone()
        }
    }

    /// Returns the same with a congestion control, and with what this control cannot do without:
    /// ECN, pacing, recovery by times.
    #[must_use]
    pub fn with(self, congestion_control: CongestionControl) -> Config {
        let variant = if congestion_control.needs_times() {
            Variant::Rack
        } else {
            self.variant
        };
        let answers = congestion_control.answers_marks();
        Config {
            variant,
            congestion_control,
            ecn: self.ecn || congestion_control.needs_ecn(),
            accurate_ecn: self.accurate_ecn || answers,
            pacing: self.pacing || congestion_control.paces(),
            ..self
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`ConfigError`] names the first parameter outside its range, or what the congestion control
    /// needs and does not have.
    pub fn check(&self) -> Result<(), ConfigError> {
        let control = self.congestion_control;
        if control.counts_marks() && !self.ecn {
            return Err(ConfigError::NoMarks(control.name()));
        }
        if control.answers_marks() && !(self.ecn && self.accurate_ecn) {
            return Err(ConfigError::NoNumbers(control.name()));
        }
        if control.needs_times() && self.variant != Variant::Rack {
            return Err(ConfigError::NoTimes(control.name()));
        }
        if self.hystart_plus && self.variant != Variant::Rack {
            return Err(ConfigError::NoRoundTrips);
        }
        if control.paces() && !self.pacing {
            return Err(ConfigError::NoPacing(control.name()));
        }
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
            // so that the backoff factor, which doubles up to this time-out, fits into 32 bits
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
                return Err(ConfigError::OutOfRange {
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

/// What is wrong with the parameters.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    /// A parameter outside its range.
    #[error("tcp.{name} = {value} must lie between {least} and {greatest} ({unit})")]
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        greatest: f64,
        /// Unit of all three values.
        unit: &'static str,
    },
    /// A congestion control that counts marks, on a connection without ECN.
    #[error("tcp.congestion_control = {0} needs tcp.ecn = true: it counts marks")]
    NoMarks(&'static str),
    /// A congestion control that answers the number of marks, without accurate feedback.
    #[error("tcp.congestion_control = {0} needs ecn and accurate_ecn: it counts marks by number")]
    NoNumbers(&'static str),
    /// A congestion control that needs to know the packets in flight, without recovery by times.
    #[error("tcp.congestion_control = {0} needs tcp.variant = rack: it asks what is in flight")]
    NoTimes(&'static str),
    /// HyStart++ without recovery by times, which measures each round trip.
    #[error("tcp.hystart_plus = true needs tcp.variant = rack: it compares round-trip times")]
    NoRoundTrips,
    /// A congestion control that answers a rate, on a connection that does not pace.
    #[error("tcp.congestion_control = {0} needs tcp.pacing = true: it answers a rate")]
    NoPacing(&'static str),
}
