//! Counts of an instance of a kind: `struct counts` and the fields of `struct instance` after it,
//! in `instance.bpf.h`.

use std::mem::offset_of;

use sluice_aqm::Verdict;

use crate::{
    settings::CSettings,
    shared::{Checks, Layout, layout, read},
};

const WORD: usize = size_of::<u64>();

/// Counts of an instance: `struct counts`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Arrivals by verdict, plus further drops that an arrival causes, plus marks and drops on
    /// departure.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets that arrived.
    pub arrivals: u64,
    /// Their bytes; 0 unless [`crate::Fixed::sampled`].
    pub arrived_bytes: u64,
    /// Packets sent to the link.
    pub sent: u64,
    /// Their bytes; 0 unless [`crate::Fixed::sampled`].
    pub sent_bytes: u64,
    /// Packets that were dropped.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Packets that waited when the qdisc was reset or removed.
    pub left: u64,
    /// Their bytes.
    pub left_bytes: u64,
    /// Sum of the sojourns of the packets sent.
    pub sojourn_ns: u64,
    /// Longest sojourn of a packet sent.
    pub sojourn_max_ns: u64,
    /// Sum of the delays of the packets sent, where the rate varies of those whose transmission has ended; 0
    /// unless [`crate::Fixed::sampled`].
    pub delay_ns: u64,
    /// Sum of the times by which packets were sent too late; 0 unless [`crate::Fixed::sampled`].
    pub lateness_ns: u64,
    /// Time at which an interface began to use it, by the kernel's monotonic clock.
    pub begun_ns: u64,
    /// Time of the last change of the queue's length, by the same clock, if
    /// [`crate::Fixed::sampled`]; else `begun_ns`.
    pub until_ns: u64,
}

impl Counts {
    pub(crate) fn layout() -> Layout {
        layout!(
            counts = Counts {
                verdicts,
                arrivals,
                arrived_bytes,
                sent,
                sent_bytes,
                lost,
                lost_bytes,
                left,
                left_bytes,
                sojourn_ns,
                sojourn_max_ns,
                delay_ns,
                lateness_ns,
                begun_ns,
                until_ns,
            }
        )
    }

    /// Returns the packets that wait, and their bytes (0 unless [`crate::Fixed::sampled`]).
    pub fn waiting(&self) -> (u64, u64) {
        let gone = self.sent + self.lost + self.left;
        let gone_bytes = self.sent_bytes + self.lost_bytes + self.left_bytes;
        let packets = self.arrivals.saturating_sub(gone);
        match packets {
            0 => (0, 0),
            _ => (packets, self.arrived_bytes.saturating_sub(gone_bytes)),
        }
    }
}

/// Entries of the map `instances`.
const INSTANCES: usize = 8;

/// How `struct instance` begins. The AQM's config follows, and after all settings, where there is one
/// queue, the AQM's state.
#[repr(C)]
#[derive(Clone, Copy)]
struct Beginning {
    counts: Counts,
    is_used: u32,
    number: u32,
    settings: CSettings,
}

/// Compares what is read of an instance.
pub(crate) fn check(checks: &mut Checks) {
    checks.equal("INSTANCES", INSTANCES);
    for (at, offset) in [
        ("instance, counts", offset_of!(Beginning, counts)),
        ("instance, is_used", offset_of!(Beginning, is_used)),
        ("instance, number", offset_of!(Beginning, number)),
        ("instance, params", offset_of!(Beginning, settings)),
        ("params, settings", 0),
        ("params, config", size_of::<CSettings>()),
    ] {
        checks.equal(&format!("__builtin_offsetof(struct {at})"), offset);
    }
}

/// An entry of the map `instances`: `struct instance`.
pub(crate) struct Instance<'a>(&'a [u8]);

impl<'a> Instance<'a> {
    /// Returns all entries; `value` is the map's one value.
    pub fn all(value: &'a [u8]) -> impl Iterator<Item = Self> {
        value.chunks_exact(value.len() / INSTANCES).map(Self)
    }

    fn beginning(&self) -> Beginning {
        // SAFETY: it is `repr(C)`, and has numbers only.
        unsafe { read(&self.0[..size_of::<Beginning>()]) }
    }

    pub fn counts(&self) -> Counts {
        self.beginning().counts
    }

    /// True if an interface uses it.
    pub fn is_used(&self) -> bool {
        self.beginning().is_used != 0
    }

    /// Returns the AQM's state; `config_bytes` is the size of its config.
    pub fn state(&self, config_bytes: usize) -> &[u8] {
        // the config is in a union with a word, which gives it the size and alignment of words
        &self.0[size_of::<Beginning>() + config_bytes.next_multiple_of(WORD).max(WORD)..]
    }
}
