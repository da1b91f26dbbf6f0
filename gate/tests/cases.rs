//! What both worlds are compared with: a capture, every kind of discipline before a link, and the plan of the
//! same in the network world.

use std::{path::Path, sync::Arc};

use sluice_aqm::{NEVER, all, coupled};
use sluice_capture::Capture;
use sluice_ecn::Ecn;
use sluice_gate::settings::{ConfiguredDiscipline, LinkSettings, Settings};
use sluice_network::{Group, Plan, PortPlan, Recording, Replay, Source, Topology};
use sluice_scenario::{Discipline, Fields, Queue, Table, Value};

/// The rate of each link.
pub const RATE_BPS: u64 = 1_300_000;
/// Schedulers whose classes have an AQM each.
pub const OF_CLASSES: [&str; 3] = ["prio", "ets", "wf2q"];

/// Returns the repository's capture, repeated; one of every three packets has Not-ECT, one ECT(0) and
/// one ECT(1). Flows have different DSCPs.
pub fn recorded(packets: usize) -> Capture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../captures/gateway.pcap");
    let once = sluice_capture::read(path).unwrap();
    let pause_ns = once.time_ns.last().unwrap() + 1_000_003;
    let mut capture = Capture::default();
    for row in 0..packets {
        let (round, place) = (row / once.time_ns.len(), row % once.time_ns.len());
        capture
            .time_ns
            .push(once.time_ns[place] + round as u64 * pause_ns);
        capture.bytes.push(once.bytes[place]);
        capture.flow.push(once.flow[place]);
        capture
            .ecn
            .push([Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][row % 3]);
        capture.dscp.push(once.flow[place] as u8 & 63);
    }
    capture
}

/// Returns the same link and packets in the network world.
pub fn plan_of(capture: &Capture, settings: &Settings) -> Plan {
    let LinkSettings {
        rate_bps,
        buffer,
        discipline,
        ..
    } = &settings.forward;
    let recording = Recording::new(
        &capture.time_ns,
        &capture.bytes,
        &capture.flow_numbers(),
        &capture.traffic_classes(),
    );
    let port = PortPlan {
        discipline: discipline.spec.on(buffer),
        scheduler: discipline.in_lanes.clone(),
        aqm: discipline.spec.source().unwrap(),
    };
    Plan {
        topology: Topology {
            nodes: vec!["left".into(), "right".into()],
            links: vec![sluice_network::Link {
                from: 0,
                to: 1,
                rate_bps: *rate_bps,
                service: settings.forward.service().cloned(),
                wire: settings.forward.wire.clone(),
                delay_ns: 0,
                port: Some(port),
            }],
        },
        markers: Vec::new(),
        classes: Vec::new(),
        groups: vec![Group {
            from: 0,
            to: 1,
            count: 1,
            source: Source::Replay(Replay {
                recording: Arc::new(recording.unwrap()),
                start_ns: 0,
                spread_ns: 0,
                stop_ns: NEVER,
            }),
        }],
        duration_ns: capture.time_ns.last().unwrap() + 10_000_000_000,
        warm_up_ns: 0,
        sample_ns: 1_000_000_000,
        windows: false,
        replications: 1,
        seed: settings.seed,
    }
}

fn table(rows: &[(&str, &str)]) -> Value {
    let rows = rows.iter();
    Value::Table(Fields {
        of: "",
        rows: rows
            .map(|(name, text)| ((*name).to_owned(), Value::Text((*text).to_owned())))
            .collect(),
    })
}

/// Returns every AQM with its default parameters and every victim and scheduler; every other case
/// marks.
pub fn cases() -> impl Iterator<Item = Settings> {
    let words = ["tail", "front", "random"].into_iter().flat_map(|victim| {
        let schedulers = ["fifo", "sfq", "drr", "fq"].into_iter();
        schedulers.map(move |scheduler| (victim, scheduler))
    });
    let aqms = all().iter();
    let each = aqms.flat_map(move |aqm| words.clone().map(move |words| (&*aqm.name, words)));
    let each = each.chain(coupled().iter().map(|aqm| (&*aqm.name, ("tail", "fifo"))));
    let each = each
        .enumerate()
        .map(|(number, (aqm, (victim, scheduler)))| {
            let mut given = table(&[("aqm", aqm), ("victim", victim)]);
            if let Value::Table(fields) = &mut given {
                let mut of_scheduler = table(&[("kind", scheduler)]);
                // few queues, because each queue makes an event at each tick
                if let (Value::Table(fields), true) = (&mut of_scheduler, scheduler != "fifo") {
                    fields.set("queues", Value::Whole(16));
                }
                fields.set("scheduler", of_scheduler);
                let marks = number % 2 == 1 || number >= all().len() * 3 * 4;
                fields.set("ecn", Value::Switch(marks));
            }
            settings(number, &given)
        });
    each.chain(of_classes())
}

/// Returns every coupled discipline, with marks.
pub fn coupled_cases() -> impl Iterator<Item = Settings> {
    cases().filter(|case| case.forward.discipline.aqm.class().is_coupled())
}

fn settings(number: usize, given: &Value) -> Settings {
    let discipline: Discipline = sluice_scenario::read(given, Path::new("")).unwrap();
    Settings {
        forward: LinkSettings {
            rate_bps: RATE_BPS,
            varying: None,
            wire: None,
            delay_ns: 0,
            overhead_bytes: 0,
            buffer: Queue {
                limit: 150,
                ..Queue::usual()
            },
            discipline: ConfiguredDiscipline::of(discipline).unwrap(),
        },
        reverse: None,
        seed: number as u64,
        streams: [0, 1],
    }
}

/// Classes of service, each a third of the DSCPs: one of drop-tail, one of RED, one of PIE.
pub fn of_classes() -> impl Iterator<Item = Settings> {
    OF_CLASSES.iter().enumerate().map(|(number, scheduler)| {
        let class = |(place, aqm): (usize, &str)| {
            let mut class = table(&[("aqm", aqm)]);
            if let Value::Table(fields) = &mut class {
                let dscps = (0..64).filter(|dscp| dscp % 3 == place as i128);
                if place < 2 {
                    fields.set("dscp", Value::List(dscps.map(Value::Whole).collect()));
                }
                if place > 0 && *scheduler != "prio" {
                    fields.set("quantum_bytes", Value::Whole(700 << place));
                }
            }
            class
        };
        let mut given = table(&[("aqm", "drop_tail"), ("victim", "tail")]);
        if let Value::Table(fields) = &mut given {
            let aqms = ["drop_tail", "red", "pie"].into_iter().enumerate();
            fields.set("classes", Value::List(aqms.map(class).collect()));
            fields.set("scheduler", table(&[("kind", *scheduler)]));
            fields.set("ecn", Value::Switch(true));
        }
        settings(number, &given)
    })
}
