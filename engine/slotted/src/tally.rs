//! What a run counts: exact sums and distributions, merged without loss.

use sluice_aqm::Verdict;

/// Counts of whole numbers in at most 8192 bins, whose width doubles when a value needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    bins: Vec<u64>,
    shift: u32,
}

const BINS: usize = 8192;

impl Histogram {
    fn new() -> Self {
        Self { bins: Vec::new(), shift: 0 }
    }

    /// Width of a bin.
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    /// Counts of `[k width, (k + 1) width)`.
    pub fn bins(&self) -> &[u64] {
        &self.bins
    }

    #[inline]
    fn add(&mut self, value: u64) {
        let bin = (value >> self.shift) as usize;
        match self.bins.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.add_far(value),
        }
    }

    #[cold]
    fn add_far(&mut self, value: u64) {
        while value >> self.shift >= BINS as u64 {
            self.coarsen();
        }
        let bin = (value >> self.shift) as usize;
        if bin >= self.bins.len() {
            self.bins.resize(BINS.min((bin + 1).next_power_of_two()), 0);
        }
        self.bins[bin] += 1;
    }

    fn coarsen(&mut self) {
        self.bins = self.bins.chunks(2).map(|pair| pair.iter().sum()).collect();
        self.shift += 1;
    }

    /// Adds the counts of `other`, at the coarser width of the two.
    pub fn merge(&mut self, other: &Self) {
        while self.shift < other.shift {
            self.coarsen();
        }
        let mut other = other.clone();
        while other.shift < self.shift {
            other.coarsen();
        }
        add_all(&mut self.bins, &other.bins);
    }
}

fn add_all(to: &mut Vec<u64>, from: &[u64]) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Everything that a stretch of a run counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Slots observed.
    pub slots: u64,
    /// Slots in which nothing was in service at the slot's end.
    pub idle_slots: u64,
    /// Slots at whose end k packets waited, by k.
    pub queue: Vec<u64>,
    /// Time in the system (slots) of packets whose service ended.
    pub wait: Histogram,
    /// Packets whose service ended.
    pub served: u64,
    /// Their bytes.
    pub served_bytes: u64,
    /// Sum of their times in the system, slots.
    pub wait_sum: u64,
    /// Sum of the squares.
    pub wait_square_sum: u128,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Verdicts, by [`Verdict`]; those at departure included.
    pub verdicts: [u64; Verdict::COUNT],
}

impl Tally {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            slots: 0,
            idle_slots: 0,
            queue: Vec::new(),
            wait: Histogram::new(),
            served: 0,
            served_bytes: 0,
            wait_sum: 0,
            wait_square_sum: 0,
            arrivals: 0,
            verdicts: [0; Verdict::COUNT],
        }
    }

    /// `waiting` packets waited for `slots` slots.
    #[inline]
    pub(crate) fn hold(&mut self, waiting: usize, slots: u64) {
        if waiting >= self.queue.len() {
            self.queue.resize((waiting + 1).next_power_of_two(), 0);
        }
        self.queue[waiting] += slots;
    }

    /// A packet's service ended after `wait` slots in the system.
    #[inline]
    pub(crate) fn serve(&mut self, wait: u64, bytes: u32) {
        self.served += 1;
        self.served_bytes += u64::from(bytes);
        self.wait.add(wait);
        self.wait_sum += wait;
        self.wait_square_sum += u128::from(wait) * u128::from(wait);
    }

    /// Mean number of waiting packets.
    pub fn queue_mean(&self) -> f64 {
        let sum: u128 =
            self.queue.iter().enumerate().map(|(k, slots)| k as u128 * u128::from(*slots)).sum();
        sum as f64 / self.slots as f64
    }

    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.slots += other.slots;
        self.idle_slots += other.idle_slots;
        add_all(&mut self.queue, &other.queue);
        self.wait.merge(&other.wait);
        self.served += other.served;
        self.served_bytes += other.served_bytes;
        self.wait_sum += other.wait_sum;
        self.wait_square_sum += other.wait_square_sum;
        self.arrivals += other.arrivals;
        self.verdicts.iter_mut().zip(other.verdicts).for_each(|(to, from)| *to += from);
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_histogram_keeps_every_value_in_its_bin(
            first in prop::collection::vec(0_u64..1_000_000, 0..200),
            second in prop::collection::vec(0_u64..5_000, 0..200),
        ) {
            let fill = |values: &[u64]| {
                let mut histogram = Histogram::new();
                values.iter().for_each(|value| histogram.add(*value));
                histogram
            };
            let mut merged = fill(&first);
            merged.merge(&fill(&second));
            let mut direct = vec![0; merged.bins().len()];
            for value in first.iter().chain(&second) {
                direct[(value / merged.width()) as usize] += 1;
            }
            prop_assert_eq!(merged.bins(), &direct[..]);
            prop_assert!(merged.bins().len() <= BINS);
        }
    }
}
