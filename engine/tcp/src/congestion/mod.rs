//! Congestion control: how many packets may be in flight, and how fast they leave.
//!
//! A sender tells its congestion control of each packet sent ([`Sent`]), of each ACK as one
//! [`Sample`], and of [`Event`]s: losses, marks, time-outs, idle times. The control answers two
//! things: a window and, if it paces, a rate. Loss recovery (`recovery`) decides which packets are
//! lost and which are sent next, and never writes the window.
//!
//! Each control is a file, and a line in the list below. Most are growth laws ([`Growth`]), which
//! say how the window grows and what a loss leaves of it; what is the same for all of them is in
//! `growth`. A control that is more than a law implements [`Control`] itself.

mod classic_queue;
mod growth;
mod hystart;
mod hystart_plus;
#[cfg(test)]
mod path;
mod prr;
mod signals;
mod small_windows;
mod window;

pub(crate) use growth::{Cause, Growth, MIN_SSTHRESH};
pub(crate) use signals::{Delivery, Event, InFlight, LostPacket, Marks, Rate, Sample, Sent};
pub(crate) use window::{Congestion, Window};

use crate::config::Config;

/// Generates, from one line for each control, the modules, [`CongestionControl`] and the state that
/// a sender keeps.
macro_rules! controls {
    ($($(#[$only:meta])? $module:ident::$Control:ident),+ $(,)?) => {
        $($(#[$only])? mod $module;)+

        /// How many packets may be in flight, and how fast they leave. The file of the same name in
        /// `congestion` describes each control.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum CongestionControl {
            $($(#[$only])? $Control),+
        }

        impl CongestionControl {
            /// All congestion controls.
            pub const ALL: &'static [Self] = &[$($(#[$only])? Self::$Control),+];

            /// Returns the name that users write.
            pub fn name(self) -> &'static str {
                match self {
                    $($(#[$only])? Self::$Control => stringify!($module)),+
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
                    $($(#[$only])? Self::$Control => <$module::$Control as Control>::COUNTS_MARKS),+
                }
            }

            /// True if it answers marks by their number, which only accurate feedback gives.
            #[inline]
            pub fn answers_marks(self) -> bool {
                match self {
                    $($(#[$only])? Self::$Control => {
                        <$module::$Control as Control>::ANSWERS_MARKS
                    }),+
                }
            }

            /// True if it cannot do without ECN.
            #[inline]
            pub fn needs_ecn(self) -> bool {
                self.counts_marks() || self.answers_marks()
            }

            /// True if it needs recovery by times ([`Variant::Rack`](crate::Variant::Rack)), which
            /// knows the packets in flight.
            pub fn needs_times(self) -> bool {
                self.decides_alone()
            }

            /// True if at each ACK it decides the window all by itself, in recovery, too (Linux: it
            /// has `cong_control`).
            pub(crate) fn decides_alone(self) -> bool {
                self.samples_delivery() || self.answers_marks()
            }

            /// True if it cannot do without a rate ([`Config::pacing`]).
            pub fn paces(self) -> bool {
                match self {
                    $($(#[$only])? Self::$Control => <$module::$Control as Control>::PACES),+
                }
            }

            /// Returns how many times a window of packets the socket's memory holds.
            pub(crate) fn memory_factor(self) -> u32 {
                match self {
                    $($(#[$only])? Self::$Control => {
                        <$module::$Control as Control>::MEMORY_FACTOR
                    }),+
                }
            }

            /// True if it uses samples of the delivery rate.
            pub(crate) fn samples_delivery(self) -> bool {
                match self {
                    $($(#[$only])? Self::$Control => {
                        <$module::$Control as Control>::SAMPLES_DELIVERY
                    }),+
                }
            }

            pub(crate) fn start(self) -> AnyControl {
                match self {
                    $($(#[$only])? Self::$Control => AnyControl::$Control(Default::default())),+
                }
            }
        }

        /// The control of one sender.
        #[derive(Clone, Debug)]
        pub(crate) enum AnyControl {
            $($(#[$only])? $Control($module::$Control)),+
        }

        impl AnyControl {
            pub fn count_marks(&mut self, marks: &Marks) {
                match self {
                    $($(#[$only])? Self::$Control(of) => Control::count_marks(of, marks)),+
                }
            }

            #[inline]
            pub fn on_sent(&mut self, window: &mut Window, sent: &Sent) {
                match self {
                    $($(#[$only])? Self::$Control(of) => of.on_sent(window, sent)),+
                }
            }

            pub fn on_lost(&mut self, window: &mut Window, lost: &LostPacket) {
                match self {
                    $($(#[$only])? Self::$Control(of) => of.on_lost(window, lost)),+
                }
            }

            #[inline]
            pub fn on_ack(
                &mut self,
                window: &mut Window,
                config: &Config,
                ack: &Sample,
                delivery: Option<&Delivery>,
            ) {
                match self {
                    $($(#[$only])? Self::$Control(of) => {
                        of.on_ack(window, config, ack, delivery);
                    }),+
                }
            }

            pub fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
                match self {
                    $($(#[$only])? Self::$Control(of) => of.on_event(window, config, event)),+
                }
            }

            pub fn gap_ns(
                &self, window: &Window, config: &Config, outstanding: u32, srtt_ns: u64,
            ) -> Option<u64> {
                match self {
                    $($(#[$only])? Self::$Control(of) => {
                        of.gap_ns(window, config, outstanding, srtt_ns)
                    }),+
                }
            }

            pub fn burst(&self) -> u32 {
                match self {
                    $($(#[$only])? Self::$Control(of) => Control::burst(of)),+
                }
            }

            pub fn marked_share(&self) -> Option<f64> {
                match self {
                    $($(#[$only])? Self::$Control(of) => Control::marked_share(of)),+
                }
            }
        }
    };
}

controls! {
    reno::Reno,
    cubic::Cubic,
    dctcp::Dctcp,
    bbr::Bbr,
    bbr3::Bbr3,
    prague::Prague,
    prague_2020::Prague2020,
    prague_2021::Prague2021,
    prague_2024::Prague2024,
    ledbat::Ledbat,
    ledbatpp::Ledbatpp,
    linux_cubic::LinuxCubic,
    #[cfg(test)]
    witness::Witness,
}

const _: () = assert!(
    size_of::<AnyControl>() <= 48,
    "a control's state takes over 40 bytes: a sender would fill a fifth cache line"
);

/// A congestion control. It sees all that happens, and answers in `window`: how many packets may be
/// in flight.
pub(crate) trait Control: Default {
    /// True if it uses the number of marked packets. The connection must then use ECN, and its
    /// receiver must echo each mark once (RFC 8257, section 3.2), not until the sender answers.
    const COUNTS_MARKS: bool = false;

    /// True if it uses samples of the delivery rate. They need recovery by times, and memory for
    /// each packet in flight.
    const SAMPLES_DELIVERY: bool = false;

    /// True if it answers marks itself, by their number in [`Sample::ce`], and not once for each
    /// window as [`Event::Mark`]. This needs accurate feedback (RFC 9768) and recovery by times.
    const ANSWERS_MARKS: bool = false;

    /// True if it answers a rate and cannot do without it.
    const PACES: bool = false;

    /// How many times a window of packets the socket's memory holds (Linux: `sndbuf_expand`).
    const MEMORY_FACTOR: u32 = 2;

    /// Takes what an ACK says about marks, before anything reacts to it.
    fn count_marks(&mut self, _marks: &Marks) {}

    /// Takes a packet that is sent.
    fn on_sent(&mut self, _window: &mut Window, _sent: &Sent) {}

    /// Takes a packet that is found lost, if the control asks for samples of the delivery rate.
    fn on_lost(&mut self, _window: &mut Window, _lost: &LostPacket) {}

    /// Takes an ACK, after its losses and marks were told as events, with what was delivered, if it
    /// asks for that.
    fn on_ack(
        &mut self,
        window: &mut Window,
        config: &Config,
        ack: &Sample,
        delivery: Option<&Delivery>,
    );

    /// Takes an event.
    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event);

    /// Returns the rate, packets per second, at which packets may leave; `None`: at once. The
    /// packets from the first not acknowledged to the last sent are `outstanding`; the smoothed
    /// round-trip time is 0 before the first measurement.
    fn pacing_rate(
        &self,
        window: &Window,
        config: &Config,
        outstanding: u32,
        srtt_ns: u64,
    ) -> Option<f64>;

    /// Returns how long the share of a packet lasts at this rate, ns.
    fn gap_ns(
        &self,
        window: &Window,
        config: &Config,
        outstanding: u32,
        srtt_ns: u64,
    ) -> Option<u64> {
        let rate = self.pacing_rate(window, config, outstanding, srtt_ns);
        rate.map(gap_ns)
    }

    /// Returns how many packets leave together when it paces.
    fn burst(&self) -> u32 {
        1
    }

    /// Returns its estimate of the share of packets that are marked, if it has one.
    fn marked_share(&self) -> Option<f64> {
        None
    }
}

/// Returns how long the share of a packet lasts at a rate, ns.
fn gap_ns(rate: f64) -> u64 {
    (1e9 / rate).round() as u64
}

/// A number that any change of `of` changes altogether (the finaliser of SplitMix64).
fn hash(of: u64) -> u64 {
    let mixed = (of ^ (of >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
