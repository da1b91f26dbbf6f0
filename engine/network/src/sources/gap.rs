//! Gaps between packets, which need not be a whole number of nanoseconds.

/// Gaps with a mean of at least this are rounded to whole nanoseconds, an error of at most 5 parts
/// in a million. For shorter ones, the fraction of each gap is carried on to the next, so that the
/// mean is exact.
const SHORT_NS: f64 = 1e5;

/// Gaps of a given mean, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    mean_ns: f64,
    /// Time by which the gaps so far were too short.
    left_ns: f64,
}

impl Gap {
    /// Gaps of this mean, at least 1 ns.
    pub fn new(mean_ns: f64) -> Self {
        Self {
            mean_ns: if mean_ns < SHORT_NS {
                mean_ns
            } else {
                mean_ns.round_ties_even()
            },
            left_ns: 0.0,
        }
    }

    /// Returns the next gap, ns; it is `means` times the mean gap.
    pub fn next(&mut self, means: f64) -> u64 {
        let exact_ns = self.exact_ns(means);
        self.take(exact_ns as u64, exact_ns.fract())
    }

    /// Returns the exact length of the next gap, ns, with the time by which the last ones were too
    /// short.
    pub fn exact_ns(&self, means: f64) -> f64 {
        means * self.mean_ns + self.left_ns
    }

    /// Takes `whole_ns` as the next gap and returns it, at least 1 ns if gaps are long. It is too
    /// short by `left_ns`.
    pub fn take(&mut self, whole_ns: u64, left_ns: f64) -> u64 {
        if self.mean_ns < SHORT_NS {
            self.left_ns = left_ns;
            whole_ns
        } else {
            whole_ns.max(1)
        }
    }

    /// Returns the start of a slot, ns, if slots are one mean gap long.
    pub fn slot_ns(&self, slot: u64) -> u64 {
        (slot as f64 * self.mean_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_add_up_to_their_mean() {
        // 40 bytes at 100 Gbit/s
        let mut gap = Gap::new(3.2);
        let gaps: Vec<u64> = (0..10).map(|_| gap.next(1.0)).collect();
        assert_eq!(gaps.iter().sum::<u64>(), 32);
        assert!(gaps.iter().all(|gap| (3..=4).contains(gap)), "{gaps:?}");
        assert_eq!(gap.slot_ns(10), 32);
    }

    #[test]
    fn long_gaps_are_whole() {
        let mut gap = Gap::new(66_666_666.7);
        assert_eq!(
            [1.0, 0.5, 1e-9].map(|means| gap.next(means)),
            [66_666_667, 33_333_333, 1]
        );
    }
}
