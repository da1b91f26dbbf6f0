//! Congestion control: how the window grows, and how much a loss or a mark reduces it.
//!
//! Loss recovery (`recovery`) decides which packets are lost and retransmitted. Each congestion
//! control is a file that implements [`Control`], and a line in the list below.

mod hystart;
mod window;

pub(crate) use window::{MIN_SSTHRESH, Window};

/// Generates, from one line for each control, the modules, [`CongestionControl`] and the state that
/// a sender keeps.
macro_rules! controls {
    ($($module:ident::$Control:ident),+ $(,)?) => {
        $(mod $module;)+

        /// How the congestion window grows, and how much a loss or a mark reduces it. The file of
        /// the same name in `congestion` describes each control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum CongestionControl {
            $($Control),+
        }

        impl CongestionControl {
            /// All congestion controls.
            pub const ALL: &'static [Self] = &[$(Self::$Control),+];

            /// Returns the name that users write.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Control => stringify!($module)),+
                }
            }

            /// Returns the control that has this name in Linux.
            pub fn in_linux(self) -> Self {
                match self {
                    Self::Cubic => Self::LinuxCubic,
                    other => other,
                }
            }

            /// True if it uses the number of marked packets. This needs ECN and a receiver that
            /// echoes each mark (RFC 8257, section 3.2).
            #[inline]
            pub fn counts_marks(self) -> bool {
                match self {
                    $(Self::$Control => <$module::$Control as Control>::COUNTS_MARKS),+
                }
            }

            pub(crate) fn start(self) -> AnyControl {
                match self {
                    $(Self::$Control => AnyControl::$Control(Default::default())),+
                }
            }
        }

        /// The control of one sender.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyControl {
            $($Control($module::$Control)),+
        }

        impl AnyControl {
            #[inline]
            pub fn on_ack(&mut self, ack: &Progress) {
                match self {
                    $(Self::$Control(control) => control.on_ack(ack)),+
                }
            }

            #[inline]
            pub fn ends_slow_start(&mut self, cwnd: f64, ack: &Progress) -> bool {
                match self {
                    $(Self::$Control(control) => control.ends_slow_start(cwnd, ack)),+
                }
            }

            #[inline]
            pub fn grow(&mut self, cwnd: f64, ack: &Progress) -> f64 {
                match self {
                    $(Self::$Control(control) => control.grow(cwnd, ack)),+
                }
            }

            pub fn reduce(&mut self, cwnd: f64, used: f64, cause: Cause) -> f64 {
                match self {
                    $(Self::$Control(control) => control.reduce(cwnd, used, cause)),+
                }
            }

            pub fn on_idle(&mut self, idle_ns: u64) {
                match self {
                    $(Self::$Control(control) => control.on_idle(idle_ns)),+
                }
            }

            pub fn marked_share(&self) -> Option<f64> {
                match self {
                    $(Self::$Control(control) => control.marked_share()),+
                }
            }
        }
    };
}

controls! {
    reno::Reno,
    cubic::Cubic,
    dctcp::Dctcp,
    linux_cubic::LinuxCubic,
}

const _: () = assert!(
    size_of::<AnyControl>() <= 48,
    "a control's state takes over 40 bytes: a sender would fill a fifth cache line"
);

/// A congestion control. Windows are in packets.
///
/// The sender does what is the same for all: slow start up to the threshold, the least threshold of
/// two packets, one reduction for each window of data, and the restart after an idle time.
pub(crate) trait Control: Default {
    /// True if it uses the number of marked packets. The connection must then use ECN, and its
    /// receiver must echo each mark once (RFC 8257, section 3.2), not until the sender answers.
    const COUNTS_MARKS: bool = false;

    /// Takes an ACK, even one that acknowledges nothing new, before it has any effect.
    #[inline]
    fn on_ack(&mut self, _ack: &Progress) {}

    /// Takes an ACK of new data in slow start; returns true if slow start ends at this window.
    #[inline]
    fn ends_slow_start(&mut self, _cwnd: f64, _ack: &Progress) -> bool {
        false
    }

    /// Returns the window after an ACK of new data in congestion avoidance.
    fn grow(&mut self, cwnd: f64, ack: &Progress) -> f64;

    /// Returns what is left of the window: the new slow-start threshold. `used` is the part of
    /// `cwnd` that was in flight (RFC 5681, equation 4). Called at most once for each window of
    /// data.
    fn reduce(&mut self, cwnd: f64, used: f64, cause: Cause) -> f64;

    /// Called after the application had nothing to send for this time.
    fn on_idle(&mut self, _idle_ns: u64) {}

    /// Returns its estimate of the share of packets that are marked, if it has one.
    fn marked_share(&self) -> Option<f64> {
        None
    }
}

/// What an ACK tells a congestion control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// When the ACK arrived.
    pub now_ns: u64,
    /// Smoothed round-trip time; 0 before the first measurement.
    pub srtt_ns: u64,
    /// Shortest round-trip time, if recovery by times knows it, or else the smoothed one.
    pub min_rtt_ns: u64,
    /// Round-trip time by which losses are found, if recovery by times knows it, or else the
    /// smoothed one.
    pub rtt_ns: u64,
    /// Packets newly acknowledged.
    pub packets: u32,
    /// Packets by which the ACK counts when the window grows.
    pub credit: f64,
    /// True if the window grows by whole packets
    /// ([`Quirks::counts_whole_packets`](crate::Quirks::counts_whole_packets)).
    pub whole: bool,
    /// The next packet that the receiver expects.
    pub next: u32,
    /// One past the highest packet sent.
    pub sent: u32,
    /// True if it echoes a mark.
    pub echo: bool,
}

#[cfg(test)]
impl Progress {
    /// An ACK of one packet.
    fn of_one(now_ns: u64, rtt_ns: u64, whole: bool) -> Self {
        Self {
            now_ns,
            srtt_ns: rtt_ns,
            min_rtt_ns: rtt_ns,
            rtt_ns,
            packets: 1,
            credit: 1.0,
            whole,
            next: 1,
            sent: 1,
            echo: false,
        }
    }
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A loss was found, other than by a time-out.
    Loss,
    /// The retransmission timer expired.
    TimeOut,
    /// An ECN echo.
    Mark,
}
