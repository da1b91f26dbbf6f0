//! A replay makes the same decisions as the network world, packet by packet and bit by bit, for
//! every AQM, victim and scheduler.

use std::{env, thread};

use sluice_aqm::{Verdict, View, all, coupled};
use sluice_capture::Capture;
use sluice_gate::{
    packet::Held,
    replay::{Watch, replay},
    settings::{Settings, Varying},
};
use sluice_network::{Monitor, RateStep, Service, Trace};
use sluice_queue::{Event, Observer};
use sluice_scenario::{AqmName, Victim};

use crate::cases::{OF_CLASSES, cases, plan_of, recorded};

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
}

impl Trace for Beside<'_> {
    fn begin(&mut self, _: &[u32], _: &[u32]) {}

    fn note(&mut self, _: u64, _: sluice_network::Event) {}

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

fn in_replay(capture: &Capture, settings: &Settings) -> Vec<Decision> {
    let mut watch = Watch(Decisions::default());
    replay(capture, settings, &mut watch).unwrap();
    watch.0.0
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
    };
    sluice_network::simulate_traced(&plan, &Monitor::default(), &mut beside).unwrap();
    beside
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
