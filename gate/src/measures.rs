//! Counts and times of a link.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use sluice_aqm::Verdict;

/// Longest time that is recorded, an hour; longer ones count as this one.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Times, with an exact mean and quantiles to two digits.
#[derive(Clone, Debug)]
pub struct Times {
    histogram: Histogram<u64>,
    sum_ns: u128,
}

impl Times {
    fn new() -> Self {
        let histogram = Histogram::new_with_max(LONGEST_NS, 2).expect("limits that are in order");
        Self {
            histogram,
            sum_ns: 0,
        }
    }

    /// Returns the memory of its counts, bytes, however many times are counted.
    pub fn counts_bytes() -> usize {
        Self::new().histogram.distinct_values() * size_of::<u64>()
    }

    /// Returns times that were counted elsewhere: pairs of a time, ns, and its count; and the sum
    /// of all times.
    pub fn of(counts: &[(u64, u64)], sum_ns: u64) -> Self {
        let mut times = Self::new();
        for (ns, count) in counts {
            times.histogram.saturating_record_n(*ns, *count);
        }
        times.sum_ns = sum_ns.into();
        times
    }

    /// Counts a time, ns.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum_ns += u128::from(ns);
    }

    /// Returns the times counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut histogram = self.histogram.clone();
        let known = histogram.subtract(&earlier.histogram);
        known.expect("what was counted before is among what is counted now");
        Self {
            histogram,
            sum_ns: self.sum_ns - earlier.sum_ns,
        }
    }

    /// Returns the number of times counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the sum of all times, s.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Returns the mean, ms; 0 if none was counted.
    pub fn mean_ms(&self) -> f64 {
        self.sum_ns as f64 / 1e6 / self.count().max(1) as f64
    }

    /// Returns a quantile, ms.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64 / 1e6
    }

    /// Returns for each bound how many times were at most that long, to two digits. The bounds, ns,
    /// must be in order.
    pub fn up_to(&self, bounds: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; bounds.len()];
        for step in self.histogram.iter_recorded() {
            let longest = step.value_iterated_to();
            let place = bounds.partition_point(|bound| *bound < longest);
            if let Some(count) = counts.get_mut(place) {
                *count += step.count_at_value();
            }
        }
        add_up(counts)
    }

    /// Returns pairs of a time, ns, to two digits, and its count.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        let histogram = &self.histogram;
        let recorded = histogram.iter_recorded();
        recorded
            .map(|step| {
                let middle = histogram.median_equivalent(step.value_iterated_to());
                (middle, step.count_at_value())
            })
            .collect()
    }

    /// Returns the sum of all times, ns; at most what a record has room for.
    pub fn sum_ns(&self) -> u64 {
        bounded(self.sum_ns)
    }

    /// Returns mean and quantiles, ms.
    pub fn figures(&self) -> TimeFigures {
        TimeFigures {
            mean: self.mean_ms(),
            p50: self.quantile_ms(0.5),
            p90: self.quantile_ms(0.9),
            p99: self.quantile_ms(0.99),
            max: self.histogram.max() as f64 / 1e6,
        }
    }
}

/// Mean and quantiles of times, ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeFigures {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90 % are not longer.
    pub p90: f64,
    /// 99 % are not longer.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Returns a sum as a record has it: readers have signed numbers of 64 bits.
fn bounded(sum: u128) -> u64 {
    sum.min(i64::MAX as u128) as u64
}

/// Returns cumulative counts.
fn add_up(mut counts: Vec<u64>) -> Vec<u64> {
    for place in 1..counts.len() {
        counts[place] += counts[place - 1];
    }
    counts
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

/// Exact counts of a link, from its start.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Time up to which all is counted, ns.
    pub until_ns: u64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Bytes of IP that arrived.
    pub arrived_bytes: u64,
    /// Packets whose transmission began.
    pub sent: u64,
    /// Bytes of IP that were sent.
    pub sent_bytes: u64,
    /// How often each verdict was given, by [`Verdict`].
    pub verdicts: [u64; Verdict::COUNT],
    /// Time during which k packets waited, by k, ns.
    pub queue_ns: Vec<u64>,
    /// Most packets that ever waited.
    pub queue_max: u64,
    /// Times from arrival until transmission starts.
    pub sojourn: Times,
    /// Times from arrival until transmission ends.
    pub delay: Times,
}

/// The verdicts that are losses, and their names.
const LOSSES: [(&str, Verdict); 4] = [
    ("early", Verdict::DropEarly),
    ("forced", Verdict::DropForced),
    ("overflow", Verdict::DropOverflow),
    ("both", Verdict::DropBoth),
];

impl Measures {
    /// Records that `waiting` packets have waited up to `now_ns`.
    #[inline]
    pub fn hold(&mut self, now_ns: u64, waiting: usize) {
        if waiting >= self.queue_ns.len() {
            self.queue_ns.resize((waiting + 1).next_power_of_two(), 0);
        }
        self.queue_ns[waiting] += now_ns - self.until_ns;
        self.queue_max = self.queue_max.max(waiting as u64);
        self.until_ns = now_ns;
    }

    /// Counts a packet whose transmission begins, and that has waited for the first of two times; the
    /// second one is from its arrival until the transmission ends.
    #[inline]
    pub fn send(&mut self, bytes: u32, (sojourn_ns, delay_ns): (u64, u64)) {
        self.sent += 1;
        self.sent_bytes += u64::from(bytes);
        self.sojourn.add(sojourn_ns);
        self.delay.add(delay_ns);
    }

    /// Returns the mean number of packets that waited.
    pub fn queue_mean(&self) -> f64 {
        self.queue_packet_ns() as f64 / self.until_ns.max(1) as f64
    }

    /// Returns the integral of the queue over time, packets times ns.
    fn queue_packet_ns(&self) -> u128 {
        let packets_ns = self.queue_ns.iter().zip(0_u128..);
        packets_ns.map(|(ns, k)| u128::from(*ns) * k).sum()
    }

    /// Returns for each bound, packets, how long at most that many packets waited, ns. The bounds
    /// must be in order. Also returns the integral of the queue over time, packets times ns, and
    /// the total time, ns.
    pub fn queue_up_to(&self, bounds: &[u64]) -> (Vec<u64>, u128, u64) {
        let mut times = vec![0; bounds.len()];
        let mut sum = 0;
        for (waiting, ns) in (0..).zip(&self.queue_ns) {
            let place = bounds.partition_point(|bound| *bound < waiting);
            if let Some(time) = times.get_mut(place) {
                *time += ns;
            }
            sum += u128::from(waiting) * u128::from(*ns);
        }
        (add_up(times), sum, self.queue_ns.iter().sum())
    }

    /// Packets lost for each reason.
    pub fn losses(&self) -> [(&'static str, u64); 4] {
        LOSSES.map(|(name, verdict)| (name, self.verdicts[verdict as usize]))
    }

    /// Packets lost.
    pub fn lost(&self) -> u64 {
        self.losses().iter().map(|(_, count)| count).sum()
    }

    /// Packets marked.
    pub fn marked(&self) -> u64 {
        self.verdicts[Verdict::Mark as usize]
    }

    /// Returns what was counted since `earlier`; maxima are those since then, too.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut verdicts = self.verdicts;
        for (verdict, before) in verdicts.iter_mut().zip(earlier.verdicts) {
            *verdict -= before;
        }
        let mut queue_ns = self.queue_ns.clone();
        for (ns, before) in queue_ns.iter_mut().zip(&earlier.queue_ns) {
            // what the kernel counts is not read at one moment
            *ns = ns.saturating_sub(*before);
        }
        Self {
            until_ns: self.until_ns - earlier.until_ns,
            arrivals: self.arrivals - earlier.arrivals,
            arrived_bytes: self.arrived_bytes - earlier.arrived_bytes,
            sent: self.sent - earlier.sent,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            verdicts,
            queue_max: queue_ns.iter().rposition(|ns| *ns > 0).unwrap_or(0) as u64,
            queue_ns,
            sojourn: self.sojourn.since(&earlier.sojourn),
            delay: self.delay.since(&earlier.delay),
        }
    }

    /// Returns how long k packets waited: pairs of k and ns, without those of 0 ns.
    pub fn queue_times(&self) -> Vec<(u64, u64)> {
        let queue = (0..).zip(self.queue_ns.iter().copied());
        queue.filter(|(_, ns)| *ns > 0).collect()
    }

    /// Returns all measures as records have them.
    pub fn figures(&self) -> Figures {
        let of = |verdict: Verdict| self.verdicts[verdict as usize];
        Figures {
            time_s: self.until_ns as f64 / 1e9,
            arrivals: self.arrivals,
            arrived_bytes: self.arrived_bytes,
            sent: self.sent,
            sent_bytes: self.sent_bytes,
            lost: self.lost(),
            drops: Drops {
                early: of(Verdict::DropEarly),
                forced: of(Verdict::DropForced),
                overflow: of(Verdict::DropOverflow),
                both: of(Verdict::DropBoth),
            },
            marked: self.marked(),
            queue_mean: self.queue_mean(),
            queue_max: self.queue_max,
            queue_packet_ns: bounded(self.queue_packet_ns()),
            sojourn_ms: self.sojourn.figures(),
            sojourn_sum_ns: self.sojourn.sum_ns(),
            delay_ms: self.delay.figures(),
            delay_sum_ns: self.delay.sum_ns(),
        }
    }
}

/// All measures, as records have them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Time up to which all is counted, s.
    pub time_s: f64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Bytes of IP that arrived.
    pub arrived_bytes: u64,
    /// Packets whose transmission began.
    pub sent: u64,
    /// Bytes of IP that were sent.
    pub sent_bytes: u64,
    /// Packets lost.
    pub lost: u64,
    /// Packets lost, by reason.
    pub drops: Drops,
    /// Packets marked.
    pub marked: u64,
    /// Mean number of packets that waited.
    pub queue_mean: f64,
    /// Most packets that waited.
    pub queue_max: u64,
    /// Integral of the queue over time, packets times ns.
    pub queue_packet_ns: u64,
    /// Times from arrival until transmission starts, ms.
    pub sojourn_ms: TimeFigures,
    /// Their sum, ns.
    pub sojourn_sum_ns: u64,
    /// Times from arrival until transmission ends, ms.
    pub delay_ms: TimeFigures,
    /// Their sum, ns.
    pub delay_sum_ns: u64,
}

/// Packets lost for each reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drops {
    /// By the AQM, by chance or control.
    pub early: u64,
    /// By the AQM, for certain.
    pub forced: u64,
    /// By a full buffer.
    pub overflow: u64,
    /// By both at once.
    pub both: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_queue_is_that_over_time() {
        let mut measures = Measures::default();
        for (now_ns, waiting) in [(10, 0), (30, 4), (40, 2)] {
            measures.hold(now_ns, waiting);
        }
        assert_eq!(measures.queue_times(), [(0, 10), (2, 10), (4, 20)]);
        assert_eq!(measures.figures().queue_packet_ns, 100);
        // (0 x 10 + 4 x 20 + 2 x 10) / 40
        assert_eq!((measures.queue_mean(), measures.queue_max), (2.5, 4));
    }

    #[test]
    fn times_have_an_exact_mean_and_quantiles_to_two_digits() {
        let mut times = Times::default();
        (1..=1000_u64).for_each(|ms| times.add(ms * 1_000_000));
        assert_eq!(times.mean_ms(), 500.5);
        let earlier = times.clone();
        times.add(7_000_000);
        let since = times.since(&earlier);
        assert_eq!((since.count(), since.mean_ms()), (1, 7.0));
        let [(ns, 1)] = since.counts()[..] else {
            panic!("{:?}", since.counts());
        };
        assert!(ns.abs_diff(7_000_000) <= 70_000, "{ns}");
        for (share, ms) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = earlier.quantile_ms(share);
            assert!((found - ms).abs() <= 0.01 * ms, "{share}: {found}");
        }
    }
}
