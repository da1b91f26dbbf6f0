//! `sluiced check --watch`: where the queue builds while a daemon runs. A shaper does its work only
//! if that is here: what waits behind it, no AQM of ours decides on.

use std::{
    thread,
    time::{Duration, Instant},
};

use nix::net::if_::if_nametoindex;
use serde_json::Value;

use crate::{
    Failure, cli::CheckOptions, endpoint, endpoint::Address, interface_queue::InterfaceQueue,
    nfqueue, tun,
};

/// Time between two looks at the interface's queue.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A daemon that has just begun has nothing to tell for so long.
const PATIENCE: Duration = Duration::from_secs(1);
/// A link that was busy for this share of the time was the bottleneck.
const BUSY: f64 = 0.9;
/// Queues that are shorter than this in the mean, packets, are none.
const EMPTY: f64 = 1.0;
/// A qdisc whose packets leave later than this after they could have, mean, ms, waits for its
/// interface.
const LATE_MS: f64 = 1.0;
/// Packets that are read in one call: so many may come while the processor does something else.
const A_READ: f64 = nfqueue::BATCH as f64;
/// Nothing is said of a link of whose rate less than this share arrived.
const IDLE: f64 = 0.01;

/// What was seen of a link.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Whether it is a qdisc of the kernel, to which packets come straight away.
    is_qdisc: bool,
    /// Whether it is the very queue of the interface.
    is_of_interface: bool,
    rate_bps: f64,
    arrived_bps: f64,
    sent_bps: f64,
    /// Mean, packets.
    queue: f64,
    /// Mean, ms.
    sojourn_ms: f64,
    /// Mean, ms: how much later packets left than they could have.
    lateness_ms: f64,
    /// Packets that the kernel held for the gate and that it had not read, mean; `None` if it is not
    /// known.
    unread: Option<f64>,
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
    /// In our qdisc, for which the interface takes packets more slowly than they may leave.
    Slower,
    /// In none of them.
    Elsewhere,
    /// There were hardly any packets.
    Unknown,
}

/// Watches, and prints the place for each link. Gives whether it is here for one of them.
///
/// # Errors
/// If no daemon tells how it stands, or if it is not the one that the options are for.
pub fn watch(options: &CheckOptions, for_s: f64) -> Result<bool, Failure> {
    let first = first_records(&options.metrics)?;
    refuse_others(options, &first)?;
    let mut records = vec![first];
    let mut looks = Looks::default();
    let end = Instant::now() + Duration::from_secs_f64(for_s);
    while Instant::now() < end {
        looks.look(options);
        thread::sleep(LOOK_EVERY);
        let now = ask(&options.metrics)?;
        if records.last() != Some(&now) {
            records.push(now);
        }
    }
    if records.len() < 2 {
        return Err(Failure(format!(
            "the daemon at {} told nothing new in {for_s} s: watch it for longer than its --interval",
            options.metrics
        )));
    }
    let mut is_here = false;
    for link in 0..records[0].len() {
        let records: Vec<&Value> = records.iter().filter_map(|all| all.get(link)).collect();
        let mut seen = seen(&records);
        let name = records[0]["link"].as_str().unwrap_or_default();
        let unread = looks.unread.get(link).and_then(|looks| mean(looks));
        seen.unread = unread.or(seen.unread);
        // kinds have one name in all namespaces, and a daemon's stands before one interface
        seen.is_of_interface = looks
            .behind
            .iter()
            .any(|look| records[0]["qdisc"] == look.kind);
        // what comes in leaves by another interface
        if name == "forward" && !looks.behind.is_empty() && !seen.is_of_interface {
            let packets: Vec<f64> = looks.behind.iter().map(|look| look.packets).collect();
            seen.behind = mean(&packets);
            seen.left_bps = InterfaceQueue::sent_bps(&looks.behind);
        }
        let place = seen.place();
        let word = if place == Place::Here {
            "ok    "
        } else {
            "note  "
        };
        println!("{word}   {name}: {}", seen.told(&place, options));
        is_here |= place == Place::Here;
    }
    Ok(is_here)
}

/// How a daemon's links stand.
fn ask(address: &Address) -> Result<Vec<Value>, Failure> {
    let answer = endpoint::ask(address).map_err(|error| error.to_string());
    let records = answer.and_then(|text| endpoint::parse(&text));
    records.map_err(|what| {
        Failure(format!(
            "no daemon tells how it stands at {address}: {what}. --watch takes one that runs with \
             --metrics {address}; its place is said by --metrics, here too"
        ))
    })
}

fn first_records(address: &Address) -> Result<Vec<Value>, Failure> {
    let begun = Instant::now();
    loop {
        match ask(address) {
            Err(_) if begun.elapsed() < PATIENCE => thread::sleep(LOOK_EVERY),
            told => return told,
        }
    }
}

/// Refuses a cable that cannot be looked at, or is not this daemon's.
fn refuse_others(options: &CheckOptions, records: &[Value]) -> Result<(), Failure> {
    let Some(cable) = &options.tun else {
        return Ok(());
    };
    let (names, near) = (cable.join(" "), &cable[0]);
    if records.iter().any(|record| record["qdisc"].is_string()) {
        return Err(Failure(format!(
            "the daemon at {} is a qdisc of the kernel, and takes no packets from --tun {names}: \
             leave that out, and name the interface before which it stands: --interface NAME",
            options.metrics
        )));
    }
    if let Some(end) = options.interface.as_ref().filter(|it| cable.contains(it)) {
        return Err(Failure(format!(
            "--interface {end} is an end of the cable --tun {names}: name the interface by which \
             packets leave behind it, or none"
        )));
    }
    if let Some(other) = cable.iter().find(|it| tun::is_another(it)) {
        return Err(Failure(format!(
            "--tun {names}: {other} is no TUN device: name the two between which the daemon stands"
        )));
    }
    if if_nametoindex(near.as_str()).is_err() {
        return Err(Failure(format!(
            "--tun {names}: there is no {near} in this network namespace: say this where it is; a \
             daemon in another one is found by --metrics unix:PATH"
        )));
    }
    if records.iter().any(|record| record["kernel_held"].is_u64()) {
        return Err(Failure(format!(
            "the daemon at {} takes packets from a queue of the kernel, not from --tun {names}: \
             leave that out, and name the interface before which it stands: --interface NAME",
            options.metrics
        )));
    }
    Ok(())
}

/// What was seen of the kernel's queues, look after look.
#[derive(Default)]
struct Looks {
    behind: Vec<InterfaceQueue>,
    /// Packets that wait for a cable, by link.
    unread: [Vec<f64>; 2],
}

impl Looks {
    fn look(&mut self, options: &CheckOptions) {
        let interface = options.interface.as_deref();
        self.behind.extend(interface.and_then(InterfaceQueue::of));
        for (device, looks) in options.tun.iter().flatten().zip(&mut self.unread) {
            looks.extend(unread(device));
        }
    }
}

/// Packets that wait for whoever reads a TUN device: in its queue as an interface, and behind that
/// in the device. The kernel does not count the latter; they are those that the queue sent and that
/// the device still has. It is asked last: rather too few are found than too many. `None` if the
/// device has no queue that counts.
fn unread(device: &str) -> Option<f64> {
    let queue = InterfaceQueue::of(device).filter(|queue| queue.kind != "noqueue")?;
    let gone = tun::gone(device)? as f64;
    Some(queue.packets + (queue.sent_packets - gone).max(0.0))
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

/// What happened between the first and the last of a link's records.
fn seen(records: &[&Value]) -> Seen {
    let (first, last) = (records[0], records[records.len() - 1]);
    let of = |record: &Value, name: &str| record[name].as_f64().unwrap_or_default();
    let more = |name: &str| of(last, name) - of(first, name);
    let time_s = more("time_s").max(1e-9);
    let overhead = of(last, "overhead_bytes");
    let sum = |record: &Value, name: &str| of(record, "sent") * of(&record[name], "mean");
    let mean_of = |name: &str| (sum(last, name) - sum(first, name)) / more("sent").max(1.0);
    let queue = |record: &Value| of(record, "time_s") * of(record, "queue_mean");
    let unread = |record: &&Value| {
        let gone = of(record, "released") + of(record, "lost");
        let held = record["kernel_held"].as_f64()?;
        Some((held - (of(record, "arrivals") - gone)).max(0.0))
    };
    let unread: Option<Vec<f64>> = records.iter().map(unread).collect();
    Seen {
        is_qdisc: last["qdisc"].is_string(),
        rate_bps: of(last, "rate_bps"),
        arrived_bps: 8.0 * (more("arrived_bytes") + overhead * more("arrivals")) / time_s,
        sent_bps: 8.0 * (more("sent_bytes") + overhead * more("sent")) / time_s,
        queue: (queue(last) - queue(first)) / time_s,
        sojourn_ms: mean_of("sojourn_ms"),
        lateness_ms: mean_of("lateness_ms"),
        unread: unread.as_deref().and_then(mean),
        ..Seen::default()
    }
}

impl Seen {
    fn place(&self) -> Place {
        let behind = self.behind.unwrap_or_default();
        let unread = self.unread.unwrap_or_default();
        if self.arrived_bps < IDLE * self.rate_bps {
            Place::Unknown
        } else if unread > A_READ.max(self.queue).max(behind) {
            Place::Before
        } else if behind >= EMPTY && behind > self.queue {
            Place::Behind
        } else if self.sent_bps >= BUSY * self.rate_bps {
            Place::Here
        } else if self.is_qdisc && self.queue >= EMPTY && self.lateness_ms >= LATE_MS {
            Place::Slower
        } else {
            Place::Elsewhere
        }
    }

    /// What that means, and what to do.
    fn told(&self, place: &Place, options: &CheckOptions) -> String {
        let interface = options.interface.as_deref().unwrap_or_default();
        let megabits = |bps: f64| format!("{:.2}", bps / 1e6);
        let (sent, rate) = (megabits(self.sent_bps), megabits(self.rate_bps));
        let behind = match (self.behind, &options.interface) {
            _ if self.is_of_interface => format!(", which is that of {interface} itself"),
            (Some(packets), _) => format!(", {packets:.1} behind it in that of {interface}"),
            (None, Some(_)) => format!(", unknown how many behind it in that of {interface}"),
            (None, None) => ", unknown how many behind it".to_owned(),
        };
        let before = match self.unread {
            _ if self.is_qdisc => String::new(),
            Some(packets) => format!(", {packets:.1} before it in the kernel"),
            None => ", unknown how many before it in the kernel".to_owned(),
        };
        let figures = format!(
            "{:.1} packets in our queue ({:.1} ms){behind}{before}; {sent} of {rate} Mbit/s sent",
            self.queue, self.sojourn_ms
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
            Place::Slower => format!(
                "the interface is slower than --rate: {figures}, each packet {:.1} ms later \
                 than that allows. Set --rate a little below {sent} Mbit/s",
                self.lateness_ms
            ),
            Place::Elsewhere => format!(
                "no queue builds on this machine: {figures}. If packets are late all the same, the \
                 bottleneck is elsewhere: set --rate a little below {sent} Mbit/s. If they are not, \
                 watch again with more traffic"
            ),
            Place::Unknown => {
                let what = match &options.tun {
                    Some(cable) => format!("--tun {}", cable.join(" ")),
                    None if self.is_qdisc => format!("--backend kernel --interface {interface}"),
                    None => format!("--interface {interface}"),
                };
                format!(
                    "hardly any packet came: see sluiced check {what}, and watch again with traffic"
                )
            }
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
            unread: Some(unread),
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
    fn a_qdisc_that_is_asked_too_late_stands_before_an_interface_that_is_too_slow() {
        let place = |is_qdisc, sent_bps, queue, lateness_ms| {
            let seen = Seen {
                is_qdisc,
                rate_bps: 10e6,
                arrived_bps: 20e6,
                sent_bps,
                queue,
                lateness_ms,
                ..Seen::default()
            };
            seen.place()
        };
        assert_eq!(place(true, 5e6, 30.0, 10.0), Place::Slower);
        assert_eq!(place(true, 9.9e6, 30.0, 10.0), Place::Here);
        assert_eq!(place(true, 5e6, 0.9, 10.0), Place::Elsewhere);
        assert_eq!(place(true, 5e6, 30.0, 0.9), Place::Elsewhere);
        // the gate is late if its processor is busy, whatever the interface takes
        assert_eq!(place(false, 5e6, 30.0, 10.0), Place::Elsewhere);
    }

    #[test]
    fn records_count_from_the_start_and_the_time_between_them_is_judged() {
        let record = |time_s: f64, packets: u64, queue_mean: f64, sojourn: f64, held: u64| {
            json!({
                "time_s": time_s, "rate_bps": 10e6, "overhead_bytes": 38,
                "arrivals": packets, "arrived_bytes": 1000 * packets, "lost": 0,
                "sent": packets, "sent_bytes": 1000 * packets, "released": packets,
                "queue_mean": queue_mean, "sojourn_ms": {"mean": sojourn}, "kernel_held": held,
                "lateness_ms": {"mean": sojourn / 2.0},
            })
        };
        // 500 packets in 2 s, which found 8 packets and took 6 ms
        let first = record(2.0, 500, 4.0, 2.0, 0);
        let last = record(4.0, 1000, 6.0, 4.0, 10);
        let seen = seen(&[&first, &last]);
        assert_eq!(seen.sent_bps, 8.0 * 500.0 * 1038.0 / 2.0);
        assert_eq!(
            (seen.queue, seen.sojourn_ms, seen.unread),
            (8.0, 6.0, Some(5.0))
        );
        assert_eq!(seen.lateness_ms, 3.0);
        let cable = json!({"kernel_held": null});
        assert_eq!(super::seen(&[&cable]).unread, None);
    }
}
