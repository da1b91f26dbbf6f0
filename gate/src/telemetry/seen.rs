//! What the live page is told of a link: the part of a record that it draws, for one interval.

use serde::Serialize;

use crate::{
    measures::{Measures, TimeFigures},
    telemetry::record::Record,
};

/// Flows that are told.
const FLOWS: usize = 5;

/// What was counted of a queue in an interval, of the link's own or of its shadow.
#[derive(Debug, Serialize)]
pub struct Counted {
    interval_s: f64,
    arrived_bps: f64,
    sent_bps: f64,
    arrivals: u64,
    queue_mean: f64,
    queue_max: u64,
    sojourn_ms: TimeFigures,
    dropped: u64,
    early: u64,
    overflow: u64,
    marked: u64,
}

impl Counted {
    /// Returns what was counted since `earlier`, or since the start.
    pub fn of(now: &Measures, earlier: Option<&Measures>) -> Self {
        let counted = earlier.map_or_else(|| now.clone(), |earlier| now.since(earlier));
        let figures = counted.figures();
        let per_second = |bytes: u64| 8.0 * bytes as f64 / figures.time_s.max(1e-9);
        Self {
            interval_s: figures.time_s,
            arrived_bps: per_second(figures.arrived_bytes),
            sent_bps: per_second(figures.sent_bytes),
            arrivals: figures.arrivals,
            queue_mean: figures.queue_mean,
            queue_max: figures.queue_max,
            sojourn_ms: figures.sojourn_ms,
            dropped: figures.lost,
            early: figures.drops.early + figures.drops.forced,
            overflow: figures.drops.overflow + figures.drops.both,
            marked: figures.marked,
        }
    }
}

/// A link in an interval.
#[derive(Debug, Serialize)]
pub struct Seen {
    link: &'static str,
    discipline: String,
    clock_ms: f64,
    rate_bps: u64,
    limit: u32,
    queue_packets: usize,
    queue_bytes: u64,
    average_queue: Option<f64>,
    drop_probability: Option<f64>,
    lateness_ms: TimeFigures,
    /// Name, packets and mean sojourn, ms, of each class that had any.
    classes: Vec<(&'static str, u64, f64)>,
    /// The heaviest flows and their shares of the arrived bytes.
    flows: Vec<(String, f64)>,
    #[serde(flatten)]
    counted: Counted,
}

/// The shadow of a link in an interval.
#[derive(Debug, Serialize)]
pub struct Shadow {
    /// `forward` or `reverse`.
    pub link: &'static str,
    /// Name of its discipline.
    pub discipline: String,
    /// As that of records, ms.
    pub clock_ms: f64,
    /// Arrivals since the start for which there was no time.
    pub left_out: u64,
    /// Packets that wait now.
    pub queue_packets: usize,
    /// What it counted.
    #[serde(flatten)]
    pub counted: Counted,
}

impl Seen {
    /// Returns what was seen since an earlier record, or since the start.
    pub fn of(record: &Record, earlier: Option<&Record>) -> Self {
        let now = &record.snapshot;
        let earlier = earlier.map(|earlier| &earlier.snapshot);
        let (lateness, by_class) = match earlier {
            Some(earlier) => (
                now.live.lateness.since(&earlier.live.lateness),
                (now.live.sojourn_by_class).since(&earlier.live.sojourn_by_class),
            ),
            None => (now.live.lateness.clone(), now.live.sojourn_by_class),
        };
        let shares = &now.shares[1];
        let share = |bytes: u64| bytes as f64 / shares.bytes.max(1) as f64;
        let heaviest = shares.heaviest.iter().take(FLOWS);
        Self {
            link: record.link,
            discipline: now.settings.discipline.spec.name(),
            clock_ms: record.clock_ns as f64 / 1e6,
            rate_bps: now.rate_bps,
            limit: now.settings.buffer.limit,
            queue_packets: now.queue.0,
            queue_bytes: now.queue.1,
            average_queue: now.aqm.0,
            drop_probability: now.aqm.1,
            lateness_ms: lateness.figures(),
            classes: by_class.means().collect(),
            flows: heaviest
                .map(|(flow, bytes)| (flow.to_string(), share(*bytes)))
                .collect(),
            counted: Counted::of(&now.measures, earlier.map(|earlier| &earlier.measures)),
        }
    }
}
