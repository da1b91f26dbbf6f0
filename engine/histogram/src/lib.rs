//! Histograms of whole numbers with exact sums, for all worlds.

/// A histogram of whole numbers, with the exact sum of the values and of their squares.
///
/// Each value below 8192 has a bin of its own; for larger values, the width of all bins doubles
/// until 8192 bins suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// Values below `BINS`, one bin each: the inner loop only increments these counts.
    near: Vec<u64>,
    /// Larger values, in bins of `1 << shift`.
    far: Vec<u64>,
    shift: u32,
    far_sum: u128,
    far_square_sum: u128,
}

const BINS: usize = 8192;

impl Histogram {
    /// Greatest memory of a histogram, bytes.
    pub const MOST_BYTES: u64 = 2 * 8 * BINS as u64;

    /// Returns an empty histogram.
    pub fn new() -> Self {
        Self {
            near: Vec::new(),
            far: Vec::new(),
            shift: 0,
            far_sum: 0,
            far_square_sum: 0,
        }
    }

    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        match self.near.get_mut(value as usize) {
            Some(count) => *count += 1,
            None if value < BINS as u64 => self.add_new(value),
            None => self.add_far(value),
        }
    }

    /// Counts the first value of each pair in one histogram and the second in another, like `add`
    /// but faster.
    #[inline]
    pub fn add_pairs(
        first: &mut Self,
        second: &mut Self,
        mut pairs: impl Iterator<Item = (u64, u64)>,
    ) {
        loop {
            let near = (first.near.as_mut_slice(), second.near.as_mut_slice());
            let (one, other) = loop {
                let Some((one, other)) = pairs.next() else {
                    return;
                };
                match (near.0.get_mut(one as usize), near.1.get_mut(other as usize)) {
                    (Some(one), Some(other)) => {
                        *one += 1;
                        *other += 1;
                    }
                    _ => break (one, other),
                }
            };
            first.add(one);
            second.add(other);
        }
    }

    #[cold]
    fn add_new(&mut self, value: u64) {
        let length = (value as usize + 1).next_power_of_two();
        self.near.resize(length, 0);
        self.near[value as usize] += 1;
    }

    #[inline]
    fn add_far(&mut self, value: u64) {
        self.far_sum += u128::from(value);
        self.far_square_sum += u128::from(value) * u128::from(value);
        match self.far.get_mut((value >> self.shift) as usize) {
            Some(count) => *count += 1,
            None => self.add_farther(value),
        }
    }

    #[cold]
    fn add_farther(&mut self, value: u64) {
        while value >> self.shift >= BINS as u64 {
            self.far = coarser(&self.far);
            self.shift += 1;
        }
        let bin = (value >> self.shift) as usize;
        self.far.resize((bin + 1).next_power_of_two(), 0);
        self.far[bin] += 1;
    }

    /// Returns the width of a bin.
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the counts of values in `[k width, (k + 1) width)`, up to the last that is not 0.
    pub fn bins(&self) -> Vec<u64> {
        let mut bins = self.near.clone();
        (0..self.shift).for_each(|_| bins = coarser(&bins));
        add_all(&mut bins, &self.far);
        bins.truncate(
            bins.iter()
                .rposition(|count| *count > 0)
                .map_or(0, |last| last + 1),
        );
        bins
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.near.iter().chain(&self.far).sum()
    }

    fn near_sum(&self, power: u32) -> u128 {
        let term = |(value, count): (usize, &u64)| (value as u128).pow(power) * u128::from(*count);
        self.near.iter().enumerate().map(term).sum()
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> u128 {
        self.near_sum(1) + self.far_sum
    }

    /// Returns the sum of their squares.
    pub fn square_sum(&self) -> u128 {
        self.near_sum(2) + self.far_square_sum
    }

    /// Adds the counts of `other`, at the coarser width of the two.
    pub fn merge(&mut self, other: &Self) {
        let mut far = other.far.clone();
        (other.shift..self.shift).for_each(|_| far = coarser(&far));
        (self.shift..other.shift).for_each(|_| self.far = coarser(&self.far));
        self.shift = self.shift.max(other.shift);
        add_all(&mut self.far, &far);
        add_all(&mut self.near, &other.near);
        self.far_sum += other.far_sum;
        self.far_square_sum += other.far_square_sum;
    }
}

fn coarser(bins: &[u64]) -> Vec<u64> {
    // in pairs of a known length, so that several are added at once
    let (pairs, rest) = bins.as_chunks::<2>();
    let sums = pairs.iter().map(|[one, other]| one + other);
    sums.chain(rest.iter().copied()).collect()
}

/// Adds each element of `from` to that of `to`, which grows to the length of `from` if it is
/// shorter.
pub fn add_all(to: &mut Vec<u64>, from: &[u64]) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

impl Default for Histogram {
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
            let mut pairs = (Histogram::new(), Histogram::new());
            let both = first.iter().copied().zip(second.iter().copied());
            Histogram::add_pairs(&mut pairs.0, &mut pairs.1, both);
            let count = first.len().min(second.len());
            prop_assert_eq!(pairs, (fill(&first[..count]), fill(&second[..count])));
            let (mut direct, mut sum, mut square_sum) = (vec![0; merged.bins().len()], 0, 0);
            for value in first.iter().chain(&second) {
                direct[(value / merged.width()) as usize] += 1;
                sum += u128::from(*value);
                square_sum += u128::from(*value).pow(2);
            }
            prop_assert_eq!(merged.bins(), direct);
            prop_assert_eq!(merged.count() as usize, first.len() + second.len());
            prop_assert_eq!((merged.sum(), merged.square_sum()), (sum, square_sum));
            prop_assert!(merged.bins().len() <= BINS);
        }
    }
}
