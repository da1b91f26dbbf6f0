//! The counts in Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write};

use crate::{measures::Times, telemetry::record::Record};

/// Returns a counter of a record.
type Count = fn(&Record) -> u64;

const COUNTERS: [(&str, &str, Count); 11] = [
    ("arrivals", "Packets that arrived", |of| {
        of.snapshot.measures.arrivals
    }),
    ("arrived_bytes", "Bytes that arrived", |of| {
        of.snapshot.measures.arrived_bytes
    }),
    ("sent", "Packets whose transmission began", |of| {
        of.snapshot.measures.sent
    }),
    ("sent_bytes", "Bytes that were sent", |of| {
        of.snapshot.measures.sent_bytes
    }),
    ("marked", "Packets marked (ECN)", |of| {
        of.snapshot.measures.marked()
    }),
    ("released", "Packets let go", |of| of.snapshot.live.released),
    ("unreadable", "Packets without a readable IP header", |of| {
        of.snapshot.live.unreadable
    }),
    (
        "unmarkable",
        "Packets marked that had no header to mark",
        |of| of.snapshot.live.unmarkable,
    ),
    (
        "id_gaps",
        "Packets that the kernel could not hand over: lost, or passed if it fails open",
        |of| of.snapshot.losses.id_gaps,
    ),
    (
        "overruns",
        "Times that the receive buffer had no room",
        |of| of.snapshot.losses.overruns,
    ),
    (
        "refused_verdicts",
        "Decisions on packets that had gone",
        |of| of.snapshot.losses.refused,
    ),
];

/// Returns times of a record.
type OfTimes = fn(&Record) -> &Times;

const TIMES: [(&str, &str, OfTimes); 3] = [
    ("sojourn", "From arrival until transmission starts", |of| {
        &of.snapshot.measures.sojourn
    }),
    ("delay", "From arrival until transmission ends", |of| {
        &of.snapshot.measures.delay
    }),
    (
        "lateness",
        "From when a packet was due until it was let go",
        |of| &of.snapshot.live.lateness,
    ),
];

/// Upper bounds of the buckets of times: 1, 2 and 5 in each power of ten, from 1 µs to 10 s.
const BOUNDS_NS: [u64; 22] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Upper bounds of the buckets of the queue, packets.
const BOUNDS_PACKETS: [u64; 17] = [
    0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000,
];

/// Returns the whole page.
pub fn page(records: &[Record]) -> String {
    let mut page = String::new();
    text(&mut page, records).expect("memory to write to");
    page
}

fn text(page: &mut String, records: &[Record]) -> std::fmt::Result {
    for (name, help, count) in COUNTERS {
        counter(page, name, help, records, |of| Some(count(of)))?;
    }
    let (name, help) = (
        "kernel_queue_drops",
        "Packets that found the kernel's queue full",
    );
    counter(page, name, help, records, |of| {
        of.snapshot.kernel.queue_drops
    })?;
    let (name, help) = (
        "kernel_buffer_drops",
        "Packets for which the receive buffer had no room",
    );
    counter(page, name, help, records, |of| {
        of.snapshot.kernel.buffer_drops
    })?;
    writeln!(page, "# HELP sluiced_drops_total Packets lost, by reason.")?;
    writeln!(page, "# TYPE sluiced_drops_total counter")?;
    for record in records {
        for (reason, count) in record.snapshot.measures.losses() {
            let link = record.link;
            writeln!(
                page,
                "sluiced_drops_total{{link=\"{link}\",reason=\"{reason}\"}} {count}"
            )?;
        }
    }
    writeln!(page, "# HELP sluiced_queue_packets Packets that wait.")?;
    writeln!(page, "# TYPE sluiced_queue_packets gauge")?;
    for record in records {
        let (link, waiting) = (record.link, record.snapshot.queue.0);
        writeln!(page, "sluiced_queue_packets{{link=\"{link}\"}} {waiting}")?;
    }
    writeln!(page, "# HELP sluiced_queue_bytes Their bytes.")?;
    writeln!(page, "# TYPE sluiced_queue_bytes gauge")?;
    for record in records {
        let (link, bytes) = (record.link, record.snapshot.queue.1);
        writeln!(page, "sluiced_queue_bytes{{link=\"{link}\"}} {bytes}")?;
    }
    flows(page, records)?;
    for (name, help, times) in TIMES {
        let name = format!("{name}_seconds");
        head(page, &name, help)?;
        for record in records {
            let times = times(record);
            let counts = times.up_to(&BOUNDS_NS);
            let bounds = BOUNDS_NS.map(|ns| ns as f64 / 1e9);
            let (sum, count) = (times.sum_s(), times.count());
            histogram(page, &name, record.link, &bounds, &counts, sum, count)?;
        }
    }
    queue(page, records)
}

/// Writes the histogram of the queue, in which each ns counts once.
fn queue(page: &mut String, records: &[Record]) -> std::fmt::Result {
    let name = "queue_length_packets";
    head(page, name, "Packets that waited, counted once in each ns")?;
    for record in records {
        let measures = &record.snapshot.measures;
        let (times, sum, all) = measures.queue_up_to(&BOUNDS_PACKETS);
        let bounds = BOUNDS_PACKETS.map(|packets| packets as f64);
        histogram(page, name, record.link, &bounds, &times, sum, all)?;
    }
    Ok(())
}

fn head(page: &mut String, name: &str, help: &str) -> std::fmt::Result {
    writeln!(page, "# HELP sluiced_{name} {help}.")?;
    writeln!(page, "# TYPE sluiced_{name} histogram")
}

fn histogram(
    page: &mut String,
    name: &str,
    link: &str,
    bounds: &[f64],
    counts: &[u64],
    sum: impl Display,
    count: u64,
) -> std::fmt::Result {
    let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".into()]);
    for (bound, below) in bounds.zip(counts.iter().chain([&count])) {
        writeln!(
            page,
            "sluiced_{name}_bucket{{link=\"{link}\",le=\"{bound}\"}} {below}"
        )?;
    }
    writeln!(page, "sluiced_{name}_sum{{link=\"{link}\"}} {sum}")?;
    writeln!(page, "sluiced_{name}_count{{link=\"{link}\"}} {count}")
}

/// Writes a counter, without a sample where the count is unknown.
fn counter(
    page: &mut String,
    name: &str,
    help: &str,
    records: &[Record],
    count: impl Fn(&Record) -> Option<u64>,
) -> std::fmt::Result {
    writeln!(page, "# HELP sluiced_{name}_total {help}.")?;
    writeln!(page, "# TYPE sluiced_{name}_total counter")?;
    for record in records {
        if let Some(count) = count(record) {
            let link = record.link;
            writeln!(page, "sluiced_{name}_total{{link=\"{link}\"}} {count}")?;
        }
    }
    Ok(())
}

/// Writes the shares of the heaviest flows by rank: the flows change, and Prometheus would keep a
/// label of each flow for ever.
fn flows(page: &mut String, records: &[Record]) -> std::fmt::Result {
    writeln!(
        page,
        "# HELP sluiced_flow_share Share of the heaviest flows in the bytes of the last interval, \
         1 is the heaviest."
    )?;
    writeln!(page, "# TYPE sluiced_flow_share gauge")?;
    for record in records {
        let (link, shares) = (record.link, &record.snapshot.shares[1]);
        for (rank, (_, bytes)) in (1..).zip(&shares.heaviest) {
            let share = *bytes as f64 / shares.bytes as f64;
            writeln!(
                page,
                "sluiced_flow_share{{link=\"{link}\",rank=\"{rank}\"}} {share}"
            )?;
        }
    }
    Ok(())
}
