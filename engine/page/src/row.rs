//! What can be seen of a run at a moment, as a row of numbers.

use sluice_aqm::Verdict;
use sluice_queue::QueueState;

/// What the numbers are, in their order. Counts and sums are since the start of the run; a number
/// that there is none of is NaN. Times are in s or slots, as the run's.
pub const NAMES: [&str; 15] = [
    "time",
    "queue_packets",
    "queue_bytes",
    "average_packets",
    "probability",
    "arrivals",
    "lost",
    "marked",
    "sent",
    "sent_bytes",
    "sojourn",
    "delivered_bytes",
    "window_least",
    "window_mean",
    "window_greatest",
];

/// The numbers.
pub type Row = [f64; NAMES.len()];

/// What every world knows of a queue.
pub struct Seen<'a> {
    pub time: f64,
    pub queue: &'a QueueState,
    pub arrivals: u64,
    pub sent: u64,
    pub sent_bytes: u64,
    /// Sum over the packets sent.
    pub sojourn: f64,
    /// Bytes that arrived where they should.
    pub delivered_bytes: Option<u64>,
    /// Least, mean and greatest congestion window, packets.
    pub windows: [f64; 3],
}

impl Seen<'_> {
    /// Returns the row.
    pub fn row(&self) -> Row {
        let count = |verdict: Verdict| self.queue.verdicts[verdict as usize] as f64;
        let lost = [
            Verdict::DropEarly,
            Verdict::DropForced,
            Verdict::DropOverflow,
            Verdict::DropBoth,
        ];
        // with several lanes there are as many averages
        let lane = match &self.queue.lanes[..] {
            [only] => Some(only),
            _ => None,
        };
        let [least, mean, greatest] = self.windows;
        [
            self.time,
            f64::from(self.queue.packets),
            self.queue.bytes as f64,
            lane.and_then(|lane| lane.average).unwrap_or(f64::NAN),
            lane.and_then(|lane| lane.probability).unwrap_or(f64::NAN),
            self.arrivals as f64,
            lost.map(count).iter().sum(),
            count(Verdict::Mark),
            self.sent as f64,
            self.sent_bytes as f64,
            self.sojourn,
            self.delivered_bytes.map_or(f64::NAN, |bytes| bytes as f64),
            least,
            mean,
            greatest,
        ]
    }
}

/// Returns least, mean and greatest of some windows; NaN if there are none.
pub fn spread<'a>(windows: impl Iterator<Item = &'a f64> + Clone) -> [f64; 3] {
    let count = windows.clone().count();
    let mean = windows.clone().sum::<f64>() / count as f64;
    let least = windows.clone().copied().fold(f64::NAN, f64::min);
    [least, mean, windows.copied().fold(f64::NAN, f64::max)]
}
