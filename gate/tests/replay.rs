//! A replay makes the same decisions as the network world, packet by packet and bit by bit, for
//! every AQM, victim and scheduler.

use std::{env, path::Path, sync::Arc, thread};

use sluice_aqm::{NEVER, Verdict, View, all, coupled};
use sluice_capture::Capture;
use sluice_ecn::Ecn;
use sluice_gate::{
    cli::LinkOptions,
    packet::Held,
    replay::{Watch, replay},
    router::link::{Link, Outlet, held},
    settings::{ConfiguredDiscipline, LinkSettings, Settings, Varying},
};
use sluice_link::Clock;
use sluice_network::{
    Bursts, Distribution as WireTime, Group, Loss, Monitor, Plan, Policer, PortPlan, RateStep,
    Recording, Replay, Service, Source, Step, Topology, Trace, WirePlan,
};
use sluice_queue::{Event, Observer};
use sluice_random::stream;
use sluice_scenario::{AqmName, Discipline, Fields, Queue, Table, Value, Victim};

const RATE_BPS: u64 = 1_300_000;
/// Schedulers whose classes have an AQM each.
const OF_CLASSES: [&str; 3] = ["prio", "ets", "wf2q"];
const VERDICTS: [Verdict; 6] = [
    Verdict::Admit,
    Verdict::Mark,
    Verdict::DropEarly,
    Verdict::DropForced,
    Verdict::DropOverflow,
    Verdict::DropBoth,
];

/// What happened at a queue: time, queue of the scheduler, verdict, view of the AQM.
type Decision = (u64, usize, Option<Verdict>, View);

fn decision(now_ns: u64, queue: usize, event: Event<'_>) -> Decision {
    let (verdict, view) = match event {
        Event::Arrive(view, verdict) | Event::Depart(view, verdict) => (Some(verdict), *view),
        Event::LoseArrival(verdict) | Event::LoseLeft(verdict) => (Some(verdict), View::default()),
        Event::Tick(view) => (None, *view),
        Event::Join(view) | Event::Leave(_, view) => (None, view.copied().unwrap_or_default()),
    };
    (now_ns, queue, verdict, view)
}

#[derive(Default)]
struct Decisions(Vec<Decision>);

impl Observer<Held> for Decisions {
    const ON: bool = true;

    fn lost(&mut self, _: Held, _: Verdict) {}

    fn note(&mut self, now_ns: u64, queue: usize, event: Event<'_>) {
        self.0.push(decision(now_ns, queue, event));
    }
}

/// Compares the decisions of the network world with those of a replay as they are made.
struct Beside<'a> {
    replayed: &'a [Decision],
    /// Number of equal decisions.
    same: usize,
    /// The first difference: the replay's decision, if there is one, and the network's.
    difference: Option<(Option<Decision>, Decision)>,
    /// When packets come out of the link, or of its wire.
    received_ns: Vec<u64>,
    lost_on_wire: u64,
}

impl Trace for Beside<'_> {
    const ON: bool = true;

    fn begin(&mut self, _: &[u32], _: &[u32]) {}

    fn note(&mut self, _: u64, event: sluice_network::Event) {
        match event.step {
            Step::Receive => self.received_ns.push(event.at_ns),
            Step::Lose => self.lost_on_wire += 1,
            _ => {}
        }
    }

    fn decide(&mut self, now_ns: u64, _: usize, queue: usize, event: Event<'_>) {
        let found = decision(now_ns, queue, event);
        let expected = self.replayed.get(self.same);
        // the network's AQM goes on ticking after all packets have left
        let is_idle_tick = matches!(event, Event::Tick(view) if view.queue_packets == 0);
        if expected == Some(&found) && self.difference.is_none() {
            self.same += 1;
        } else if expected.is_some() || !is_idle_tick {
            self.difference.get_or_insert((expected.copied(), found));
        }
    }
}

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

fn in_replay(capture: &Capture, settings: &Settings) -> Vec<Decision> {
    let mut watch = Watch(Decisions::default());
    replay(capture, settings, &mut watch).unwrap();
    watch.0.0
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

/// Compares the network world's decisions with those of a replay.
fn beside_network<'a>(
    replayed: &'a [Decision],
    capture: &Capture,
    settings: &Settings,
) -> Beside<'a> {
    let plan = plan_of(capture, settings);
    let mut beside = Beside {
        replayed,
        same: 0,
        difference: None,
        received_ns: Vec::new(),
        lost_on_wire: 0,
    };
    sluice_network::simulate_traced(&plan, &Monitor::default(), &mut beside).unwrap();
    beside
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
fn cases() -> impl Iterator<Item = Settings> {
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

/// Counts of what was compared and found equal.
#[derive(Debug, Default)]
struct Compared {
    /// Events at the queue: arrivals, joins, departures, losses, ticks.
    decisions: u64,
    /// How often each verdict was given.
    verdicts: [u64; Verdict::COUNT],
}

/// Compares a case in both worlds.
fn compare_case(capture: &Capture, settings: &Settings) -> Compared {
    let name = settings.forward.describe();
    let found = in_replay(capture, settings);
    let beside = beside_network(&found, capture, settings);
    assert_eq!(beside.difference, None, "{name}");
    assert_eq!(beside.same, found.len(), "{name}: the replay decided more");
    println!("{} decisions the same: {name}", found.len());
    let mut compared = Compared {
        decisions: found.len() as u64,
        ..Compared::default()
    };
    for verdict in found.iter().filter_map(|decision| decision.2) {
        compared.verdicts[verdict as usize] += 1;
    }
    compared
}

/// Compares cases, on all cores.
fn compare(packets: usize, cases: &[Settings]) -> Compared {
    let capture = recorded(packets);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut compared = Compared::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let capture = &capture;
                scope.spawn(move || {
                    let own = cases.iter().skip(first).step_by(threads);
                    own.map(|case| compare_case(capture, case))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for case in workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap())
        {
            compared.decisions += case.decisions;
            let sums = compared.verdicts.iter_mut();
            sums.zip(case.verdicts)
                .for_each(|(sum, count)| *sum += count);
        }
    });
    compared
}

#[test]
fn every_verdict_is_that_of_the_network_world() {
    let cases: Vec<Settings> = cases().collect();
    let others = coupled().len() + OF_CLASSES.len();
    assert_eq!(cases.len(), all().len() * 3 * 4 + others);
    let verdicts = compare(20_000, &cases).verdicts;
    for verdict in VERDICTS {
        let count = verdicts[verdict as usize];
        assert!(count > 1000, "{verdict:?}: {count}");
    }
}

/// Returns the cases of one part, such as `3/8`: the third, the eleventh, and so on.
fn part_of(cases: Vec<Settings>, part: &str) -> Vec<Settings> {
    let numbers = part.split_once('/').and_then(|(number, parts)| {
        let numbers: (usize, usize) = (number.parse().ok()?, parts.parse().ok()?);
        (1..=numbers.1).contains(&numbers.0).then_some(numbers)
    });
    let (number, parts) =
        numbers.unwrap_or_else(|| panic!("PART = {part} must be one of some parts, such as 3/8"));
    let own = cases.into_iter().skip(number - 1).step_by(parts);
    own.collect()
}

#[test]
#[ignore = "takes minutes: make decisions"]
fn a_million_packets_are_judged_as_in_the_network_world() {
    let part = env::var("SLUICE_PART").unwrap_or_else(|_| "1/1".into());
    let cases = part_of(cases().collect(), &part);
    let compared = compare(1_000_000, &cases);
    let (count, decisions) = (cases.len(), compared.decisions);
    println!("part {part}: {decisions} events in {count} cases, no difference");
    for verdict in VERDICTS {
        println!("{verdict:?}: {}", compared.verdicts[verdict as usize]);
    }
}

/// A rate that varies: in steps with an outage, and at opportunities; for AQMs that look at the rate,
/// that tick and that judge departures.
#[test]
fn decisions_under_a_rate_that_varies_are_those_of_the_network_world() {
    let capture = recorded(20_000);
    let end_ns = *capture.time_ns.last().unwrap();
    let step = |tenths: u64, rate_bps| RateStep {
        from_ns: end_ns / 10 * tenths,
        rate_bps,
    };
    let steps = [
        step(2, 700_000),
        step(4, 0),
        step(5, 3_000_000),
        step(8, 900_000),
    ];
    let ms = (1..=900).map(|number| number * 9 + number % 5);
    let services = [
        Service::steps(steps.to_vec()).unwrap(),
        Service::opportunities(ms.map(|ms| ms * 1_000_000).collect()).unwrap(),
    ];
    let names = ["avq", "rem", "red", "pie", "codel", "ared"];
    for mut settings in cases() {
        let discipline = &settings.forward.discipline.spec;
        let AqmName::Named(name) = &discipline.aqm else {
            unreachable!("cases have names")
        };
        let is_chosen = names.contains(&name.as_str()) && discipline.victim == Some(Victim::Tail);
        for service in services.iter().filter(|_| is_chosen) {
            settings.forward.varying = Some(Varying {
                service: service.clone(),
                file: None,
            });
            compare_case(&capture, &settings);
        }
    }
}

/// Packets that leave a replay, and those that its wire loses.
#[derive(Default)]
struct Through {
    released_ns: Vec<u64>,
    released_bytes: Vec<u64>,
    lost: u64,
}

impl Observer<Held> for Through {
    fn lost(&mut self, _: Held, _: Verdict) {}
}

impl Outlet<Held> for Through {
    fn released(&mut self, at_ns: u64, packet: Held) {
        self.released_ns.push(at_ns);
        self.released_bytes.push(packet.bytes.into());
    }

    fn lost_on_wire(&mut self, _: Held) {
        self.lost += 1;
    }
}

/// The wire behind the link loses the same packets, and lets the others out at the same times.
#[test]
fn a_wire_does_what_that_of_the_network_world_does() {
    let capture = recorded(20_000);
    let settings = cases().find(|case| case.forward.discipline.spec.name().contains("red"));
    let mut settings = settings.unwrap();
    let burst = Loss::GilbertElliott {
        enter: 0.01,
        leave: 0.2,
        loss: [0.001, 1.0],
    };
    let jitter = Some(WireTime::Exponential(3_000_000));
    let bursts = Some(Bursts {
        gap: WireTime::Uniform(1_000_000, 9_000_000),
        packets: 4,
    });
    let policer = Loss::Policer(Policer {
        rate_bps: 900_000.0,
        burst_bytes: 20_000.0,
    });
    for (loss, jitter, reorder, bursts) in [
        (Some(burst), jitter, true, None),
        (Some(Loss::Bernoulli(0.05)), jitter, false, None),
        (Some(policer), None, false, bursts),
    ] {
        settings.forward.wire = Some(WirePlan {
            loss,
            jitter,
            jitter_share: 0.5,
            reorder,
            bursts,
            tampers: None,
        });
        let mut through = Through::default();
        replay(&capture, &settings, &mut through).unwrap();
        let mut beside = beside_network(&[], &capture, &settings);
        assert!(through.lost > 100, "{}", through.lost);
        assert_eq!(through.lost, beside.lost_on_wire);
        // the network world tells each as it enters the wire
        beside.received_ns.sort_unstable();
        let pairs = through.released_ns.iter().zip(&beside.received_ns);
        assert_eq!(pairs.clone().find(|(ours, theirs)| ours != theirs), None);
        assert_eq!(through.released_ns.len(), beside.received_ns.len());
    }
}

/// Returns a wire that lets one packet out after each gap.
fn one_in_each(gap_ns: u64) -> WirePlan {
    WirePlan {
        loss: None,
        jitter: None,
        jitter_share: 1.0,
        reorder: false,
        bursts: Some(Bursts {
            gap: WireTime::Constant(gap_ns),
            packets: 1,
        }),
        tampers: None,
    }
}

/// Bursts that are slower than the link would fill the wire without end: what it has no room for is
/// lost on it.
#[test]
fn a_wire_that_is_slower_than_the_link_is_bounded() {
    const GAP_NS: u64 = 10_000_000;
    let capture = recorded(20_000);
    let end_ns = *capture.time_ns.last().unwrap();
    let settings = cases().find(|case| case.forward.discipline.spec.name().contains("red"));
    let mut settings = settings.unwrap();
    let mut through = |gap_ns| {
        settings.forward.wire = Some(one_in_each(gap_ns));
        let mut through = Through::default();
        replay(&capture, &settings, &mut through).unwrap();
        assert!(through.lost > 100, "{}", through.lost);
        through
    };
    // the last packet waits for the 1000 before it, a gap each, and for what was in the queue
    let late_ns = through(GAP_NS).released_ns.last().unwrap() - end_ns;
    assert!(late_ns < 1_000 * GAP_NS + 2_000_000_000, "{late_ns}");
    assert!(late_ns > 900 * GAP_NS, "{late_ns}");
    // above the least room: what the link sends in ten gaps
    let Through {
        released_ns,
        released_bytes,
        ..
    } = through(2_000_000_000);
    let times = released_ns.iter().zip(&released_bytes);
    let on_wire = times.filter(|(at_ns, _)| **at_ns > end_ns);
    let bytes: u64 = on_wire.map(|(_, bytes)| bytes).sum();
    // packets that come after the capture's end take the places of those that leave meanwhile
    let room = RATE_BPS / 8 * 20;
    assert!(
        (room - 1500..=room + 3000).contains(&bytes),
        "{bytes} {room}"
    );
}

/// Neither the delay nor the wire takes places that are meant for the queue.
#[test]
fn the_queue_has_its_limit_behind_it_a_full_delay_and_a_full_wire() {
    const LIMIT: u32 = 500;
    const SHORT: u64 = 20;
    let options = LinkOptions {
        aqm: Some("drop_tail".into()),
        rate: Some("10e6".into()),
        limit: Some(LIMIT.to_string()),
        delay: Some("1".into()),
        ..LinkOptions::default()
    };
    let mut settings = Settings::read(&options).unwrap().forward;
    settings.wire = Some(one_in_each(1_000_000));
    let reserved = held(&settings);
    let [random, on_wire] = ["aqm 0", "wire 0"].map(|name| stream(1, name, 0));
    let mut link = Link::new(settings, Clock::endless(), random).with_wire(on_wire);
    let mut through = Through::default();
    let (mut most_held, mut most_waiting) = (0, 0);
    // a packet takes 16 us
    for number in 0..200_000 {
        let packet = Held {
            bytes: SHORT as u32,
            ..Held::default()
        };
        link.arrive(number * 15_000, packet, &mut through);
        most_held = most_held.max(link.held());
        most_waiting = most_waiting.max(link.packets());
    }
    assert!(through.lost > 1000, "{}", through.lost);
    assert_eq!(most_waiting, LIMIT as usize);
    assert!(
        (reserved - 3..=reserved).contains(&most_held),
        "{most_held} {reserved}"
    );
}

/// A delay that a reload ends lets all that was on its way out at once: a wire that delays nothing
/// loses none of it.
#[test]
fn a_wire_without_delay_needs_no_room() {
    let read = |delay: &str| {
        let options = LinkOptions {
            aqm: Some("drop_tail".into()),
            rate: Some("100e6".into()),
            limit: Some("100".into()),
            delay: Some(delay.into()),
            ..LinkOptions::default()
        };
        let mut settings = Settings::read(&options).unwrap().forward;
        settings.wire = Some(WirePlan {
            bursts: None,
            ..one_in_each(1)
        });
        settings
    };
    let [random, on_wire] = ["aqm 0", "wire 0"].map(|name| stream(1, name, 0));
    let mut link = Link::new(read("1"), Clock::endless(), random).with_wire(on_wire);
    let mut through = Through::default();
    for number in 0..7000 {
        let packet = Held {
            bytes: 1500,
            ..Held::default()
        };
        if number == 5000 {
            link.change(number * 120_000, read("0"));
        }
        link.arrive(number * 120_000, packet, &mut through);
    }
    link.advance(2_000_000_000, &mut through);
    assert_eq!((through.lost, through.released_ns.len()), (0, 7000));
}

/// A difference is found: another seed, or room for one packet less.
#[test]
fn what_differs_is_found() {
    let capture = recorded(20_000);
    let settings = cases().find(|case| case.forward.discipline.spec.name().contains("random"));
    let settings = settings.unwrap();
    let mut smaller = settings.clone();
    smaller.forward.buffer.limit -= 1;
    let reseeded = Settings {
        seed: settings.seed + 1,
        ..settings.clone()
    };
    for other in [smaller, reseeded] {
        let replayed = in_replay(&capture, &other);
        let beside = beside_network(&replayed, &capture, &settings);
        assert_ne!(beside.difference, None);
    }
}
