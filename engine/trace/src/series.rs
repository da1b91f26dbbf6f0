//! Sums over time, in bins whose width doubles when there are too many of them.

/// Largest number of bins of a series; it has more than half of them unless the trace is very
/// short.
pub(crate) const MOST_BINS: usize = 1024;
/// First width of the bins, s.
pub(crate) const FIRST_BIN_S: f64 = 1e-4;

/// The sum in each bin; bins after the last one are 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series(pub Vec<f64>);

impl Series {
    /// Adds `amount` at the time `time_s`.
    #[inline]
    pub fn add(&mut self, amount: f64, time_s: f64, bin_s: f64) {
        self.add_to((time_s / bin_s) as usize, amount);
    }

    /// Adds the integral of a constant level from `from_s` to `to_s`.
    #[inline]
    pub fn hold(&mut self, level: f64, from_s: f64, to_s: f64, bin_s: f64) {
        if level == 0.0 {
            return;
        }
        for bin in (from_s / bin_s) as usize..=(to_s / bin_s) as usize {
            let start_s = from_s.max(bin as f64 * bin_s);
            let end_s = to_s.min((bin + 1) as f64 * bin_s);
            if end_s > start_s {
                self.add_to(bin, level * (end_s - start_s));
            }
        }
    }

    #[inline]
    fn add_to(&mut self, bin: usize, amount: f64) {
        if bin >= self.0.len() {
            self.0.resize(bin + 1, 0.0);
        }
        self.0[bin] += amount;
    }

    /// Merges bins in pairs.
    pub fn halve(&mut self) {
        self.0 = self.0.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_shared_out_among_its_bins() {
        let mut series = Series::default();
        series.hold(2.0, 0.5, 3.25, 1.0);
        assert_eq!(series.0, [1.0, 2.0, 2.0, 0.5]);
        series.add(4.0, 4.0, 1.0);
        series.halve();
        assert_eq!(series.0, [3.0, 2.5, 4.0]);
    }
}
