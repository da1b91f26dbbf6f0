//! The counts of a port.

use sluice_aqm::Verdict;
use sluice_histogram::Histogram;

use crate::packet::{Kind, Packet};

/// Exact counts of the packets of one kind at one port in a period of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindTally {
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets that were lost, at arrival or later.
    pub lost: u64,
    /// Times from arrival to the end of the transmission, ns.
    pub delay: Histogram,
}

/// Exact counts of one port in a period of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Length of the period.
    pub duration_ns: u64,
    /// Time in which the link sent nothing.
    pub idle_ns: u64,
    /// Entry k: time during which k packets waited, ns; the packet in transmission does not wait.
    pub queue_ns: Vec<u64>,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Count of each [`Verdict`]: one for each arrival, and one for each packet that was dropped in
    /// addition, or dropped or marked at departure.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets whose transmission began.
    pub sent: u64,
    /// Bytes of these packets.
    pub sent_bytes: u64,
    /// Times from arrival to the start of the transmission of these packets, ns.
    pub sojourn: Histogram,
    /// Times from arrival to the end of the transmission of these packets, ns.
    pub delay: Histogram,
    /// Counts of each [`Kind`].
    pub kinds: [KindTally; Kind::COUNT],
}

impl Tally {
    /// Counts a time `ns` in which `waiting` packets waited.
    #[inline]
    pub(crate) fn hold(&mut self, waiting: usize, ns: u64) {
        if waiting >= self.queue_ns.len() {
            self.queue_ns.resize((waiting + 1).next_power_of_two(), 0);
        }
        self.queue_ns[waiting] += ns;
    }

    /// Returns the number of packets that arrived so far, before `close`.
    pub(crate) fn arrivals_so_far(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.arrivals).sum()
    }

    /// Ends the period: sums up what was counted by kind.
    pub(crate) fn close(&mut self) {
        self.arrivals = self.arrivals_so_far();
        for kind in &self.kinds {
            self.delay.merge(&kind.delay);
        }
    }

    /// Counts a packet that is sent. Its transmission starts `sojourn_ns` and ends `delay_ns` after
    /// its arrival.
    #[inline]
    pub(crate) fn send(&mut self, sojourn_ns: u64, delay_ns: u64, packet: &Packet) {
        self.sent += 1;
        self.sent_bytes += u64::from(packet.bytes);
        self.sojourn.add(sojourn_ns);
        self.kinds[packet.kind as usize].delay.add(delay_ns);
    }

    /// Returns the number of packets lost.
    pub fn lost(&self) -> u64 {
        lost(&self.verdicts)
    }
}

/// Returns the number of packets lost, from the counts of verdicts.
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
