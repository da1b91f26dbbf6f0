//! What a port counts.

use sluice_aqm::Verdict;
use sluice_histogram::Histogram;

/// Exact counts of one port in a period of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Length of the period.
    pub duration_ns: u64,
    /// Time in which the link sent nothing.
    pub idle_ns: u64,
    /// Time during which k packets waited, by k, ns; the packet being sent does not wait.
    pub queue_ns: Vec<u64>,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Verdicts, by [`Verdict`]; those at departure included.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets whose transmission began.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Their times from arrival to the start of the transmission, ns.
    pub sojourn: Histogram,
    /// Their times from arrival to the end of the transmission, ns.
    pub delay: Histogram,
}

impl Tally {
    /// `waiting` packets waited for `ns`.
    #[inline]
    pub(crate) fn hold(&mut self, waiting: usize, ns: u64) {
        if waiting >= self.queue_ns.len() {
            self.queue_ns.resize((waiting + 1).next_power_of_two(), 0);
        }
        self.queue_ns[waiting] += ns;
    }

    /// A packet is sent: so long after its arrival its transmission starts, and ends.
    #[inline]
    pub(crate) fn send(&mut self, sojourn_ns: u64, delay_ns: u64, bytes: u16) {
        self.sent += 1;
        self.sent_bytes += u64::from(bytes);
        self.sojourn.add(sojourn_ns);
        self.delay.add(delay_ns);
    }

    /// Packets lost.
    pub fn lost(&self) -> u64 {
        lost(&self.verdicts)
    }
}

/// Packets lost, by the verdicts.
pub(crate) fn lost(verdicts: &[u64; Verdict::COUNT]) -> u64 {
    [
        Verdict::DropEarly,
        Verdict::DropForced,
        Verdict::DropOverflow,
        Verdict::DropBoth,
    ]
    .map(|verdict| verdicts[verdict as usize])
    .iter()
    .sum()
}
