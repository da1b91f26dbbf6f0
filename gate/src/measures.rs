//! What is counted at a link.

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use sluice_aqm::Verdict;

/// Longest time that is told from longer ones: an hour.
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

    /// Counts a time.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.histogram.saturating_record(ns);
        self.sum_ns += u128::from(ns);
    }

    /// Those that were counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut histogram = self.histogram.clone();
        let known = histogram.subtract(&earlier.histogram);
        known.expect("what was counted before is among what is counted now");
        Self {
            histogram,
            sum_ns: self.sum_ns - earlier.sum_ns,
        }
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Sum of all, s.
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// The mean, ms; 0 if none was counted.
    pub fn mean_ms(&self) -> f64 {
        self.sum_ns as f64 / 1e6 / self.count().max(1) as f64
    }

    /// A quantile, ms.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        self.histogram.value_at_quantile(share) as f64 / 1e6
    }

    /// Times, ns, and how often each was counted.
    fn pairs(&self) -> Value {
        let counted = self.histogram.iter_recorded();
        let middle = |ns| self.histogram.median_equivalent(ns);
        counted
            .map(|bin| json!([middle(bin.value_iterated_to()), bin.count_at_value()]))
            .collect()
    }

    /// Mean and quantiles, ms.
    pub fn json(&self) -> Value {
        json!({
            "mean": self.mean_ms(),
            "p50": self.quantile_ms(0.5),
            "p90": self.quantile_ms(0.9),
            "p99": self.quantile_ms(0.99),
            "max": self.histogram.max() as f64 / 1e6,
        })
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::new()
    }
}

/// Exact counts of a link, from its start.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Up to here all is counted, ns.
    pub until_ns: u64,
    /// Packets that arrived, and their bytes.
    pub arrivals: u64,
    /// Bytes of IP that arrived.
    pub arrived_bytes: u64,
    /// Packets whose transmission began.
    pub sent: u64,
    /// Bytes of IP that were sent.
    pub sent_bytes: u64,
    /// How often each verdict was given, by [`Verdict`].
    pub verdicts: [u64; Verdict::COUNT],
    /// Sum over time of the packets that wait, packets x ns.
    queue_ns: u128,
    /// For how long k packets waited, by k, ns.
    queue_times_ns: Vec<u64>,
    /// Most packets that ever waited.
    pub queue_max: u64,
    /// From arrival until transmission starts.
    pub sojourn: Times,
    /// From arrival until transmission ends.
    pub delay: Times,
}

/// The verdicts that are losses, and what they are called.
const LOSSES: [(&str, Verdict); 4] = [
    ("early", Verdict::DropEarly),
    ("forced", Verdict::DropForced),
    ("overflow", Verdict::DropOverflow),
    ("both", Verdict::DropBoth),
];

impl Measures {
    /// `waiting` packets have waited up to now.
    #[inline]
    pub fn hold(&mut self, now_ns: u64, waiting: usize) {
        let held_ns = now_ns - self.until_ns;
        self.queue_ns += u128::from(held_ns) * waiting as u128;
        if self.queue_times_ns.len() <= waiting {
            self.queue_times_ns.resize(waiting + 1, 0);
        }
        self.queue_times_ns[waiting] += held_ns;
        self.queue_max = self.queue_max.max(waiting as u64);
        self.until_ns = now_ns;
    }

    /// Mean number of packets that waited.
    pub fn queue_mean(&self) -> f64 {
        self.queue_ns as f64 / self.until_ns.max(1) as f64
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

    /// What was counted since `earlier`; maxima are those of the whole.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut verdicts = self.verdicts;
        for (verdict, before) in verdicts.iter_mut().zip(earlier.verdicts) {
            *verdict -= before;
        }
        let mut queue_times_ns = self.queue_times_ns.clone();
        for (time_ns, before) in queue_times_ns.iter_mut().zip(&earlier.queue_times_ns) {
            *time_ns -= before;
        }
        Self {
            until_ns: self.until_ns - earlier.until_ns,
            arrivals: self.arrivals - earlier.arrivals,
            arrived_bytes: self.arrived_bytes - earlier.arrived_bytes,
            sent: self.sent - earlier.sent,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            verdicts,
            queue_ns: self.queue_ns - earlier.queue_ns,
            queue_times_ns,
            queue_max: self.queue_max,
            sojourn: self.sojourn.since(&earlier.sojourn),
            delay: self.delay.since(&earlier.delay),
        }
    }

    /// All of them, times in ms.
    pub fn json(&self) -> Value {
        let losses = self.losses().into_iter();
        let losses = losses.map(|(name, count)| (name.to_owned(), json!(count)));
        json!({
            "time_s": self.until_ns as f64 / 1e9,
            "arrivals": self.arrivals,
            "arrived_bytes": self.arrived_bytes,
            "sent": self.sent,
            "sent_bytes": self.sent_bytes,
            "lost": self.lost(),
            "drops": Value::Object(losses.collect()),
            "marked": self.marked(),
            "queue_mean": self.queue_mean(),
            "queue_max": self.queue_max,
            "sojourn_ms": self.sojourn.json(),
            "delay_ms": self.delay.json(),
        })
    }

    /// Also the distributions, as pairs without those that count nothing: for how many ns k packets
    /// waited, and how many packets had a time in ns.
    pub fn json_with_distributions(&self) -> Value {
        let mut json = self.json();
        let waited = self.queue_times_ns.iter().enumerate();
        let waited = waited.filter(|(_, time_ns)| **time_ns > 0);
        json["queue_distribution_ns"] = waited.map(|(k, ns)| json!([k, ns])).collect();
        json["sojourn_distribution_ns"] = self.sojourn.pairs();
        json["delay_distribution_ns"] = self.delay.pairs();
        json
    }
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
        let earlier = measures.clone();
        measures.hold(45, 4);
        let since = measures.since(&earlier).json_with_distributions();
        assert_eq!(since["queue_distribution_ns"], json!([[4, 5]]));
        let measures = earlier;
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
        let pairs = since.pairs();
        assert_eq!(pairs.as_array().unwrap().len(), 1);
        assert!(
            (pairs[0][0].as_f64().unwrap() / 7e6 - 1.0).abs() < 0.01,
            "{pairs}"
        );
        for (share, ms) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = earlier.quantile_ms(share);
            assert!((found - ms).abs() <= 0.01 * ms, "{share}: {found}");
        }
    }
}
