/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
//! The contract of an AQM for programs in Rust, with `std` or without: the view, the verdicts, and
//! the table entry that `AQM_CLASS` makes where `AQM_HOSTED` is defined; see `aqm.h`.
//!
//! The engine uses this file, too. Its build has the C compiler hold [`LAYOUT`] against `aqm.h`.

#![allow(dead_code)] // a program uses a part

use core::{
    ffi::{c_char, c_void},
    mem::{offset_of, transmute},
};

/// Name, offset and size of a field, bytes.
type Field = (&'static str, usize, usize);

/// Defines structs that C has, too (its name stands behind `=`), and notes their layout.
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

        /// Of each struct the name in C, the size, and the fields.
        pub const LAYOUT: &[(&str, usize, &[Field])] = &[$((
            stringify!($c_name),
            size_of::<$name>(),
            &[$((stringify!($field), offset_of!($name, $field), size_of::<$type>()),)*],
        ),)*];
    };
}

/// `X_arrive` or `X_depart`, settled: of state, config and view.
pub type Decide = unsafe extern "C" fn(*mut c_void, *const c_void, *const View) -> u32;

c_structs! {
    /// Everything that an AQM may see; field by field `struct aqm_view` of `aqm/aqm.h`. What a
    /// call has no use for is 0.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct View = aqm_view {
        /// The world's clock, ns.
        pub now_ns: u64,
        /// When server and queue fell empty, ns; meaningful only while `idle`.
        pub idle_since_ns: u64,
        /// For departures: how long this packet has waited, ns.
        pub sojourn_ns: u64,
        /// Rate of the link behind the queue, bits/s.
        pub rate_bps: u64,
        /// For arrivals and departures: a fresh random word.
        pub random: u64,
        /// Bytes waiting, without the packet in service; with a scheduler, in this AQM's queue.
        pub queue_bytes: u64,
        /// Packets waiting, likewise.
        pub queue_packets: u32,
        /// The buffer, packets; with a scheduler, of all queues together.
        pub limit_packets: u32,
        /// Size of the packet that the call is about, bytes.
        pub packet_bytes: u32,
        /// Hash of the packet's flow.
        pub flow_hash: u32,
        /// For arrivals at an AQM that wants a candidate: hash of the flow of one of the waiting
        /// packets, drawn at random.
        pub candidate_flow_hash: u32,
        /// 1 while no packet waits and none is in service.
        pub idle: u8,
        /// 1 where the packet may be marked instead of dropped.
        pub ecn_capable: u8,
        /// For arrivals: 1 where the buffer has no room for the packet.
        pub full: u8,
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

    /// An AQM; a function that it does not have is `None`, text a preset does not repeat null.
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
    }
}

/// What becomes of a packet, and why; `enum aqm_verdict`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It joins the queue.
    Admit,
    /// Dropped by chance, before it must.
    DropEarly,
    /// Dropped because the drop function leaves no chance.
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

    /// Their names in C, by number, without `AQM_`.
    pub const NAMES: [&str; 6] = [
        "ADMIT",
        "DROP_EARLY",
        "DROP_FORCED",
        "DROP_OVERFLOW",
        "MARK",
        "DROP_BOTH",
    ];

    /// As in C, without `AQM_`: `DROP_EARLY`.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Reads what C returned; `None` for a number that is no verdict.
    #[inline]
    pub fn from_code(code: u32) -> Option<Self> {
        // SAFETY: the verdicts are numbered from 0 on, which the build checks.
        (code < Self::COUNT as u32).then(|| unsafe { transmute::<u32, Self>(code) })
    }

    /// Whether the packet is lost.
    #[inline]
    pub fn is_drop(self) -> bool {
        matches!(
            self,
            Self::DropEarly | Self::DropForced | Self::DropOverflow | Self::DropBoth
        )
    }
}

/// An AQM with its parameters and its state, which take at most `WORDS` words of 64 bits each.
pub struct Aqm<const WORDS: usize> {
    class: &'static CClass,
    config: [u64; WORDS],
    state: [u64; WORDS],
}

impl<const WORDS: usize> Aqm<WORDS> {
    /// `None` if `WORDS` is too small, or if the parameters break a rule.
    ///
    /// # Safety
    /// `class` is what `AQM_CLASS` makes, and `params` has each of its parameters, in its order.
    pub unsafe fn new(class: &'static CClass, params: &[i64]) -> Option<Self> {
        let (mut config, state) = ([0; WORDS], [0; WORDS]);
        let fits = class.config_size.max(class.state_size) <= size_of_val(&state) as u64
            && class.params_count == params.len() as u64;
        // SAFETY: both are as long as C takes them to be.
        (fits && unsafe { class.configure?(params.as_ptr(), config.as_mut_ptr().cast()) } == 0)
            .then_some(Self {
                class,
                config,
                state,
            })
    }

    /// What becomes of a packet that comes.
    pub fn arrive(&mut self, view: &View) -> Verdict {
        self.decide(self.class.arrive, view)
    }

    /// What becomes of a packet that was taken out of the queue.
    pub fn depart(&mut self, view: &View) -> Verdict {
        self.decide(self.class.depart, view)
    }

    fn decide(&mut self, decide: Option<Decide>, view: &View) -> Verdict {
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config.as_ptr().cast());
        // SAFETY: `new` has made them; C gives no other numbers than those of verdicts.
        let code = decide.map(|decide| unsafe { decide(state, config, view) });
        code.and_then(Verdict::from_code).unwrap_or(Verdict::Admit)
    }
}
