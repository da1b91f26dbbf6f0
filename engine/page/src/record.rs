//! The counts of a run as JSON, with the names that they have in `sluicegate._engine`.

use serde_json::{Map, Value as Json, json};
use sluice_histogram::Histogram;
use sluice_network::{self as network, Kind};
use sluice_slotted as slotted;

/// Sums are texts: they may have 128 bits.
fn times(times: &Histogram) -> Json {
    json!({
        "bins": times.bins(),
        "bin": times.width(),
        "sum": times.sum().to_string(),
        "square_sum": times.square_sum().to_string(),
    })
}

/// Returns the counts of a run in the slotted world.
pub fn of_slots(outcome: &slotted::Outcome) -> Json {
    let unit = |unit: &slotted::Unit| {
        let tally = &unit.tally;
        json!({
            "replication": unit.replication,
            "tally": {
                "duration": tally.slots,
                "idle": tally.idle_slots,
                "queue": tally.queue,
                "arrivals": tally.arrivals,
                "verdicts": tally.verdicts,
                "served": tally.delay.count(),
                "served_bytes": tally.served_bytes,
                "sojourn": times(&tally.sojourn),
                "delay": times(&tally.delay),
            },
        })
    };
    json!({
        "units": outcome.units.iter().map(unit).collect::<Json>(),
        "warm_up_slots": outcome.warm_up_slots,
        "slots": outcome.slots,
    })
}

/// Returns the counts of a run in the network world.
pub fn of_network(run: &network::Replication) -> Json {
    json!({
        "periods": run.periods.iter().map(period).collect::<Json>(),
        "tcp": columns(&run.tcp, |flow| json!({
            "group": flow.group,
            "acknowledged": flow.acknowledged,
            "retransmissions": flow.retransmissions,
            "timeouts": flow.timeouts,
            "start_s": seconds(Some(flow.start_ns)),
            "completion_s": seconds(flow.completion_ns),
        })),
        "datagrams": columns(&run.datagrams, |flow| json!({
            "group": flow.group,
            "sent": flow.sent,
            "received": flow.received,
            "start_s": seconds(flow.start_ns),
        })),
        "ports": run.ports.iter().map(series).collect::<Json>(),
        "flows": { "acknowledged": run.flows.acknowledged, "window": run.flows.window },
    })
}

/// Null if there is none.
fn seconds(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| ns as f64 / 1e9)
}

/// Returns a list for each name that the rows have.
fn columns<T>(items: &[T], row: impl Fn(&T) -> Json) -> Json {
    let mut columns = Map::new();
    for item in items {
        let Json::Object(cells) = row(item) else {
            continue;
        };
        for (name, cell) in cells {
            let column = columns.entry(name).or_insert_with(|| json!([]));
            column.as_array_mut().expect("a column").push(cell);
        }
    }
    columns.into()
}

fn series(port: &network::PortSeries) -> Json {
    json!({
        "queue": port.queue,
        "arrivals": port.arrivals,
        "losses": port.losses,
        "sent_bytes": port.sent_bytes,
        "rate_bps": port.rate_bps,
        "average": port.average,
        "probability": port.probability,
    })
}

fn period(period: &network::Period) -> Json {
    json!({
        "ports": period.ports.iter().map(port).collect::<Json>(),
        "kinds": period.ports.iter().map(kinds).collect::<Json>(),
        "wires": period.wires.iter()
            .map(|wire| json!([wire.entered, wire.lost, wire.reordered]))
            .collect::<Json>(),
        "acknowledged": period.counts.acknowledged,
        "retransmissions": period.counts.retransmissions,
        "timeouts": period.counts.timeouts,
        "datagrams_sent": period.counts.datagrams_sent,
        "datagrams_received": period.counts.datagrams_received,
    })
}

fn port(tally: &network::Tally) -> Json {
    json!({
        "duration": tally.duration_ns,
        "idle": tally.idle_ns,
        "queue": tally.queue_ns,
        "arrivals": tally.arrivals,
        "verdicts": tally.verdicts,
        "served": tally.sent,
        "served_bytes": tally.sent_bytes,
        "sojourn": times(&tally.sojourn),
        "delay": times(&tally.delay),
    })
}

fn kinds(tally: &network::Tally) -> Json {
    let kinds = Kind::COUNTED.map(|kinds| {
        let cell = tally.of_kinds(kinds);
        json!({
            "arrivals": cell.arrivals,
            "lost": cell.lost(),
            "delay": times(&cell.delay),
        })
    });
    json!(kinds)
}
