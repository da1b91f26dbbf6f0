//! The measures of a link as a table for people.

use std::{fmt::Write as _, fs::File, path::Path};

use crate::{
    Failure,
    measures::{Measures, Times},
    print,
    telemetry::record::Record,
    write_whole,
};

/// Returns a table with a line for each measure.
pub fn table(measures: &Measures) -> String {
    let mut rows = vec![
        ("time", format!("{:.3} s", measures.until_ns as f64 / 1e9)),
        (
            "arrivals",
            format!(
                "{} packets, {} bytes",
                measures.arrivals, measures.arrived_bytes
            ),
        ),
        (
            "sent",
            format!("{} packets, {} bytes", measures.sent, measures.sent_bytes),
        ),
        ("lost", lost(measures)),
        ("marked", format!("{} packets", measures.marked())),
        (
            "queue",
            format!(
                "mean {:.2}, max {} packets",
                measures.queue_mean(),
                measures.queue_max
            ),
        ),
    ];
    rows.push(("sojourn", times(&measures.sojourn)));
    rows.push(("delay", times(&measures.delay)));
    let mut text = String::new();
    for (name, value) in rows {
        writeln!(text, "{name:10} {value}").expect("memory to write to");
    }
    text
}

/// Returns the same for a live link, with the counts that only a live link has.
fn live_table(record: &Record) -> String {
    let (live, losses) = (&record.snapshot.live, &record.snapshot.losses);
    let queue_drops = record.snapshot.kernel.queue_drops;
    let mut text = table(&record.snapshot.measures);
    writeln!(text, "{:10} {}", "lateness", times(&live.lateness)).expect("memory to write to");
    for (name, count) in [
        (
            "packets left in the queue at the end",
            Some(live.left_at_end),
        ),
        (
            "packets without a readable IP header",
            Some(live.unreadable),
        ),
        (
            "packets marked that had no header to mark",
            Some(live.unmarkable),
        ),
        (
            "packets that the kernel could not hand over",
            Some(losses.id_gaps),
        ),
        (
            "times that the receive buffer had no room",
            Some(losses.overruns),
        ),
        ("packets that found the kernel's queue full", queue_drops),
        ("decisions on packets that had gone", Some(losses.refused)),
    ] {
        let count = match count {
            Some(0) => continue,
            Some(count) => count.to_string(),
            None => "unknown: number of".into(),
        };
        writeln!(text, "{count} {name}").expect("memory to write to");
    }
    text
}

/// Writes the final state of the links to a file if there is one, and prints it.
///
/// # Errors
/// If the file or stdout cannot be written.
pub fn report(
    records: &[Record],
    left_out: u64,
    file: Option<(File, &Path)>,
) -> Result<(), Failure> {
    let written = file.map_or(Ok(()), |(file, path)| {
        let links: Vec<_> = records.iter().map(Record::last_line).collect();
        let text = serde_json::to_string_pretty(&links).expect("numbers and texts");
        write_whole(&file, path, format!("{text}\n").as_bytes())
    });
    let mut told = String::new();
    for record in records {
        told += &format!("\n{}\n{}", record.link, live_table(record));
    }
    if left_out > 0 {
        told += &format!("\n{left_out} records were left out: the disk was too slow\n");
    }
    // it is printed even if the file could not be written
    print(&told).and(written)
}

fn lost(measures: &Measures) -> String {
    let share = 100.0 * measures.lost() as f64 / measures.arrivals.max(1) as f64;
    let losses = measures.losses();
    let reasons: Vec<String> = losses
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let reasons = match reasons.as_slice() {
        [] => String::new(),
        reasons => format!(": {}", reasons.join(", ")),
    };
    format!("{} packets ({share:.2} %){reasons}", measures.lost())
}

fn times(times: &Times) -> String {
    format!(
        "mean {:.3} ms, p50 {:.3}, p99 {:.3}, max {:.3}",
        times.mean_ms(),
        times.quantile_ms(0.5),
        times.quantile_ms(0.99),
        times.quantile_ms(1.0)
    )
}
