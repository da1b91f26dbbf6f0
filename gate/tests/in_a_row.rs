//! Two AQMs in a row decide as in the network world, also on packets that the first one marked: a
//! packet that arrives with CE is marked again, not dropped early (RFC 3168, section 5).
//!
//! All times are multiples of 2^-9 s, which no clock rounds.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use rand::Rng;
use sluice_aqm::{AqmSource, NEVER, Verdict};
use sluice_capture::{Capture, ip_packet};
use sluice_gate::{
    packet::{Held, ecn::set_ce},
    replay::replay,
    router::link::Outlet,
    settings::{ConfiguredDiscipline, LinkSettings, Settings},
};
use sluice_network::{Group, Link, Monitor, Plan, PortPlan, Recording, Replay, Source, Topology};
use sluice_queue::{DecisionLog, Event, Observer};
use sluice_random::stream;
use sluice_scenario::{Discipline, Fields, Queue, Table, Value};

const PACKETS: usize = 4000;
/// 2^-9 s, ns.
const SLOT_NS: u64 = 1_953_125;
const CE: u8 = 3;

/// A packet on its way, with its IP header.
type Timed = (u64, Vec<u8>);

/// Returns packets of one flow at half a packet time of the first link each; two of three can be
/// marked.
fn packets() -> Vec<Timed> {
    let random = &mut stream(1, "arrivals", 0);
    let mut slot = 1;
    let mut one = |number: usize| {
        slot += 2 * (random.next_u64() % 64);
        let bytes = 125 << (random.next_u64() % 3);
        let mut packet = vec![0x45, [0, 1, 2][number % 3], 0, 0];
        packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.resize(bytes, 0);
        (slot * SLOT_NS, packet)
    };
    (0..PACKETS).map(&mut one).collect()
}

/// Returns what the gate reads of packets.
fn capture(packets: &[Timed]) -> Capture {
    let mut capture = Capture::default();
    for (time_ns, packet) in packets {
        let read = ip_packet(packet, packet.len() as u32).unwrap();
        capture.time_ns.push(*time_ns);
        capture.bytes.push(read.bytes);
        capture.flow.push(read.flow);
        capture.ecn.push(read.ecn);
        capture.dscp.push(read.dscp);
    }
    capture
}

/// The log of a replay, and the packets that it lets out, marked in their headers.
struct Gate<'a> {
    log: DecisionLog<Vec<u8>>,
    packets: &'a [Timed],
    released: Vec<Timed>,
}

impl Observer<Held> for Gate<'_> {
    fn lost(&mut self, _: Held, _: Verdict) {}

    fn note(&mut self, now_ns: u64, queue: usize, event: Event<'_>) {
        self.log.note(now_ns, 0, queue, event);
    }
}

impl Outlet<Held> for Gate<'_> {
    fn released(&mut self, at_ns: u64, packet: Held) {
        let mut data = self.packets[packet.id as usize].1.clone();
        assert!(!packet.marked || set_ce(&mut data));
        self.released.push((at_ns, data));
    }

    fn lost_on_wire(&mut self, _: Held) {}
}

/// Sends packets through a gate; returns its decisions and the packets that leave it.
fn through(packets: &[Timed], settings: &Settings) -> (String, Vec<Timed>) {
    let mut gate = Gate {
        log: DecisionLog::new(Vec::new()),
        packets,
        released: Vec::new(),
    };
    replay(&capture(packets), settings, &mut gate).unwrap();
    let log = String::from_utf8(gate.log.finish().unwrap()).unwrap();
    (log, gate.released)
}

/// Returns the decisions of the network world at both links.
fn in_network(packets: &[Timed], links: [&Settings; 2]) -> String {
    let capture = capture(packets);
    let recording = Recording::new(
        &capture.time_ns,
        &capture.bytes,
        &capture.flow_numbers(),
        &capture.traffic_classes(),
    );
    let link = |(number, settings): (usize, &Settings)| Link {
        from: number,
        to: number + 1,
        rate_bps: settings.forward.rate_bps,
        service: None,
        wire: None,
        delay_ns: 0,
        port: Some(PortPlan {
            discipline: settings
                .forward
                .discipline
                .spec
                .on(&settings.forward.buffer),
            scheduler: settings.forward.in_lanes().cloned(),
            aqm: AqmSource::Configured(settings.forward.discipline.aqm.clone()),
        }),
    };
    let plan = Plan {
        topology: Topology {
            nodes: ["left", "middle", "right"].map(String::from).into(),
            links: links.into_iter().enumerate().map(link).collect(),
        },
        markers: Vec::new(),
        classes: Vec::new(),
        groups: vec![Group {
            from: 0,
            to: 2,
            count: 1,
            source: Source::Replay(Replay {
                recording: Arc::new(recording.unwrap()),
                start_ns: 0,
                spread_ns: 0,
                stop_ns: NEVER,
            }),
        }],
        duration_ns: capture.time_ns.last().unwrap() + 100_000_000_000,
        warm_up_ns: 0,
        sample_ns: 1_000_000_000,
        windows: false,
        replications: 1,
        seed: links[0].seed,
    };
    let mut log = DecisionLog::new(Vec::new());
    sluice_network::simulate_traced(&plan, &Monitor::default(), &mut &mut log).unwrap();
    String::from_utf8(log.finish().unwrap()).unwrap()
}

/// Returns the decisions of one link, without the lines' own numbers. Ticks after all packets have
/// left are left out: the network's AQM goes on ticking.
fn decisions(log: &str, link: &str) -> Vec<Vec<String>> {
    let mut lines: Vec<Vec<String>> = log
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(String::from).collect())
        .filter(|fields: &Vec<String>| fields[2] == link)
        .map(|mut fields| {
            fields.drain(2..3);
            fields.split_off(1)
        })
        .collect();
    let last = lines.iter().rposition(|fields| fields[2] != "tick");
    lines.truncate(last.map_or(0, |last| last + 1));
    lines
}

/// Returns settings of link `number` of two.
fn settings(number: usize, aqm: &str, params: &[(&str, f64)]) -> Settings {
    let mut fields = Fields {
        of: "",
        rows: Vec::new(),
    };
    fields.set("aqm", Value::Text(aqm.into()));
    fields.set("ecn", Value::Switch(true));
    let rows = params.iter();
    fields.set(
        "params",
        Value::Table(Fields {
            of: "",
            rows: rows
                .map(|(name, value)| ((*name).to_owned(), Value::Number(*value)))
                .collect(),
        }),
    );
    let discipline: Discipline =
        sluice_scenario::read(&Value::Table(fields), Path::new("")).unwrap();
    Settings {
        forward: LinkSettings {
            // a packet of 125 bytes takes 64 slots, and 80 at the second link
            rate_bps: [8000, 6400][number],
            varying: None,
            wire: None,
            delay_ns: 0,
            overhead_bytes: 0,
            buffer: Queue {
                limit: 60,
                ..Queue::usual()
            },
            discipline: ConfiguredDiscipline::of(discipline).unwrap(),
        },
        reverse: None,
        seed: 5,
        streams: [number, 9],
    }
}

#[test]
fn a_second_gate_decides_as_the_second_link_of_the_network_world() {
    let red: &[(&str, f64)] = &[
        ("min_th", 3.0),
        ("max_th", 50.0),
        ("max_p", 0.3),
        ("w", 0.1),
    ];
    let codel: &[(&str, f64)] = &[("target", 0.5), ("interval", 5.0)];
    let pie: &[(&str, f64)] = &[("target", 1.0), ("t_update", 0.5), ("mark_ecnth", 1.0)];
    for (first, second) in [
        (("red", red), ("red", red)),
        (("red", red), ("codel", codel)),
        (("codel", codel), ("red", red)),
        (("red", red), ("pie", pie)),
    ] {
        let name = format!("{} before {}", first.0, second.0);
        let [first, second] = [
            settings(0, first.0, first.1),
            settings(1, second.0, second.1),
        ];
        let packets = packets();
        let network = in_network(&packets, [&first, &second]);
        let (one, middle) = through(&packets, &first);
        let (two, _) = through(&middle, &second);
        for (link, log) in [("0", &one), ("1", &two)] {
            let (found, expected) = (decisions(log, "0"), decisions(&network, link));
            let differ = found
                .iter()
                .zip(&expected)
                .find(|(one, other)| one != other);
            assert_eq!(differ, None, "{name}, link {link}");
            assert_eq!(found.len(), expected.len(), "{name}, link {link}");
        }
        let counts = fates(&middle, &two);
        println!("{name}: {counts:?}");
        assert!(counts["MARK"] > 30, "{name}: {counts:?}");
        assert!(!counts.contains_key("DROP_EARLY"), "{name}: {counts:?}");
    }
}

/// Returns how often each verdict was given at the second link on packets that came with CE.
fn fates(middle: &[Timed], log: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for fields in decisions(log, "0") {
        let is_verdict = ["arrive", "depart"].contains(&fields[2].as_str());
        let number = fields[3].parse::<usize>();
        if is_verdict && middle[number.unwrap() - 1].1[1] == CE {
            *counts.entry(fields[4].clone()).or_default() += 1;
        }
    }
    counts
}
