//! `sluiced check --watch`: where the queue builds while a daemon runs. A shaper works only if the
//! queue builds here: our AQM cannot decide on packets that wait behind it.

use std::{
    thread,
    time::{Duration, Instant},
};

use nix::net::if_::if_nametoindex;

use crate::{
    Failure,
    backends::tun,
    check::place::{Place, mean, seen},
    cli::{Address, CheckOptions},
    machine::interface_queue::InterfaceQueue,
    print,
    telemetry::{endpoint, record::Line},
};

/// Time between two samples at the interface's queue.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// How long a daemon that has just started may have no records.
const PATIENCE: Duration = Duration::from_secs(1);
/// Watches a daemon for `for_s` s, and prints for each link where the queue builds. Returns true if
/// it builds here for one of them.
///
/// # Errors
/// If no daemon answers, or if it is not the one that the options describe.
pub fn watch(options: &CheckOptions, for_s: f64) -> Result<bool, Failure> {
    let first = first_records(&options.metrics)?;
    refuse_others(options, &first)?;
    let mut records = vec![first];
    let mut samples = Samples::default();
    let end = Instant::now() + Duration::from_secs_f64(for_s);
    while Instant::now() < end {
        samples.take(options);
        thread::sleep(SAMPLE_EVERY);
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
        let records: Vec<&Line> = records.iter().filter_map(|all| all.get(link)).collect();
        let mut seen = seen(&records);
        let name = &records[0].link;
        let unread = samples.unread.get(link).and_then(|samples| mean(samples));
        seen.unread = unread.or(seen.unread);
        // names of kinds are the same in all namespaces, and a daemon's kind serves one interface
        seen.is_of_interface = samples
            .behind
            .iter()
            .any(|sample| records[0].qdisc.as_ref() == Some(&sample.kind));
        // packets that enter by the interface leave by another one
        if name == "forward" && !samples.behind.is_empty() && !seen.is_of_interface {
            let packets: Vec<f64> = samples.behind.iter().map(|sample| sample.packets).collect();
            seen.behind = mean(&packets);
            seen.left_bps = InterfaceQueue::sent_bps(&samples.behind);
        }
        let place = seen.place();
        let word = if place == Place::Here {
            "ok    "
        } else {
            "note  "
        };
        print(&format!(
            "{word}   {name}: {}\n",
            seen.told(&place, options)
        ))?;
        is_here |= place == Place::Here;
    }
    Ok(is_here)
}

/// Returns the records of a daemon's links.
fn ask(address: &Address) -> Result<Vec<Line>, Failure> {
    let answer = endpoint::ask(address).map_err(|error| error.to_string());
    let records = answer.and_then(|text| endpoint::parse(&text));
    records.map_err(|what| {
        Failure(format!(
            "no daemon tells how it stands at {address}: {what}. --watch takes one that runs with \
             --metrics {address}; its place is said by --metrics, here too"
        ))
    })
}

fn first_records(address: &Address) -> Result<Vec<Line>, Failure> {
    let begun = Instant::now();
    loop {
        match ask(address) {
            Err(_) if begun.elapsed() < PATIENCE => thread::sleep(SAMPLE_EVERY),
            told => return told,
        }
    }
}

/// Returns an error if a cable cannot be watched, or is not this daemon's.
fn refuse_others(options: &CheckOptions, records: &[Line]) -> Result<(), Failure> {
    let Some(cable) = &options.tun else {
        return Ok(());
    };
    let (names, near) = (cable.join(" "), &cable[0]);
    if records.iter().any(|record| record.qdisc.is_some()) {
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
    if records.iter().any(|record| record.kernel_held.is_some()) {
        return Err(Failure(format!(
            "the daemon at {} takes packets from a queue of the kernel, not from --tun {names}: \
             leave that out, and name the interface before which it stands: --interface NAME",
            options.metrics
        )));
    }
    Ok(())
}

/// What was seen of the kernel's queues, one entry for each sample.
#[derive(Default)]
struct Samples {
    behind: Vec<InterfaceQueue>,
    /// Packets that wait to be read by a cable, by link.
    unread: [Vec<f64>; 2],
}

impl Samples {
    fn take(&mut self, options: &CheckOptions) {
        let interface = options.interface.as_deref();
        self.behind.extend(interface.and_then(InterfaceQueue::of));
        for (device, samples) in options.tun.iter().flatten().zip(&mut self.unread) {
            samples.extend(unread(device));
        }
    }
}

/// Returns how many packets wait to be read from a TUN device: in its queue as an interface, and
/// after that in the device. The kernel does not count the latter; they are the packets that the
/// queue has sent and that have not left the device. The device is asked last, so that the result
/// is too small rather than too large. `None` if the device has no queue with counts.
fn unread(device: &str) -> Option<f64> {
    let queue = InterfaceQueue::of(device).filter(|queue| queue.kind != "noqueue")?;
    let gone = tun::gone(device)? as f64;
    Some(queue.packets + (queue.sent_packets - gone).max(0.0))
}
