//! `sluiced check --watch`: where the queue builds while a daemon runs. A shaper does its work only
//! if that is here: what waits behind it, no AQM of ours decides on.

use std::{
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::{Failure, endpoint, endpoint::Address, nfqueue};

/// Time between two looks at the interface's queue.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A daemon that has just begun has nothing to tell for so long.
const PATIENCE: Duration = Duration::from_secs(1);
/// A link that was busy for this share of the time was the bottleneck.
const BUSY: f64 = 0.9;
/// Queues that are shorter than this in the mean, packets, are none.
const EMPTY: f64 = 1.0;
/// Packets that are read in one call: so many may come while the processor does something else.
const A_READ: f64 = nfqueue::BATCH as f64;
/// Nothing is said of a link of whose rate less than this share arrived.
const IDLE: f64 = 0.01;

/// What was seen of a link.
#[derive(Clone, Debug, Default)]
struct Seen {
    rate_bps: f64,
    arrived_bps: f64,
    sent_bps: f64,
    /// Mean, packets.
    queue: f64,
    /// Mean, ms.
    sojourn_ms: f64,
    /// Packets that the kernel held for the gate and that it had not read, mean.
    unread: f64,
    /// Packets in the queue of the interface, behind the gate, mean; `None` if it is not known.
    behind: Option<f64>,
    /// What that queue sent; 0 if it is not known.
    left_bps: f64,
}

#[derive(Debug, PartialEq, Eq)]
enum Place {
    Here,
    /// In the kernel's queue before the gate.
    Before,
    /// In the interface's queue behind it.
    Behind,
    /// In none of them.
    Elsewhere,
    /// There were hardly any packets.
    Unknown,
}

/// Watches, and prints the place for each link. Gives whether it is here for one of them.
///
/// # Errors
/// If no daemon tells how it stands.
pub fn watch(interface: &str, address: &Address, for_s: f64) -> Result<bool, Failure> {
    let ask = || {
        let records = endpoint::ask(address).map_err(|error| error.to_string());
        records.and_then(|text| endpoint::parse(&text)).map_err(|what| {
            Failure(format!(
                "no daemon tells how it stands at {address}: {what}. --watch takes one that runs \
                 with --metrics {address}; its place is said by --metrics, here too"
            ))
        })
    };
    let begun = Instant::now();
    let first = loop {
        match ask() {
            Err(_) if begun.elapsed() < PATIENCE => thread::sleep(LOOK_EVERY),
            told => break told?,
        }
    };
    let mut records = vec![first];
    let mut behind = Vec::new();
    let end = Instant::now() + Duration::from_secs_f64(for_s);
    while Instant::now() < end {
        behind.extend(InterfaceQueue::of(interface));
        thread::sleep(LOOK_EVERY);
        let now = ask()?;
        if records.last() != Some(&now) {
            records.push(now);
        }
    }
    if records.len() < 2 {
        return Err(Failure(format!(
            "the daemon at {address} told nothing new in {for_s} s: watch it for longer than its \
             --interval"
        )));
    }
    let mut is_here = false;
    for link in 0..records[0].len() {
        let records: Vec<&Value> = records.iter().filter_map(|all| all.get(link)).collect();
        let mut seen = seen(&records);
        let name = records[0]["link"].as_str().unwrap_or_default();
        // what comes in leaves by another interface
        if name == "forward" && !behind.is_empty() {
            let sum: f64 = behind.iter().map(|look| look.packets).sum();
            seen.behind = Some(sum / behind.len() as f64);
            seen.left_bps = InterfaceQueue::sent_bps(&behind);
        }
        let place = seen.place();
        let word = if place == Place::Here {
            "ok    "
        } else {
            "note  "
        };
        println!("{word}   {name}: {}", seen.told(&place, interface));
        is_here |= place == Place::Here;
    }
    Ok(is_here)
}

/// What happened between the first and the last of a link's records.
fn seen(records: &[&Value]) -> Seen {
    let (first, last) = (records[0], records[records.len() - 1]);
    let of = |record: &Value, name: &str| record[name].as_f64().unwrap_or_default();
    let more = |name: &str| of(last, name) - of(first, name);
    let time_s = more("time_s").max(1e-9);
    let overhead = of(last, "overhead_bytes");
    let sojourn = |record: &Value| {
        of(record, "sent") * record["sojourn_ms"]["mean"].as_f64().unwrap_or_default()
    };
    let queue = |record: &Value| of(record, "time_s") * of(record, "queue_mean");
    let unread = |record: &&Value| {
        let gone = of(record, "released") + of(record, "lost");
        (of(record, "kernel_held") - (of(record, "arrivals") - gone)).max(0.0)
    };
    Seen {
        rate_bps: of(last, "rate_bps"),
        arrived_bps: 8.0 * (more("arrived_bytes") + overhead * more("arrivals")) / time_s,
        sent_bps: 8.0 * (more("sent_bytes") + overhead * more("sent")) / time_s,
        queue: (queue(last) - queue(first)) / time_s,
        sojourn_ms: (sojourn(last) - sojourn(first)) / more("sent").max(1.0),
        unread: records.iter().map(unread).sum::<f64>() / records.len() as f64,
        behind: None,
        left_bps: 0.0,
    }
}

/// How the root queue of an interface stands.
struct InterfaceQueue {
    at: Instant,
    packets: f64,
    /// From its start.
    sent_bytes: f64,
}

impl InterfaceQueue {
    /// Asks tc; `None` without it, or if the interface has no queue.
    fn of(interface: &str) -> Option<Self> {
        let arguments = ["-s", "-j", "qdisc", "show", "dev", interface];
        let output = Command::new("tc").args(arguments).output().ok()?;
        let queues: Vec<Value> = serde_json::from_slice(&output.stdout).ok()?;
        let root = queues.iter().find(|queue| queue["root"] == true)?;
        Some(Self {
            at: Instant::now(),
            packets: root["qlen"].as_f64()?,
            sent_bytes: root["bytes"].as_f64()?,
        })
    }

    fn sent_bps(looks: &[Self]) -> f64 {
        let (first, last) = (&looks[0], &looks[looks.len() - 1]);
        let time_s = (last.at - first.at).as_secs_f64().max(1e-9);
        8.0 * (last.sent_bytes - first.sent_bytes) / time_s
    }
}

impl Seen {
    fn place(&self) -> Place {
        let behind = self.behind.unwrap_or_default();
        if self.arrived_bps < IDLE * self.rate_bps {
            Place::Unknown
        } else if self.unread > A_READ.max(self.queue).max(behind) {
            Place::Before
        } else if behind >= EMPTY && behind > self.queue {
            Place::Behind
        } else if self.sent_bps >= BUSY * self.rate_bps {
            Place::Here
        } else {
            Place::Elsewhere
        }
    }

    /// What that means, and what to do.
    fn told(&self, place: &Place, interface: &str) -> String {
        let megabits = |bps: f64| format!("{:.2}", bps / 1e6);
        let (sent, rate) = (megabits(self.sent_bps), megabits(self.rate_bps));
        let behind = match self.behind {
            Some(packets) => format!("{packets:.1} behind it in that of {interface}"),
            None => format!("unknown how many behind it in that of {interface}"),
        };
        let figures = format!(
            "{:.1} packets in our queue ({:.1} ms), {behind}, {:.1} before it in the kernel; {sent} \
             of {rate} Mbit/s sent",
            self.queue, self.sojourn_ms, self.unread
        );
        match place {
            Place::Here => format!("the queue builds here: {figures}"),
            Place::Before => format!(
                "the queue builds before the gate, which does not keep up: {figures}. Give it a \
                 faster processor, or --timer realtime"
            ),
            Place::Behind => format!(
                "the queue builds behind the gate: {figures}. The link of {interface} sends {} \
                 Mbit/s: set --rate a little below that",
                megabits(self.left_bps)
            ),
            Place::Elsewhere => format!(
                "no queue builds on this machine: {figures}. If packets are late all the same, the \
                 bottleneck is elsewhere: set --rate a little below {sent} Mbit/s. If they are not, \
                 watch again with more traffic"
            ),
            Place::Unknown => format!(
                "hardly any packet came: see sluiced check --interface {interface}, and watch again with \
                 traffic"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A link of 10 Mbit/s.
    fn link(sent_bps: f64, queue: f64, unread: f64, behind: Option<f64>) -> Place {
        let seen = Seen {
            rate_bps: 10e6,
            arrived_bps: sent_bps,
            sent_bps,
            queue,
            unread,
            behind,
            ..Seen::default()
        };
        seen.place()
    }

    #[test]
    fn the_longest_queue_is_where_it_builds() {
        assert_eq!(link(9.9e6, 30.0, 0.2, Some(0.1)), Place::Here);
        assert_eq!(link(9.9e6, 30.0, 0.2, None), Place::Here);
        // CoDel's is short
        assert_eq!(link(9.5e6, 2.0, 0.0, Some(0.5)), Place::Here);
        assert_eq!(link(7e6, 0.1, 0.0, Some(60.0)), Place::Behind);
        assert_eq!(link(9.9e6, 5.0, 0.0, Some(60.0)), Place::Behind);
        assert_eq!(link(9.9e6, 5.0, 2000.0, Some(0.0)), Place::Before);
        // the gate was not woken for a moment
        assert_eq!(link(7e6, 0.1, 20.0, Some(0.0)), Place::Elsewhere);
        // bursts wait for a moment before a link that has time
        assert_eq!(link(7e6, 3.0, 0.0, Some(0.0)), Place::Elsewhere);
        assert_eq!(link(0.0, 0.0, 0.0, Some(0.0)), Place::Unknown);
    }

    #[test]
    fn records_count_from_the_start_and_the_time_between_them_is_judged() {
        let record = |time_s: f64, packets: u64, queue_mean: f64, sojourn: f64, held: u64| {
            json!({
                "time_s": time_s, "rate_bps": 10e6, "overhead_bytes": 38,
                "arrivals": packets, "arrived_bytes": 1000 * packets, "lost": 0,
                "sent": packets, "sent_bytes": 1000 * packets, "released": packets,
                "queue_mean": queue_mean, "sojourn_ms": {"mean": sojourn}, "kernel_held": held,
            })
        };
        // 500 packets in 2 s, which found 8 packets and took 6 ms
        let first = record(2.0, 500, 4.0, 2.0, 0);
        let last = record(4.0, 1000, 6.0, 4.0, 10);
        let seen = seen(&[&first, &last]);
        assert_eq!(seen.sent_bps, 8.0 * 500.0 * 1038.0 / 2.0);
        assert_eq!((seen.queue, seen.sojourn_ms, seen.unread), (8.0, 6.0, 5.0));
    }
}
