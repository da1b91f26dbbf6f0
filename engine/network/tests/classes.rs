//! Counts by class: they add up to all, and one class is all.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, short, tcp, topology};
use proptest::prelude::*;
use sluice_aqm::{Configured, Value, find, find_scheduler};
use sluice_histogram::Histogram;
use sluice_network::{
    ArrivalProcess, ClassCounts, Distribution, Group, Period, Plan, Replication, Size, Source,
    Tally, Web,
};

/// Two bottlenecks in a row, the second with ECN, and data and ACKs in both directions.
fn network(aqm: usize, scheduler: usize, limit: u32, groups: Vec<Group>) -> Plan {
    let mut links = vec![
        link(0, 1, 2_000_000, 5 * MS),
        link(1, 0, 2_000_000, 5 * MS),
        link(1, 2, 1_500_000, 3 * MS),
        link(2, 1, 2_000_000, 3 * MS),
    ];
    for (place, link) in links.iter_mut().enumerate() {
        let before = link
            .port
            .insert(port(["drop_tail", "choke", "codel", "pie"][aqm], limit));
        before.discipline.ecn = place == 2;
        let drr = [("queues", 4.0), ("quantum_bytes", 500.0)]
            .map(|(name, number)| (name.to_owned(), Value::Number(number)));
        before.scheduler =
            (scheduler > 0).then(|| Configured::new(find_scheduler("drr").unwrap(), &drr).unwrap());
    }
    Plan {
        warm_up_ns: 2 * SECOND,
        ..plan(topology(3, links), groups, 6 * SECOND)
    }
}

fn web(from: usize, to: usize) -> Group {
    let mut group = tcp(from, to, 3, 1);
    if let Source::Long(long) = &group.source {
        group.source = Source::Web(Web {
            kind: long.kind.clone(),
            objects: Size::Geometric(8.0),
            page_objects: 1,
            connections: 1,
            think: Distribution::Exponential(200 * MS),
            start_ns: 0,
            spread_ns: SECOND,
            stop_ns: 5 * SECOND,
        });
    }
    group
}

fn ecn(mut group: Group) -> Group {
    if let Source::Long(long) = &mut group.source {
        long.kind.config.ecn = true;
    }
    group
}

fn groups() -> Vec<Group> {
    let poisson = |gap_ms: u64| Distribution::Exponential(gap_ms * MS);
    vec![
        ecn(tcp(0, 2, 3, u32::MAX)),
        tcp(2, 0, 2, u32::MAX),
        short(
            0,
            1,
            ArrivalProcess::Gaps(poisson(300)),
            Size::Geometric(9.0),
        ),
        web(0, 2),
        datagrams(0, 2, 2, poisson(20), 6 * SECOND),
    ]
}

fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> (Vec<u64>, u128, u128) {
    let mut all = Histogram::new();
    histograms.for_each(|each| all.merge(each));
    (all.bins(), all.sum(), all.square_sum())
}

/// Sums over the classes of a port are its counts.
fn check_port(port: &Tally, classes: usize) {
    let each: Vec<Tally> = (0..classes)
        .map(|class| port.of_class(class).unwrap())
        .collect();
    let sum = |of: fn(&Tally) -> u64| each.iter().map(of).sum::<u64>();
    assert_eq!(sum(|tally| tally.arrivals), port.arrivals);
    assert_eq!(sum(|tally| tally.sent), port.sent);
    assert_eq!(sum(|tally| tally.sent_bytes), port.sent_bytes);
    for (verdict, count) in port.verdicts.iter().enumerate() {
        let found: u64 = each.iter().map(|tally| tally.verdicts[verdict]).sum();
        assert_eq!(found, *count, "verdict {verdict}");
    }
    let whole = |of: &Histogram| (of.bins(), of.sum(), of.square_sum());
    let sojourns = each.iter().map(|tally| &tally.sojourn);
    assert_eq!(merged(sojourns), whole(&port.sojourn));
    assert_eq!(
        merged(each.iter().map(|tally| &tally.delay)),
        whole(&port.delay)
    );
    let held = |queue_ns: &[u64]| -> u128 {
        let terms = queue_ns.iter().enumerate();
        terms.map(|(k, ns)| k as u128 * u128::from(*ns)).sum()
    };
    let waited: u128 = each.iter().map(|tally| held(&tally.queue_ns)).sum();
    assert_eq!(waited, held(&port.queue_ns));
    for tally in &each {
        assert_eq!(tally.queue_ns.iter().sum::<u64>(), port.duration_ns);
    }
}

/// Sums over the classes of a period are its counts.
fn check_ends(period: &Period) {
    let sum = |of: fn(&ClassCounts) -> u64| period.classes.iter().map(of).sum::<u64>();
    let counts = &period.counts;
    assert_eq!(sum(|class| class.counts.acknowledged), counts.acknowledged);
    assert_eq!(
        sum(|class| class.counts.retransmissions),
        counts.retransmissions
    );
    assert_eq!(sum(|class| class.counts.timeouts), counts.timeouts);
    assert_eq!(
        sum(|class| class.counts.datagrams_sent),
        counts.datagrams_sent
    );
    assert_eq!(
        sum(|class| class.counts.datagrams_received),
        counts.datagrams_received
    );
    assert_eq!(
        sum(|class| class.reception.datagrams),
        counts.datagrams_received
    );
}

/// The run without what is counted by class.
fn bare(mut run: Replication) -> Replication {
    for period in &mut run.periods {
        period.classes.clear();
        for port in &mut period.ports {
            port.cells.clear();
            port.classes.clear();
        }
    }
    run
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn classes_add_up_to_all(
        aqm in 0_usize..4,
        scheduler in 0_usize..2,
        limit in 3_u32..40,
        classes in prop::collection::vec(0_u16..3, 5),
    ) {
        let plan = network(aqm, scheduler, limit, groups());
        let counted = Plan { classes: classes.clone(), ..plan.clone() };
        let found = run(&counted);
        let count = usize::from(*classes.iter().max().unwrap()) + 1;
        for period in &found.periods {
            prop_assert_eq!(period.classes.len(), count);
            period.ports.iter().for_each(|port| check_port(port, count));
            check_ends(period);
        }
        prop_assert_eq!(bare(found), bare(run(&plan)), "counting changes nothing");
    }
}

#[test]
fn one_class_is_all() {
    let counted = Plan {
        classes: vec![0; 5],
        ..network(2, 0, 30, groups())
    };
    for period in &run(&counted).periods {
        for port in &period.ports {
            let class = port.of_class(0).unwrap();
            let shorter = class.queue_ns.len().min(port.queue_ns.len());
            assert_eq!(class.queue_ns[..shorter], port.queue_ns[..shorter]);
            assert_eq!(class.verdicts, port.verdicts);
            assert_eq!(class.sojourn.bins(), port.sojourn.bins());
        }
    }
}

#[test]
fn a_flow_alone_takes_its_ideal_time() {
    // one packet after the other at 1 Mbit/s: 4 ms each; 4 packets are the initial window
    let mut group = tcp(0, 1, 1, 4);
    if let Source::Long(long) = &mut group.source {
        long.kind.config.initial_window = 4.0;
        long.kind.config.delayed_ack_ns = None;
        long.kind.config.syn = false;
        long.spread_ns = 0;
    }
    let mut before = link(0, 1, 1_000_000, 10 * MS);
    before.port = Some(port("drop_tail", 50));
    let links = vec![before, link(1, 0, 1_000_000, 10 * MS)];
    let counted = Plan {
        classes: vec![0],
        ..plan(topology(2, links), vec![group], SECOND)
    };
    let found = run(&counted);
    let sizes = &found.periods[0].classes[0].completions;
    // four packets of 4 ms, 10 ms there and back, and an ACK of 40 bytes
    let by_hand_ns = 4 * 4 * MS + 20 * MS + 320_000;
    let took_ns = found.tcp[0].completion_ns.unwrap();
    // times on the way are cut to whole nanoseconds
    assert!(took_ns.abs_diff(by_hand_ns) <= 1, "{took_ns} ns");
    assert_eq!(sizes[0].times.sum(), u128::from(took_ns));
    assert_eq!((sizes[0].bytes, sizes[0].slowdowns.sum()), (2000, 1000));
    let delays = &found.periods[0].classes[0].reception.delay;
    let one_way: u128 = (1..=4).map(|sent| sent * 4_000_000 + 10_000_000).sum();
    assert_eq!(delays.count(), 4);
    assert!(delays.sum().abs_diff(one_way) <= 4, "{} ns", delays.sum());
}

#[test]
fn what_does_not_end_is_counted_with_its_size() {
    let mut before = link(0, 1, 100_000, 10 * MS);
    before.port = Some(port("drop_tail", 50));
    let links = vec![before, link(1, 0, 1_000_000, 10 * MS)];
    // 0.04 s a packet: 5 flows of 100 packets would take 20 s; those without an end do not count
    let counted = Plan {
        classes: vec![0, 1],
        ..plan(
            topology(2, links),
            vec![tcp(0, 1, 5, 100), tcp(0, 1, 1, u32::MAX)],
            2 * SECOND,
        )
    };
    let found = run(&counted);
    let [sized, endless] = &found.periods[0].classes[..] else {
        panic!("two classes");
    };
    assert_eq!(sized.completions[1].unfinished, 5);
    assert_eq!(sized.completions[1].unfinished_bytes, 5 * 100 * 500);
    assert!(endless.completions.iter().all(|size| size.unfinished == 0));
}

#[test]
fn marks_are_counted_by_class() {
    let params = [("min_th", 1.0), ("max_th", 8.0), ("w", 0.5), ("max_p", 0.5)]
        .map(|(name, number)| (name.to_owned(), Value::Number(number)));
    let mut marking = network(0, 0, 30, groups());
    for link in &mut marking.topology.links {
        let before = link.port.as_mut().unwrap();
        before.aqm = Configured::new(find("red").unwrap(), &params)
            .unwrap()
            .into();
    }
    marking.classes = vec![0, 1, 2, 2, 2];
    for period in &run(&marking).periods {
        period.ports.iter().for_each(|port| check_port(port, 3));
        let port = &period.ports[2];
        // only the flows of the first class can be marked
        let marks = |class| port.of_class(class).unwrap().verdicts[4];
        assert!(marks(0) > 0);
        assert_eq!((marks(1), marks(2)), (0, 0));
    }
}
