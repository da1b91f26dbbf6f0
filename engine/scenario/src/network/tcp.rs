//! Both ends of a TCP connection.

use std::sync::OnceLock;

use sluice_tcp::CongestionControl;

use crate::{
    describe::ValueKind,
    elsewhere::{is_of_the_kernel, with_the_kernels},
    field::{Field, word},
    limits::{Limits, at_least},
    network::distribution::DURATION,
    reader::Reader,
    table::{table, words},
    value::Value,
};

/// Size of a packet on a link.
pub(crate) const PACKET: Limits = at_least(1.0).at_most(65_535.0).unit("bytes");

words! {
    /// The way in which a sender recovers from loss.
    pub enum Variant {
        /// Fast retransmit, then slow start (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast recovery until the first new ACK (RFC 5681).
        Reno = "reno",
        /// Fast recovery through partial ACKs (RFC 6582).
        NewReno = "newreno",
        /// Recovery by selective acknowledgements (RFC 6675).
        Sack = "sack",
        /// Recovery by times, as in today's systems: RACK-TLP (RFC 8985) with PRR (RFC 9937).
        Rack = "rack",
    }
    not "cubic": "it is a congestion control; say congestion_control = 'cubic' beside variant = 'sack'"
}

impl Field for CongestionControl {
    fn kind(_: Limits) -> ValueKind {
        ValueKind::Word("CongestionControl", names())
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        // only the kernel has it
        if let Value::Text(name) = value
            && is_of_the_kernel(name)
        {
            let names = names().join(", ");
            let hint = with_the_kernels(name);
            reader.refuse(value, format!("must be one of {names}; {hint}"));
            return None;
        }
        word(value, names(), &[], reader).and_then(|place| offered().nth(place))
    }

    fn write(&self) -> Value {
        Value::Text(self.name().into())
    }
}

/// Returns the names of the congestion controls that a scenario can have.
pub(crate) fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| offered().map(CongestionControl::name).collect())
}

/// Returns the congestion controls that a scenario can have: all except Linux's CUBIC, which is
/// `cubic` with `like = "linux"`.
fn offered() -> impl Iterator<Item = CongestionControl> {
    let all = CongestionControl::ALL.iter().copied();
    all.filter(|control| *control != CongestionControl::LinuxCubic)
}

words! {
    /// The source of values that are not given.
    pub enum Like {
        /// The values of the RFCs.
        Rfc = "rfc",
        /// The defaults of ns-2.35.
        Ns2 = "ns2",
        /// Values and rules of Linux: a handshake, windows of whole packets, its CUBIC, its timers
        /// and its ACKs.
        Linux = "linux",
    }
}

words! {
    /// What the end that answers a SYN can do about marks.
    pub enum ServerEcn {
        /// Accurate feedback (RFC 9768), and classic.
        Accurate = "accurate",
        /// Classic feedback (RFC 3168).
        Classic = "classic",
        /// Classic feedback with the nonce of RFC 3540, which is historic.
        Nonce = "nonce",
        /// Nothing: it takes no notice of what is asked for.
        None = "none",
        /// Nothing, and its answer reflects the flags of the SYN.
        Broken = "broken",
    }
}

table! {
    /// Both ends of a TCP connection.
    pub struct Tcp checked by has_what_its_control_needs {
        /// How the sender recovers from loss; not given: `newreno`, and `rack` where `like` is `linux`.
        variant: Option<Variant>;
        /// How the sender's window grows, and how a loss or a mark reduces it: `reno` (RFC 5681),
        /// `cubic` (RFC 9438; Linux's own where `like` is `linux`), `dctcp` (RFC 8257), which needs
        /// `ecn = true`, `bbr` (version 1, as in Linux), `bbr3` (version 3), `prague`, which needs
        /// `ecn = true` and sends ECT(1), `prague_2020`, as measured then, without independence of round
        /// trips below 25 ms, `prague_2021`, with that independence after 500 rounds, or
        /// `prague_2024`, as measured with the L4S team's Linux 5.15, whose fallback takes every queue for a
        /// classic one. The last six need `variant = "rack"`, and they pace. `ledbat` (RFC 6817) and
        /// `ledbatpp` (LEDBAT++) give way to others.
        congestion_control: CongestionControl = CongestionControl::Reno;
        /// `rfc` for the RFCs' values, `ns2` for the defaults of ns-2.35, `linux` for today's hosts.
        like: Like = Like::Rfc;
        /// Greatest number of packets in flight (ns-2's `window_`).
        receiver_window: u32 = 10_000, at_least(1.0).at_most(4_294_967_295.0).unit("packets");
        /// Whether both ends use explicit congestion notification (RFC 3168).
        ecn: bool = false;
        /// Whether the receiver feeds marks back by their number (AccECN, RFC 9768), where `ecn` is
        /// true; not given: if the congestion control asks for it. If it is false, or the other end
        /// cannot, `prague` falls back to Reno.
        accurate_ecn: Option<bool>;
        /// Whether Prague, in all versions, reduces its window as CUBIC does where the queue seems to
        /// be a classic one, whose length varies by more than 750 us (`prague_ecn_fallback`, which Linux
        /// has off, too).
        classic_fallback: bool = false;
        /// What the other end can do about marks, which the handshake finds out: `accurate` (and classic
        /// ECN), `classic`, `nonce` (classic ECN with the nonce of RFC 3540), `none`, or `broken` (none,
        /// and its answer reflects the flags of the SYN); not given: the same as this end. A handshake
        /// is what `like = "linux"` has.
        server_ecn: Option<ServerEcn>;
        /// Whether the first slow start goes on at a quarter of its pace when round-trip times grow,
        /// and ends five round trips later (HyStart++, RFC 9406). Linux's CUBIC has a HyStart of its
        /// own.
        hystart_plus: bool = false;
        /// Whether packets leave one by one, at a rate that follows the window, not as soon as the
        /// window allows: at two windows per round trip in early slow start, else at 1.2 (as in
        /// Linux).
        pacing: bool = false;
        /// Whether packets of `bbr`, `bbr3` and `prague` leave in bursts of about a millisecond and
        /// less, as hosts send them whose network card cuts large packets (TSO). In the gate and the
        /// laboratory it is off.
        segmentation_offload: bool = true;
        /// Size of a data packet on the wire.
        packet_bytes: u16 = 500, PACKET;
        /// Size of an ACK or a SYN on the wire. Selective acknowledgements make an ACK longer: by 8
        /// bytes for each block, and by 4 more if it is like the RFCs'. So does, like Linux's,
        /// the counter of marks of accurate feedback, by 8 or 12 bytes.
        ack_bytes: u16 = 40, PACKET;
        /// Initial congestion window; not given: that of `like`.
        initial_window: Option<f64>, at_least(1.0).at_most(1e6).unit("packets");
        /// Least time-out; not given: that of `like`.
        min_rto_s: Option<f64>, DURATION;
        /// Time-out before the first round-trip time is known; not given: that of `like`.
        initial_rto_s: Option<f64>, DURATION;
        /// Granularity of the sender's clock; not given: that of `like`.
        tick_s: Option<f64>, DURATION;
        /// Longest time an ACK waits for another packet, 0: none waits; not given: that of `like`.
        delayed_ack_s: Option<f64>, at_least(0.0).at_most(0.5).unit("s");
        /// Packets in order that the receiver acknowledges with one ACK, if they come before that time
        /// is over: 1 acknowledges each, and more than 2 thins the ACKs.
        ack_every: u16 = 2, at_least(1.0).at_most(255.0).unit("packets");
    }
}

impl Tcp {
    /// True if the receiver feeds marks back by their number.
    pub fn feeds_back_numbers(&self) -> bool {
        let asks = self.congestion_control.answers_marks();
        self.accurate_ecn.unwrap_or(asks)
    }

    /// Returns the congestion control after both ends have agreed on the feedback: Reno, if it
    /// needs numbers and gets none (Linux: `prague_reno`).
    pub fn agreed_control(&self) -> CongestionControl {
        if self.congestion_control.answers_marks() && !self.feeds_back_numbers() {
            CongestionControl::Reno
        } else {
            self.congestion_control
        }
    }

    fn has_what_its_control_needs(&self, reader: &mut Reader) {
        let control = self.congestion_control;
        let name = control.name();
        if (control.counts_marks() || control.answers_marks()) && !self.ecn {
            reader.say(format!(
                "congestion_control = '{name}' needs ecn = true: it counts marks"
            ));
        }
        let variant = match self.like {
            Like::Linux => self.variant.unwrap_or(Variant::Rack),
            Like::Rfc | Like::Ns2 => self.variant.unwrap_or(Variant::NewReno),
        };
        if self.hystart_plus && variant != Variant::Rack {
            reader.say("hystart_plus = true needs variant = 'rack': it compares round-trip times");
        }
        if self.hystart_plus && self.like == Like::Linux && control == CongestionControl::Cubic {
            reader.say("hystart_plus = true: Linux's CUBIC has a HyStart of its own");
        }
        if self.classic_fallback && !control.answers_marks() {
            reader.say("classic_fallback = true needs congestion_control = 'prague'");
        }
        if self.server_ecn.is_some() && !self.ecn {
            reader.say("server_ecn needs ecn = true: else nothing asks for marks");
        }
        if self.server_ecn.is_some() && self.like != Like::Linux {
            reader.say(
                "server_ecn needs like = 'linux': only there is a handshake that finds it out",
            );
        }
        if control.needs_times() && variant != Variant::Rack {
            reader.say(format!(
                "congestion_control = '{name}' needs variant = 'rack', which like = 'linux' has: it \
                 asks what is in flight"
            ));
        }
    }
}
