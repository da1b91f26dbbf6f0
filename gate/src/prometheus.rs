//! The counts in Prometheus' text format, version 0.0.4.

use std::fmt::Write;

use crate::{measures::Times, telemetry::Record};

/// What a counter is of a record.
type Count = fn(&Record) -> u64;

const COUNTERS: [(&str, &str, Count); 12] = [
    ("arrivals", "Packets that arrived", |of| {
        of.standing.measures.arrivals
    }),
    ("arrived_bytes", "Bytes that arrived", |of| {
        of.standing.measures.arrived_bytes
    }),
    ("sent", "Packets whose transmission began", |of| {
        of.standing.measures.sent
    }),
    ("sent_bytes", "Bytes that were sent", |of| {
        of.standing.measures.sent_bytes
    }),
    ("marked", "Packets marked (ECN)", |of| {
        of.standing.measures.marked()
    }),
    ("released", "Packets let go", |of| of.standing.live.released),
    ("unreadable", "Packets without a readable IP header", |of| {
        of.standing.live.unreadable
    }),
    (
        "unmarkable",
        "Packets marked that had no header to mark",
        |of| of.standing.live.unmarkable,
    ),
    (
        "id_gaps",
        "Packets that the kernel could not hand over: lost, or passed if it fails open",
        |of| of.standing.losses.id_gaps,
    ),
    (
        "overruns",
        "Times that the receive buffer had no room",
        |of| of.standing.losses.overruns,
    ),
    (
        "refused_verdicts",
        "Decisions on packets that had gone",
        |of| of.standing.losses.refused,
    ),
    (
        "kernel_buffer_drops",
        "Packets for which the receive buffer had no room",
        |of| of.standing.kernel.buffer_drops,
    ),
];

/// What times are of a record.
type OfTimes = fn(&Record) -> &Times;

const TIMES: [(&str, &str, OfTimes); 3] = [
    ("sojourn", "From arrival until transmission starts", |of| {
        &of.standing.measures.sojourn
    }),
    ("delay", "From arrival until transmission ends", |of| {
        &of.standing.measures.delay
    }),
    (
        "lateness",
        "From when a packet was due until it was let go",
        |of| &of.standing.live.lateness,
    ),
];

/// The whole page.
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
        of.standing.kernel.queue_drops
    })?;
    writeln!(page, "# HELP sluiced_drops_total Packets lost, by reason.")?;
    writeln!(page, "# TYPE sluiced_drops_total counter")?;
    for record in records {
        for (reason, count) in record.standing.measures.losses() {
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
        let (link, waiting) = (record.link, record.standing.queue.0);
        writeln!(page, "sluiced_queue_packets{{link=\"{link}\"}} {waiting}")?;
    }
    flows(page, records)?;
    for (name, help, times) in TIMES {
        writeln!(page, "# HELP sluiced_{name}_seconds {help}.")?;
        writeln!(page, "# TYPE sluiced_{name}_seconds summary")?;
        for record in records {
            let (link, times) = (record.link, times(record));
            for share in [0.5, 0.9, 0.99] {
                let value = times.quantile_ms(share) / 1e3;
                writeln!(
                    page,
                    "sluiced_{name}_seconds{{link=\"{link}\",quantile=\"{share}\"}} {value}"
                )?;
            }
            let (sum, count) = (times.sum_s(), times.count());
            writeln!(page, "sluiced_{name}_seconds_sum{{link=\"{link}\"}} {sum}")?;
            writeln!(
                page,
                "sluiced_{name}_seconds_count{{link=\"{link}\"}} {count}"
            )?;
        }
    }
    Ok(())
}

/// Without a sample where the count is not known.
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

/// By rank: who they are changes, and a label for each would be kept for ever.
fn flows(page: &mut String, records: &[Record]) -> std::fmt::Result {
    writeln!(
        page,
        "# HELP sluiced_flow_share Share of the heaviest flows in the bytes of the last interval, \
         1 is the heaviest."
    )?;
    writeln!(page, "# TYPE sluiced_flow_share gauge")?;
    for record in records {
        let (link, shares) = (record.link, &record.standing.shares[1]);
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
