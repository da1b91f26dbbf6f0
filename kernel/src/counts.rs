//! Counts of an instance of a kind: `struct counts` and the fields of `struct instance` after it,
//! in `instance.bpf.h`.

use sluice_aqm::Verdict;

use crate::settings::SETTINGS_BYTES;

/// Numbers in `struct counts` after the verdicts.
const OTHERS: usize = 14;
const WORD: usize = size_of::<u64>();
/// Bytes of `struct counts`.
const COUNTS_BYTES: usize = (Verdict::COUNT + OTHERS) * WORD;

/// Counts of an instance.
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

/// An entry of the map `instances`: `struct instance`.
pub(crate) struct Instance<'a>(&'a [u8]);

impl<'a> Instance<'a> {
    /// Returns all entries; `value` is the map's one value.
    pub fn all(value: &'a [u8]) -> impl Iterator<Item = Self> {
        value.chunks_exact(value.len() / INSTANCES).map(Self)
    }

    const IS_USED: usize = COUNTS_BYTES;
    const SETTINGS: usize = Self::IS_USED + WORD;
    const CONFIG: usize = Self::SETTINGS + SETTINGS_BYTES;

    pub fn counts(&self) -> Counts {
        let words: Vec<u64> = self.0[..COUNTS_BYTES]
            .chunks_exact(WORD)
            .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
            .collect();
        let (verdicts, others) = words.split_at(Verdict::COUNT);
        Counts {
            verdicts: verdicts.try_into().expect("as many as there are"),
            arrivals: others[0],
            arrived_bytes: others[1],
            sent: others[2],
            sent_bytes: others[3],
            lost: others[4],
            lost_bytes: others[5],
            left: others[6],
            left_bytes: others[7],
            sojourn_ns: others[8],
            sojourn_max_ns: others[9],
            delay_ns: others[10],
            lateness_ns: others[11],
            begun_ns: others[12],
            until_ns: others[13],
        }
    }

    /// True if an interface uses it.
    pub fn is_used(&self) -> bool {
        let bytes = self.0[Self::IS_USED..Self::IS_USED + size_of::<u32>()].try_into();
        u32::from_ne_bytes(bytes.expect("four bytes")) != 0
    }

    /// Returns the AQM's state; `config_bytes` is the size of its config.
    pub fn state(&self, config_bytes: usize) -> &[u8] {
        // the config is in a union with a word, which gives it the size and alignment of words
        &self.0[Self::CONFIG + config_bytes.next_multiple_of(WORD).max(WORD)..]
    }
}
