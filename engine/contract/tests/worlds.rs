//! Every world writes exactly the decision log of the plain link.

use std::{borrow::Cow, collections::BTreeMap, io::Write, sync::Arc};

use sluice_aqm::{AqmSource, Value, all, coupled, schedulers};
use sluice_contract::{Arrival, COUPLED, Case, SLOT_NS, SLOTS_PER_UNIT, UNIT_BYTES, cases, log};
use sluice_network::{Group, Link, NEVER, PortPlan, Recording, Replay, Source, Topology};
use sluice_queue::{DecisionLog, columns};
use sluice_slotted::{Arrivals, Service};

/// Returns the log that `run` writes.
fn logged(run: impl FnOnce(&mut DecisionLog<&mut (dyn Write + Send)>)) -> String {
    let mut bytes = Vec::new();
    let mut log = DecisionLog::new(&mut bytes as &mut (dyn Write + Send));
    run(&mut log);
    log.finish().unwrap();
    String::from_utf8(bytes).unwrap()
}

fn column<T>(case: &Case, of: impl Fn(&Arrival) -> T) -> Vec<T> {
    case.arrivals.iter().map(of).collect()
}

fn slotted(case: &Case) -> String {
    let recording = sluice_slotted::Recording::new(
        &column(case, |arrival| arrival.slot),
        &column(case, |arrival| arrival.bytes),
        &column(case, Arrival::flow_hash),
        &column(case, |arrival| arrival.ecn),
    );
    let plan = sluice_slotted::Plan {
        arrivals: Arrivals::Replay(Arc::new(recording.unwrap())),
        packet_bytes: UNIT_BYTES,
        service: Service::PacketSize {
            bytes_per_slot: f64::from(UNIT_BYTES) / SLOTS_PER_UNIT as f64,
        },
        discipline: case.discipline,
        scheduler: case.scheduler.clone(),
        slots: case.slots(),
        replications: 1,
        seed: case.seed,
        slot_ns: SLOT_NS,
    };
    let aqm = AqmSource::Configured(case.aqm.clone());
    let monitor = sluice_slotted::Monitor::default();
    logged(|log| {
        sluice_slotted::simulate_logged(&plan, &aqm, case.words(), &monitor, log);
    })
}

fn network(case: &Case) -> String {
    let recording = Recording::new(
        &column(case, |arrival| arrival.slot * SLOT_NS),
        &column(case, |arrival| arrival.bytes),
        &column(case, |arrival| arrival.flow),
        &column(case, |arrival| arrival.dscp << 2 | arrival.ecn.bits()),
    );
    let link = Link {
        from: 0,
        to: 1,
        rate_bps: case.rate_bps(),
        service: None,
        wire: None,
        delay_ns: 0,
        port: Some(PortPlan {
            discipline: case.discipline,
            scheduler: case.scheduler.clone(),
            aqm: AqmSource::Configured(case.aqm.clone()),
        }),
    };
    let group = Group {
        from: 0,
        to: 1,
        count: 1,
        source: Source::Replay(Replay {
            recording: Arc::new(recording.unwrap()),
            start_ns: 0,
            spread_ns: 0,
            stop_ns: NEVER,
        }),
    };
    let plan = sluice_network::Plan {
        topology: Topology {
            nodes: vec!["source".into(), "sink".into()],
            links: vec![link],
        },
        groups: vec![group],
        markers: Vec::new(),
        classes: Vec::new(),
        duration_ns: case.slots() * SLOT_NS,
        warm_up_ns: 0,
        sample_ns: 1_000_000_000,
        windows: false,
        replications: 1,
        seed: case.seed,
    };
    let monitor = sluice_network::Monitor::default();
    logged(|mut log| {
        sluice_network::simulate_traced(&plan, &monitor, &mut log).unwrap();
    })
}

/// A world is one function from a case to its decision log.
type World = fn(&Case) -> String;

const WORLDS: [(&str, World); 2] = [("slotted", slotted), ("network", network)];

fn without_last_column(log: &str) -> String {
    let lines = log.lines().map(|line| line.rsplit_once(',').unwrap().0);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Returns the first two lines in which two logs differ.
fn first_difference(one: &str, other: &str) -> String {
    let differ = |(one, other): &(&str, &str)| one != other;
    match one.lines().zip(other.lines()).find(differ) {
        Some((one, other)) => format!("{}\n{one}\n{other}", columns()),
        None => format!(
            "{} and {} lines",
            one.lines().count(),
            other.lines().count()
        ),
    }
}

/// Counts each event with each verdict in a log.
fn count<'a>(log: &'a str, counts: &mut BTreeMap<(&'a str, &'a str), usize>) {
    for line in log.lines().skip(1) {
        let mut fields = line.split(',').skip(4);
        let (event, verdict) = (fields.next().unwrap(), fields.nth(1).unwrap());
        *counts.entry((event, verdict)).or_default() += 1;
    }
}

/// True if its lanes are chosen by DSCP, which packets of the slotted world do not have.
fn looks_at_dscp(case: &Case) -> bool {
    let mut values = case.aqm.values();
    values.any(|(name, value)| name == "diffserv" && value != Value::Word("besteffort".into()))
}

#[test]
fn every_world_decides_alike() {
    let (mut combinations, mut decisions) = (0, 0);
    let mut counts = BTreeMap::new();
    let mut acting = BTreeMap::new();
    let logs: Vec<_> = cases().map(|case| (log(&case), case)).collect();
    for (expected, case) in &logs {
        for (name, world) in WORLDS {
            if name == "slotted" && looks_at_dscp(case) {
                continue;
            }
            let mut found = world(case);
            let mut expected = Cow::from(expected);
            if name == "slotted" {
                // its packets have no DSCP
                found = without_last_column(&found);
                expected = without_last_column(&expected).into();
            }
            assert!(
                found == *expected,
                "{name}, {}: {}",
                case.name,
                first_difference(&found, &expected)
            );
        }
        let mut own = BTreeMap::new();
        count(expected, &mut own);
        combinations += 1;
        decisions += own.values().sum::<usize>();
        for ((event, verdict), count) in own {
            *counts.entry((event, verdict)).or_insert(0) += count;
            if event != "lost" && !["", "ADMIT", "DROP_OVERFLOW"].contains(&verdict) {
                *acting.entry(case.aqm.class().name.clone()).or_insert(0) += count;
            }
        }
    }
    println!(
        "{combinations} combinations of AQM, victim, marking, limit and scheduler, {decisions} \
         decisions each in the plain link and {} worlds, no difference: {counts:?}",
        WORLDS.len()
    );
    let of_coupled = COUPLED.len() * 3;
    assert_eq!(
        combinations,
        all().len() * 3 * 2 * 2 * (1 + schedulers().len()) + of_coupled
    );
    // every event is frequent, and every AQM except drop-tail drops or marks by itself
    for (event, verdict) in [
        ("arrive", "ADMIT"),
        ("arrive", "DROP_EARLY"),
        ("arrive", "DROP_FORCED"),
        ("arrive", "DROP_OVERFLOW"),
        ("arrive", "DROP_BOTH"),
        ("arrive", "MARK"),
        ("depart", "ADMIT"),
        ("depart", "DROP_EARLY"),
        ("depart", "MARK"),
        ("join", ""),
        ("leave", ""),
        ("tick", ""),
        ("lost", "DROP_EARLY"),
        ("lost", "DROP_OVERFLOW"),
        ("lost", "DROP_BOTH"),
    ] {
        assert!(counts[&(event, verdict)] > 500, "{event} {verdict}");
    }
    let disciplines = all().len() + coupled().len();
    assert_eq!(acting.len(), disciplines - 1, "{acting:?}");
    assert!(acting.values().all(|count| *count > 300), "{acting:?}");
}

/// The comparison fails if a world gets a slightly different case.
#[test]
fn a_world_that_differs_is_told() {
    type Fault = fn(Case) -> Case;
    let faults: [(&str, Fault); 3] = [
        ("a packet fewer", |case| Case {
            discipline: sluice_aqm::BufferPolicy {
                limit: case.discipline.limit - 1,
                ..case.discipline
            },
            ..case
        }),
        ("other random words", |case| Case {
            seed: case.seed + 1,
            ..case
        }),
        ("another flow", |case| {
            let mut arrivals = case.arrivals.to_vec();
            arrivals[100].flow += 1;
            Case {
                arrivals: arrivals.into(),
                ..case
            }
        }),
    ];
    for (name, fault) in faults {
        for case in cases().step_by(7) {
            let expected = log(&case);
            for (world_name, world) in WORLDS {
                let found = world(&fault(case.clone()));
                assert!(found != expected, "{name}, {world_name}, {}", case.name);
            }
        }
    }
}
