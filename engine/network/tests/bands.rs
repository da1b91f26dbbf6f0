//! Counts by band: where each band has the packets of one class, both counts are the same.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, tcp, topology};
use sluice_aqm::{Configured, Value, Verdict, disciplines};
use sluice_network::{Distribution, Group, Monitor, Plan, Session, Source, Tally, TrafficClass};

const ECT1: u8 = 1;

fn coupled(name: &str, params: &[(String, Value)]) -> Configured {
    let class = disciplines().find(|class| class.name == name).unwrap();
    Configured::new(class, params).unwrap()
}

/// A link of 2 Mbit/s behind a coupled discipline. The groups are classes 0, 1 and so on.
fn behind(discipline: Configured, groups: Vec<Group>) -> Plan {
    let mut links = vec![link(0, 1, 2_000_000, 5 * MS), link(1, 0, 2_000_000, 5 * MS)];
    let before = links[0].port.insert(port("drop_tail", 12));
    before.discipline.ecn = true;
    before.scheduler = Some(discipline);
    Plan {
        classes: (0..groups.len() as u16).collect(),
        warm_up_ns: SECOND,
        ..plan(topology(2, links), groups, 4 * SECOND)
    }
}

/// Two groups of datagrams that need 1.6 times the link, with these traffic classes.
fn flood(traffic_classes: [u8; 2]) -> Vec<Group> {
    let group = |traffic_class| {
        let gaps = Distribution::Exponential(5 * MS);
        let mut group = datagrams(0, 1, 2, gaps, 4 * SECOND);
        if let Source::Datagrams(datagrams) = &mut group.source {
            datagrams.traffic_class = traffic_class;
        }
        group
    };
    traffic_classes.map(group).into()
}

/// What is counted of a part of a queue, without empty places at the end.
fn counts(tally: &Tally) -> impl PartialEq + std::fmt::Debug {
    let queue = &tally.queue_ns;
    let last = queue.iter().rposition(|ns| *ns > 0).unwrap();
    (
        (tally.arrivals, tally.verdicts, tally.sent, tally.sent_bytes),
        (tally.duration_ns, tally.waited, queue[..=last].to_vec()),
        (tally.sojourn.clone(), tally.delay.clone()),
    )
}

fn check(plan: &Plan, band_of_class: [usize; 2]) -> [u64; Verdict::COUNT] {
    let found = run(plan);
    let mut verdicts = [0; Verdict::COUNT];
    for period in &found.periods {
        let port = &period.ports[0];
        let bands: Vec<Tally> = port.of_bands().collect();
        for (class, band) in band_of_class.into_iter().enumerate() {
            let of_class = port.of_class(class).unwrap();
            assert!(of_class.sent > 100);
            assert_eq!(counts(&bands[band]), counts(&of_class), "band {band}");
        }
        (verdicts.iter_mut().zip(port.verdicts)).for_each(|(sum, count)| *sum += count);
    }
    let all = found.periods.iter().map(|period| &period.ports[0]);
    let sent: u64 = all.map(|port| port.sent).sum();
    let series = &found.ports[0].bands;
    let sampled: u64 = series.iter().map(|band| band.sent.last().unwrap()).sum();
    assert!(sent - sampled < 20, "{sent} and {sampled}");
    let together = |sample: usize| -> u32 { series.iter().map(|band| band.queue[sample]).sum() };
    let samples = &found.ports[0].queue;
    assert!(samples.iter().any(|packets| *packets > 3));
    for (sample, packets) in samples.iter().enumerate() {
        assert_eq!(together(sample), *packets, "sample {sample}");
    }
    verdicts
}

#[test]
fn the_lanes_of_dualpi2_have_what_its_classes_have() {
    let verdicts = check(&behind(coupled("dualpi2", &[]), flood([ECT1, 0])), [1, 0]);
    for verdict in [Verdict::DropOverflow, Verdict::DropEarly, Verdict::Mark] {
        assert!(verdicts[verdict as usize] > 20, "{verdict:?}");
    }
}

#[test]
fn the_tins_of_cake_have_what_its_classes_have() {
    let discipline = coupled("cake", &[("queues".to_owned(), Value::Number(8.0))]);
    let voice = 46 << 2;
    let verdicts = check(&behind(discipline, flood([voice, ECT1])), [2, 0]);
    assert!(verdicts[Verdict::DropOverflow as usize] > 20);
}

#[test]
fn a_queue_without_bands_counts_none_and_neither_does_one_under_another_discipline() {
    let plan = behind(coupled("dualpi2", &[]), flood([ECT1, 0]));
    let mut alone = plan.clone();
    alone.topology.links[0].port.as_mut().unwrap().scheduler = None;
    let found = run(&alone);
    assert_eq!(found.periods[0].ports[0].of_bands().count(), 0);
    assert!(found.ports[0].bands.is_empty());

    let mut session = Session::new(plan.clone()).unwrap();
    session.advance(2 * SECOND, &Monitor::default()).unwrap();
    let to = coupled("cake", &[]);
    let mut port = plan.topology.links[0].port.clone().unwrap();
    port.scheduler = Some(to);
    session.retune(0, &port).unwrap();
    let found = session.end(&Monitor::default()).unwrap().unwrap();
    let bands = found
        .periods
        .iter()
        .map(|period| period.ports[0].of_bands().count());
    assert_eq!(bands.collect::<Vec<_>>(), [2, 0]);
}

#[test]
fn packets_of_tcp_are_in_the_bands_too() {
    let mut l4s = tcp(0, 1, 2, u32::MAX);
    if let Source::Long(long) = &mut l4s.source {
        long.kind.config.ecn = true;
        long.kind.traffic_class = TrafficClass::new(0, true);
    }
    let found = run(&behind(
        coupled("dualpi2", &[]),
        vec![l4s, tcp(0, 1, 2, u32::MAX)],
    ));
    let port = &found.periods[1].ports[0];
    let bands: Vec<Tally> = port.of_bands().collect();
    assert!(bands.iter().all(|band| band.sent > 100));
    assert_eq!(bands.iter().map(|band| band.sent).sum::<u64>(), port.sent);
}
