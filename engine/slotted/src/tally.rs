//! What a run counts: exact sums and distributions, which are merged without loss of precision.

use sluice_aqm::Verdict;
use sluice_histogram::{Histogram, add_all};

/// The packet in service.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serving {
    /// Slot of its arrival.
    pub arrival: u64,
    /// Slots from its arrival to the start of its service.
    pub sojourn: u64,
    /// Its size, bytes.
    pub bytes: u32,
}

/// Everything that is counted in some slots of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Slots observed.
    pub slots: u64,
    /// Slots at whose end no packet was in service.
    pub idle_slots: u64,
    /// Entry k: slots at whose end k packets waited.
    pub queue: Vec<u64>,
    /// Slots from arrival to the start of service, for packets whose service ended.
    pub sojourn: Histogram,
    /// Slots from arrival to the end of service, for the same packets.
    pub delay: Histogram,
    /// Bytes of the same packets.
    pub served_bytes: u64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Count of each [`Verdict`]: one for each arrival, and one for each packet that was dropped in
    /// addition, or dropped or marked at departure.
    pub verdicts: [u64; Verdict::COUNT],
}

impl Tally {
    /// An empty tally.
    pub fn new() -> Self {
        Self {
            slots: 0,
            idle_slots: 0,
            queue: Vec::new(),
            sojourn: Histogram::new(),
            delay: Histogram::new(),
            served_bytes: 0,
            arrivals: 0,
            verdicts: [0; Verdict::COUNT],
        }
    }

    /// Counts `slots` slots in which `waiting` packets waited.
    #[inline]
    pub(crate) fn hold(&mut self, waiting: usize, slots: u64) {
        match self.queue.get_mut(waiting) {
            Some(held) => *held += slots,
            None => self.hold_longer(waiting, slots),
        }
    }

    /// Like `hold`, for a queue longer than any before.
    #[cold]
    fn hold_longer(&mut self, waiting: usize, slots: u64) {
        self.queue.resize((waiting + 1).next_power_of_two(), 0);
        self.queue[waiting] += slots;
    }

    /// Counts `packet`, whose service ended in slot `now`.
    #[inline]
    pub(crate) fn serve(&mut self, packet: &Serving, now: u64) {
        self.served_bytes += u64::from(packet.bytes);
        self.sojourn.add(packet.sojourn);
        self.delay.add(now - packet.arrival);
    }

    /// Returns the mean number of waiting packets.
    pub fn queue_mean(&self) -> f64 {
        let sum: u128 = self
            .queue
            .iter()
            .enumerate()
            .map(|(k, slots)| k as u128 * u128::from(*slots))
            .sum();
        sum as f64 / self.slots as f64
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.slots += other.slots;
        self.idle_slots += other.idle_slots;
        add_all(&mut self.queue, &other.queue);
        self.sojourn.merge(&other.sojourn);
        self.delay.merge(&other.delay);
        self.served_bytes += other.served_bytes;
        self.arrivals += other.arrivals;
        self.verdicts
            .iter_mut()
            .zip(other.verdicts)
            .for_each(|(to, from)| *to += from);
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}
