//! The time from one packet to the next, which need not be a whole number of nanoseconds.

/// From here on whole nanoseconds hold a gap to 5 parts in a million; what a shorter one is longer
/// than that is carried on to the next, so that the mean is right.
const SHORT_NS: f64 = 1e5;

/// Gaps of a given mean, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    mean_ns: f64,
    /// What the gaps so far were short of.
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

    /// The next gap, of so many mean ones, ns.
    pub fn next(&mut self, means: f64) -> u64 {
        let exact_ns = self.exact_ns(means);
        self.take(exact_ns as u64, exact_ns.fract())
    }

    /// The next gap with its fraction and with what the last ones were short of.
    pub fn exact_ns(&self, means: f64) -> f64 {
        means * self.mean_ns + self.left_ns
    }

    /// Takes the next gap as so many whole nanoseconds, which are short of it by `left_ns`.
    pub fn take(&mut self, whole_ns: u64, left_ns: f64) -> u64 {
        if self.mean_ns < SHORT_NS {
            self.left_ns = left_ns;
            whole_ns
        } else {
            whole_ns.max(1)
        }
    }

    /// The start of a slot, if each is a gap long, ns.
    pub fn slot_ns(&self, slot: u64) -> u64 {
        (slot as f64 * self.mean_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_add_up_to_their_mean() {
        // 40 bytes at 100 Gb/s
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
