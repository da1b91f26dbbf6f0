//! What an instance of a kind has counted: `struct counts` and what stands behind it in
//! `instance.bpf.h`.

use sluice_aqm::Verdict;

use crate::settings::SETTINGS_BYTES;

/// Numbers behind the verdicts.
const OTHERS: usize = 13;
const WORD: usize = size_of::<u64>();
/// Bytes of `struct counts`.
const COUNTS_BYTES: usize = (Verdict::COUNT + OTHERS) * WORD;

/// What an instance has counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Arrivals by verdict; more losses, and departures that were no admission.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets that came.
    pub arrivals: u64,
    /// Their bytes, where the kind tells.
    pub arrived_bytes: u64,
    /// Packets that left for the link.
    pub sent: u64,
    /// Their bytes, where the kind tells.
    pub sent_bytes: u64,
    /// Packets that were dropped.
    pub lost: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Packets that waited when the qdisc was taken away.
    pub left: u64,
    /// Sum of the sojourns of what was sent.
    pub sojourn_ns: u64,
    /// The longest of them.
    pub sojourn_max_ns: u64,
    /// Sum of their delays, where the kind tells.
    pub delay_ns: u64,
    /// Sum of the time that they left later than they could have, likewise.
    pub lateness_ns: u64,
    /// When it was put before its interface, by the kernel's monotonic clock.
    pub begun_ns: u64,
    /// When something was last counted.
    pub until_ns: u64,
}

impl Counts {
    /// Packets that wait, and their bytes, where the kind tells.
    pub fn waiting(&self) -> (u64, u64) {
        let gone = self.sent + self.lost + self.left;
        let gone_bytes = self.sent_bytes + self.lost_bytes;
        let packets = self.arrivals.saturating_sub(gone);
        match packets {
            0 => (0, 0),
            _ => (packets, self.arrived_bytes.saturating_sub(gone_bytes)),
        }
    }
}

/// Entries of `instances`.
const INSTANCES: usize = 8;

/// An entry of `instances`: `struct instance`.
pub(crate) struct Instance<'a>(&'a [u8]);

impl<'a> Instance<'a> {
    /// All of them, from the map's one value.
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
            sojourn_ns: others[7],
            sojourn_max_ns: others[8],
            delay_ns: others[9],
            lateness_ns: others[10],
            begun_ns: others[11],
            until_ns: others[12],
        }
    }

    /// Whether it stands before an interface.
    pub fn is_used(&self) -> bool {
        let bytes = self.0[Self::IS_USED..Self::IS_USED + size_of::<u32>()].try_into();
        u32::from_ne_bytes(bytes.expect("four bytes")) != 0
    }

    /// What the AQM remembers; its config takes so many bytes.
    pub fn state(&self, config_bytes: usize) -> &[u8] {
        // the config is in a union with a word
        &self.0[Self::CONFIG + config_bytes.next_multiple_of(WORD).max(WORD)..]
    }
}
