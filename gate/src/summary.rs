//! The measures of a link as a table for people.

use std::fmt::Write;

use crate::measures::{Measures, Times};

/// A line for each measure.
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
