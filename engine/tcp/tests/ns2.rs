//! Packet by packet against ns-2.35: the same link, the same losses, and every packet's time and
//! every window must be ns-2's. `ns2/README.md` says how the traces were made.

use crate::channel::{Channel, Event};
use sluice_tcp::{Config, Sender, Variant};

/// ns-2 prints times of packets to 1 us and of windows to 10 us, windows to a thousandth.
const PACKET_NS: u64 = 1_000;
const WINDOW_NS: u64 = 10_000;
const WINDOW_PACKETS: f64 = 0.001;

/// A case as ns-2 ran it.
struct Case {
    config: Config,
    channel: Channel,
    sender: Sender,
    until_ns: u64,
    events: Vec<Event>,
}

fn seconds(text: &str) -> u64 {
    (text.parse::<f64>().unwrap() * 1e9).round() as u64
}

fn list(text: &str) -> Vec<u32> {
    text.split(',')
        .filter(|entry| !entry.is_empty())
        .map(|entry| entry.parse().unwrap())
        .collect()
}

fn read(text: &str) -> Case {
    let (header, body) = text.split_once('\n').unwrap();
    let field = |name: &str| {
        let entry = header
            .split(' ')
            .find_map(|entry| entry.strip_prefix(name)?.strip_prefix('='));
        entry.unwrap_or_else(|| panic!("no {name} in {header}"))
    };
    let variant = match field("variant") {
        "TCP" => Variant::Tahoe,
        "TCP/Reno" => Variant::Reno,
        "TCP/Newreno" => Variant::NewReno,
        "TCP/Sack1" => Variant::Sack,
        other => panic!("no variant {other}"),
    };
    let mut config = Config::ns2(variant, field("window").parse().unwrap());
    config.ecn = !field("marked").is_empty();
    config.delayed_ack_ns = field("sink").ends_with("DelAck").then_some(100_000_000);
    let sender = Sender::new(
        &config,
        field("packets").parse().unwrap(),
        field("phase_ns").parse().unwrap(),
    );
    let channel = Channel {
        rate_bps: 1_000_000,
        delay_ns: 47_310_000,
        data_bytes: 500,
        data_lost: list(field("lost")),
        data_marked: list(field("marked")),
        mark_above_ns: None,
        acks_lost: list(field("acks_lost")),
    };
    let events = body.lines().map(read_event).collect();
    let until_ns = seconds(field("seconds"));
    Case {
        config,
        channel,
        sender,
        until_ns,
        events,
    }
}

fn read_event(line: &str) -> Event {
    let words: Vec<&str> = line.split_whitespace().collect();
    let time_ns = seconds(words[0]);
    match words[1] {
        "send" => Event::Send {
            time_ns,
            seq: words[2].parse().unwrap(),
        },
        "window" => Event::Window {
            time_ns,
            cwnd: words[2].parse().unwrap(),
            ssthresh: words[3].parse().unwrap(),
            marked_share: None,
        },
        other => panic!("no event {other}"),
    }
}

fn sends(events: &[Event]) -> Vec<(u64, u32)> {
    let send = |event: &Event| match *event {
        Event::Send { time_ns, seq } => Some((time_ns, seq)),
        Event::Window { .. } => None,
    };
    events.iter().filter_map(send).collect()
}

/// The windows, each at the time it was reached.
fn windows(events: &[Event]) -> Vec<(u64, f64, f64)> {
    let mut reached: Vec<(u64, f64, f64)> = vec![];
    for event in events {
        if let Event::Window {
            time_ns,
            cwnd,
            ssthresh,
            ..
        } = *event
            && reached
                .last()
                .is_none_or(|last| (last.1, last.2) != (cwnd, ssthresh))
        {
            reached.push((time_ns, cwnd, ssthresh));
        }
    }
    reached
}

fn check(name: &str, case: Case) -> Result<(), String> {
    let ours = crate::channel::run(&case.channel, &case.config, case.sender, case.until_ns);
    let (our_sends, their_sends) = (sends(&ours), sends(&case.events));
    for (index, (our, their)) in our_sends.iter().zip(&their_sends).enumerate() {
        if our.1 != their.1 || our.0.abs_diff(their.0) > PACKET_NS {
            return Err(format!(
                "{name}, packet {index}: (ns, seq) {our:?}, in ns-2 {their:?}"
            ));
        }
    }
    if our_sends.len() != their_sends.len() {
        let (our, their) = (our_sends.len(), their_sends.len());
        return Err(format!("{name}: {our} packets sent, in ns-2 {their}"));
    }
    // An ns-2 sender with nothing left to send lets its timer run out and closes its window; ours
    // is done.
    let done_ns = windows(&ours).last().unwrap().0;
    let mut their_windows = windows(&case.events);
    their_windows.retain(|window| window.0 <= done_ns + WINDOW_NS);
    let our_windows = windows(&ours);
    for (our, their) in our_windows.iter().zip(&their_windows) {
        let apart = (our.1 - their.1).abs().max((our.2 - their.2).abs());
        if apart > WINDOW_PACKETS || our.0.abs_diff(their.0) > WINDOW_NS {
            return Err(format!(
                "{name}: (ns, cwnd, ssthresh) {our:?}, in ns-2 {their:?}"
            ));
        }
    }
    if our_windows.len() != their_windows.len() {
        let (our, their) = (our_windows.len(), their_windows.len());
        return Err(format!("{name}: {our} windows, in ns-2 {their}"));
    }
    Ok(())
}

#[test]
fn every_packet_and_window_is_that_of_ns2() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ns2/traces");
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert!(!names.is_empty());
    let mut failures = vec![];
    for path in names {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let case = read(&std::fs::read_to_string(&path).unwrap());
        failures.extend(check(&name, case).err());
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
