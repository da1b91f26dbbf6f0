/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
//! The contract of an AQM for programs in Rust, with `std` or without: the view, the verdicts, and
//! the table entry that `AQM_CLASS` makes where `AQM_HOSTED` is defined; see `aqm.h`.
//!
//! The engine uses this file, too. Its build makes the C compiler compare [`LAYOUT`] with `aqm.h`.

#![allow(dead_code)] // a program may use only a part

use core::{
    ffi::{c_char, c_void},
    mem::{offset_of, transmute},
};

/// Name, offset (bytes) and size (bytes) of a field.
type Field = (&'static str, usize, usize);

/// Defines structs that C has, too (the name in C is after `=`), and records their layout.
macro_rules! c_structs {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident = $c_name:ident {
            $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            $vis struct $name {
                $($(#[$field_meta])* $field_vis $field: $type,)*
            }
        )*

        /// Name in C, size (bytes) and fields of each struct.
        pub const LAYOUT: &[(&str, usize, &[Field])] = &[$((
            stringify!($c_name),
            size_of::<$name>(),
            &[$((stringify!($field), offset_of!($name, $field), size_of::<$type>()),)*],
        ),)*];
    };
}

/// `X_arrive` with `aqm_settle`, or `X_depart` with `aqm_mark_instead`; takes state, config and
/// view, and returns the number of the verdict.
pub type Decide = unsafe extern "C" fn(*mut c_void, *const c_void, *const View) -> u32;

/// As [`Decide`], of a coupled discipline, which also takes its lanes.
pub type DecideAmong =
    unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, *const View) -> u32;

c_structs! {
    /// Everything that an AQM may see; field by field `struct aqm_view` of `aqm/aqm.h`. A field
    /// that a call does not use is 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct View = aqm_view {
        /// Time of the call by the world's clock, ns.
        pub now_ns: u64,
        /// Time at which server and queue fell empty, ns; meaningful only while `idle`.
        pub idle_since_ns: u64,
        /// For departures: how long this packet has waited, ns.
        pub sojourn_ns: u64,
        /// Rate of the link behind the queue, bits/s.
        pub rate_bps: u64,
        /// For arrivals and departures: a fresh random word.
        pub random: u64,
        /// Bytes that wait, without the packet in service; with a scheduler, in this AQM's queue.
        pub queue_bytes: u64,
        /// Bytes that wait in all queues together; not at ticks.
        pub buffer_bytes: u64,
        /// Packets that wait, in the same queue, without the packet in service.
        pub queue_packets: u32,
        /// Limit of the buffer, packets; with a scheduler, of all queues together.
        pub limit_packets: u32,
        /// Size of the packet of this call, bytes.
        pub packet_bytes: u32,
        /// Hash of the packet's flow.
        pub flow_hash: u32,
        /// For arrivals at an AQM that wants a candidate: hash of the flow of a waiting packet
        /// that was drawn at random.
        pub candidate_flow_hash: u32,
        /// In `classify`: hash of the host that sent the packet; 0 if the world knows none.
        pub source_hash: u32,
        /// The same of the host to which it goes.
        pub destination_hash: u32,
        /// Number of this AQM's queue; without a scheduler 0.
        pub lane: u32,
        /// 1 while no packet waits and none is in service.
        pub idle: u8,
        /// 1 if the packet may be marked instead of dropped.
        pub ecn_capable: u8,
        /// For arrivals: 1 if the buffer has no room for the packet.
        pub full: u8,
        /// Traffic class of the packet: its differentiated services codepoint, and in the two low
        /// bits its ECN codepoint.
        pub traffic_class: u8,
    }

    /// A parameter.
    pub struct CParam = aqm_param {
        pub name: *const c_char,
        pub kind: *const c_char,
        pub initial: f64,
        pub least: f64,
        pub greatest: f64,
        pub when: *const c_char,
        pub help: *const c_char,
        pub source: *const c_char,
    }

    /// A rule between parameters.
    pub struct CRule = aqm_rule {
        pub left: *const c_char,
        pub says: *const c_char,
        pub right: *const c_char,
    }

    /// A preset's own default.
    pub struct CDefault = aqm_default {
        pub name: *const c_char,
        pub value: f64,
    }

    /// What the world tells a scheduler of a lane.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LaneView = aqm_lane {
        /// Bytes that wait in it.
        pub bytes: u64,
        /// Time since which its first packet waits, ns; 0 if none does.
        pub head_since_ns: u64,
        /// Packets that wait in it.
        pub packets: u32,
        /// Size of its first packet, bytes; 0 if none waits.
        pub head_bytes: u32,
    }

    /// The lanes of a scheduler: an array of `struct X_lane`, each of which begins with a
    /// [`LaneView`].
    pub struct CLanes = aqm_lanes {
        pub first: *mut u8,
        pub size: u64,
        pub count: u32,
    }

    /// An AQM or a scheduler. A function that it does not have is `None`. In a preset, whatever comes from its
    /// `base` is null, 0 or `None`.
    pub struct CClass = aqm_class {
        pub name: *const c_char,
        pub title: *const c_char,
        pub source: *const c_char,
        pub summary: *const c_char,
        pub base: *const CClass,
        pub defaults: *const CDefault,
        pub defaults_count: u64,
        pub params: *const CParam,
        pub params_count: u64,
        pub rules: *const CRule,
        pub rules_count: u64,
        pub config_size: u64,
        pub state_size: u64,
        pub configure: Option<unsafe extern "C" fn(*const i64, *mut c_void) -> u32>,
        pub arrive: Option<Decide>,
        pub depart: Option<Decide>,
        pub tick: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const View)>,
        pub tick_interval_ns: Option<unsafe extern "C" fn(*const c_void) -> u64>,
        pub drop_probability: Option<unsafe extern "C" fn(*const c_void, i64) -> i64>,
        pub average: Option<unsafe extern "C" fn(*const c_void) -> i64>,
        pub probability: Option<unsafe extern "C" fn(*const c_void, *const c_void) -> i64>,
        pub occupancy: Option<unsafe extern "C" fn(*mut c_void, *const c_void, *const View, i64)>,
        pub wants_candidate: u64,
        pub lane_size: u64,
        pub lanes: Option<unsafe extern "C" fn(*const c_void) -> u64>,
        pub wants_random: Option<
            unsafe extern "C" fn(*const c_void, *const c_void, *const View) -> u32,
        >,
        pub classify: Option<DecideAmong>,
        pub joined: Option<
            unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, u32),
        >,
        pub next: Option<
            unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, u64) -> u32,
        >,
        pub sent: Option<
            unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, u32, u32),
        >,
        pub victim: Option<
            unsafe extern "C" fn(*const c_void, *const c_void, *mut CLanes, u32, u32) -> u32,
        >,
        pub ready_ns: Option<unsafe extern "C" fn(*const c_void) -> u64>,
        pub shape: Option<unsafe extern "C" fn(*const c_void) -> u64>,
        pub lost: Option<
            unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, *const View),
        >,
        pub ack_filter: Option<unsafe extern "C" fn(*const c_void) -> u64>,
        pub thinned: Option<
            unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, *const View),
        >,
        pub arrive_among: Option<DecideAmong>,
        pub depart_among: Option<DecideAmong>,
        pub tick_among: Option<
            unsafe extern "C" fn(*mut c_void, *const c_void, *mut CLanes, *const View),
        >,
    }
}

/// The fields of [`View`], as in [`LAYOUT`].
const VIEW: &[Field] = LAYOUT[0].2;

impl View {
    /// Returns the names of the fields, in their order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        VIEW.iter().map(|(name, ..)| *name)
    }

    /// Returns the values of the fields, in their order.
    pub fn values(&self) -> impl Iterator<Item = u64> {
        let start: *const u8 = (&raw const *self).cast();
        VIEW.iter().map(move |(_, offset, size)| {
            // SAFETY: a field of this size, all of whose bits are a number, is at this offset.
            unsafe {
                let field = start.add(*offset);
                match size {
                    8 => field.cast::<u64>().read(),
                    4 => field.cast::<u32>().read().into(),
                    _ => field.read().into(),
                }
            }
        })
    }

    /// Returns the view with these values of its fields; the rest is 0.
    pub fn of(values: impl Iterator<Item = u64>) -> Self {
        let mut view = Self::default();
        let start: *mut u8 = (&raw mut view).cast();
        for ((_, offset, size), value) in VIEW.iter().zip(values) {
            // SAFETY: as in `values`.
            unsafe {
                let field = start.add(*offset);
                match size {
                    8 => field.cast::<u64>().write(value),
                    4 => field.cast::<u32>().write(value as u32),
                    _ => field.write(value as u8),
                }
            }
        }
        view
    }
}

/// What becomes of a packet, and why; `enum aqm_verdict`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Joins the queue.
    Admit,
    /// Dropped by chance, before the queue must drop.
    DropEarly,
    /// Dropped because the drop function gives 1, or where a mark is ruled out.
    DropForced,
    /// Dropped because the buffer is full.
    DropOverflow,
    /// Joins the queue with a congestion mark.
    Mark,
    /// Dropped, and the candidate with it.
    DropBoth,
}

impl Verdict {
    /// How many verdicts there are.
    pub const COUNT: usize = Self::NAMES.len();

    /// Names of the verdicts in C without `AQM_`, in the order of their numbers.
    pub const NAMES: [&str; 6] = [
        "ADMIT",
        "DROP_EARLY",
        "DROP_FORCED",
        "DROP_OVERFLOW",
        "MARK",
        "DROP_BOTH",
    ];

    /// Returns the name in C without `AQM_`, such as `DROP_EARLY`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Returns the verdict with this number; `None` if no verdict has it.
    #[inline]
    pub fn from_code(code: u32) -> Option<Self> {
        // SAFETY: the verdicts are numbered from 0 on, which the build checks.
        (code < Self::COUNT as u32).then(|| unsafe { transmute::<u32, Self>(code) })
    }

    /// True if the packet is dropped.
    #[inline]
    pub fn is_drop(self) -> bool {
        matches!(
            self,
            Self::DropEarly | Self::DropForced | Self::DropOverflow | Self::DropBoth
        )
    }
}

/// An AQM with its config and its state; each takes at most `WORDS` words of 64 bits. A call that
/// the AQM does not have does nothing, so a program that makes all of them can take any AQM.
pub struct Aqm<const WORDS: usize> {
    class: &'static CClass,
    config: [u64; WORDS],
    state: [u64; WORDS],
}

impl<const WORDS: usize> Aqm<WORDS> {
    /// Returns the AQM in its initial state; `None` if `WORDS` is too small, or if the number of
    /// the parameters is wrong or they break a rule.
    ///
    /// # Safety
    /// `class` must be made by `AQM_CLASS`, and `params` must have its parameters in its order.
    pub unsafe fn new(class: &'static CClass, params: &[i64]) -> Option<Self> {
        let (mut config, state) = ([0; WORDS], [0; WORDS]);
        let fits = class.config_size.max(class.state_size) <= size_of_val(&state) as u64
            && class.params_count == params.len() as u64;
        // SAFETY: both are at least as long as C expects.
        (fits && unsafe { class.configure?(params.as_ptr(), config.as_mut_ptr().cast()) } == 0)
            .then_some(Self {
                class,
                config,
                state,
            })
    }

    /// Returns the verdict for a packet that arrives.
    pub fn arrive(&mut self, view: &View) -> Verdict {
        self.decide(self.class.arrive, view)
    }

    /// Returns the verdict for a packet that was taken out of the queue.
    pub fn depart(&mut self, view: &View) -> Verdict {
        self.decide(self.class.depart, view)
    }

    /// Tells the AQM that a packet joins the waiting ones (`change` 1) or leaves them (-1).
    pub fn occupancy(&mut self, view: &View, change: i64) {
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config.as_ptr().cast());
        if let Some(occupancy) = self.class.occupancy {
            // SAFETY: `new` made state and config for this class.
            unsafe { occupancy(state, config, view, change) }
        }
    }

    /// Returns the time between two ticks, ns; `None` if the AQM has no tick.
    pub fn tick_interval_ns(&self) -> Option<u64> {
        let interval_ns = self.class.tick_interval_ns?;
        // SAFETY: `new` made the config for this class.
        let interval_ns = unsafe { interval_ns(self.config.as_ptr().cast()) };
        (interval_ns > 0).then_some(interval_ns)
    }

    /// The AQM's tick: call it every `tick_interval_ns`, or the AQM does not work.
    pub fn tick(&mut self, view: &View) {
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config.as_ptr().cast());
        if let Some(tick) = self.class.tick {
            // SAFETY: `new` made state and config for this class.
            unsafe { tick(state, config, view) }
        }
    }

    fn decide(&mut self, decide: Option<Decide>, view: &View) -> Verdict {
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config.as_ptr().cast());
        // SAFETY: `new` made state and config for this class.
        let code = decide.map(|decide| unsafe { decide(state, config, view) });
        code.and_then(Verdict::from_code).unwrap_or(Verdict::Admit)
    }
}
