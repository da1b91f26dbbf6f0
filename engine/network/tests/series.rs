//! Series and outcomes of flows, compared with other counts and closed forms.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, tcp, topology};
use sluice_aqm::{Configured, Value, find_scheduler};
use sluice_network::{
    Distribution, Group, NEVER, Plan, PortPlan, Source, Tally, TcpFlow, TcpKind, Topology,
};

/// A link of 1 Mbit/s and 10 ms in both directions; the first direction has the port.
fn one_link(port: PortPlan) -> Topology {
    let mut there = link(0, 1, 1_000_000, 10 * MS);
    there.port = Some(port);
    topology(2, vec![there, link(1, 0, 1_000_000, 10 * MS)])
}

/// TCP flows without end, and datagrams: together more than the capacity of the link.
fn crowded(port: PortPlan) -> Plan {
    let groups = vec![
        tcp(0, 1, 10, u32::MAX),
        datagrams(0, 1, 2, Distribution::Exponential(20 * MS), 20 * SECOND),
    ];
    plan(one_link(port), groups, 20 * SECOND)
}

/// `count` flows of `packets` packets that start at 0 with a SYN, with a change.
fn transfers(count: u32, packets: u32, change: fn(&mut TcpKind, &mut TcpFlow)) -> Group {
    let mut group = tcp(0, 1, count, packets);
    let Source::Long(long) = &mut group.source else {
        unreachable!()
    };
    long.spread_ns = 0;
    long.kind.config.syn = true;
    long.kind.config.delayed_ack_ns = None;
    change(&mut long.kind, &mut long.flow);
    group
}

#[test]
fn the_last_counts_are_the_tallies() {
    let groups = vec![
        tcp(0, 1, 5, 200),
        datagrams(0, 1, 2, Distribution::Exponential(20 * MS), 5 * SECOND),
    ];
    let mut plan = plan(one_link(port("red", 10)), groups, 100 * SECOND);
    plan.warm_up_ns = 2 * SECOND;
    let run = run(&plan);
    let (series, flows) = (&run.ports[0], &run.flows);
    let total = |count: fn(&Tally) -> u64| {
        let tallies = run.periods.iter().map(|period| &period.ports[0]);
        tallies.map(count).sum::<u64>()
    };
    assert_eq!(series.queue.len(), 10_000);
    assert_eq!(series.arrivals.last(), Some(&total(|port| port.arrivals)));
    assert_eq!(series.losses.last(), Some(&total(Tally::lost)));
    assert_eq!(
        series.sent_bytes.last(),
        Some(&total(|port| port.sent_bytes))
    );
    assert_eq!(flows.acknowledged.last(), Some(&1000));
    assert!(total(Tally::lost) > 0);

    // the sample at the end of the warm-up is taken before any packet arrives at that time
    let warm_up = &run.periods[0];
    assert_eq!(series.arrivals[200], warm_up.ports[0].arrivals);
    assert_eq!(series.losses[200], warm_up.ports[0].lost());
    assert_eq!(flows.acknowledged[200], warm_up.counts.acknowledged);
    assert!(series.arrivals[200] > 0 && flows.acknowledged[200] < 1000);
}

#[test]
fn the_probability_of_pi_follows_from_its_queue() {
    let mut plan = crowded(port("pi", 200));
    // PI's own interval, so that a sample sees the same queue as PI's update
    plan.sample_ns = 5_882_353;
    let series = &run(&plan).ports[0];
    let (a, b, wanted) = (1.822e-5, 1.816e-5, 100.0);
    let (mut p, mut before) = (0.0, 0.0);
    for (queue, found) in series.queue.iter().zip(&series.probability).skip(1) {
        let queue = f64::from(*queue);
        p = (p + a * (queue - wanted) - b * (before - wanted)).clamp(0.0, 1.0);
        before = queue;
        // the AQM's probability is a fixed-point number with 32 fractional bits
        assert!((p - found).abs() < 2_f64.powi(-31), "{p} {found}");
    }
    assert!(p > 0.0);
    assert_eq!(series.probability.len(), series.queue.len());
    assert!(series.average.is_empty());
}

#[test]
fn an_aqm_shows_what_it_holds() {
    let show = |port: PortPlan| {
        let series = run(&crowded(port)).ports.remove(0);
        let within = |values: &[f64], most: f64| {
            let high = values.iter().copied().fold(0.0, f64::max);
            assert!(values.iter().all(|value| (0.0..=most).contains(value)) && high > 0.0);
            assert_eq!(values.len(), 2000);
        };
        (!series.average.is_empty()).then(|| within(&series.average, 200.0));
        (!series.probability.is_empty()).then(|| within(&series.probability, 1.0));
        (!series.average.is_empty(), !series.probability.is_empty())
    };
    assert_eq!(show(port("drop_tail", 200)), (false, false));
    assert_eq!(show(port("lred", 200)), (false, true));
    assert_eq!(show(port("red", 200)), (true, true));
    // several queues, each with its own AQM
    let queues = [("queues".to_owned(), Value::Number(4.0))];
    let sfq = Configured::new(find_scheduler("sfq").unwrap(), &queues).unwrap();
    let many = PortPlan {
        scheduler: Some(sfq),
        ..port("red", 200)
    };
    assert_eq!(show(many), (false, false));
}

#[test]
fn a_window_in_slow_start_opens_by_each_packet_acknowledged() {
    let group = transfers(1, 120, |_, _| ());
    let mut plan = plan(one_link(port("drop_tail", 1000)), vec![group], 2 * SECOND);
    plan.windows = true;
    plan.sample_ns = MS;
    let run = run(&plan);
    let Source::Long(long) = &plan.groups[0].source else {
        unreachable!()
    };
    // the SYN's ACK, after 20.64 ms, gives the initial window
    let end_ms = (run.tcp[0].completion_ns.unwrap() / MS) as usize;
    for at in 21..=end_ms {
        let wanted = long.kind.config.initial_window + run.flows.acknowledged[at] as f64;
        assert_eq!(run.flows.window[at], wanted);
    }
    assert_eq!(run.flows.acknowledged[end_ms + 1], 120);
    assert!(run.flows.window[end_ms + 1].is_nan());
    plan.windows = false;
    assert!(crate::common::run(&plan).flows.window.is_empty());
}

#[test]
fn the_mean_window_is_of_the_flows_under_way() {
    let groups = vec![
        // the receiver windows limit both flows to 20 packets in flight together: nothing is lost
        transfers(1, 30, |kind, _| kind.config.receiver_window = 10),
        transfers(1, u32::MAX, |kind, _| kind.config.receiver_window = 10),
        transfers(3, u32::MAX, |_, flow| flow.start_ns = 100 * SECOND),
    ];
    let mut plan = plan(one_link(port("drop_tail", 1000)), groups, 2 * SECOND);
    plan.windows = true;
    let both = run(&plan);
    let end = (both.tcp[0].completion_ns.unwrap() / plan.sample_ns) as usize;
    // first two flows in slow start, then one; flows that have not started do not count
    assert_eq!(both.flows.window[0], 1.0);
    let opened = 2.0 * 10.0 + both.flows.acknowledged[end] as f64;
    assert_eq!(2.0 * both.flows.window[end], opened);
    let alone = 10.0 + (both.flows.acknowledged[end + 1] - 30) as f64;
    assert_eq!(both.flows.window[end + 1], alone);
}

#[test]
fn a_transfer_takes_the_time_of_its_round_trips() {
    let group = transfers(1, 1, |_, flow| flow.start_ns = 300 * MS);
    let run = run(&plan(one_link(port("drop_tail", 5)), vec![group], SECOND));
    // SYN and its ACK, 40 bytes each, then 500 bytes and their ACK; each takes 10 ms more
    let wanted_ns = 4 * 10 * MS + 3 * 320_000 + 4_000_000;
    let flow = run.tcp[0];
    assert_eq!(flow.start_ns, 300 * MS);
    assert!(flow.completion_ns.unwrap().abs_diff(wanted_ns) <= 4);
    assert_eq!((flow.retransmissions, flow.timeouts), (0, 0));
}

#[test]
fn outcomes_of_flows_add_up_to_the_counts() {
    let mut plan = crowded(port("drop_tail", 5));
    plan.groups.push(tcp(0, 1, 2, 20));
    let run = run(&plan);
    let counts = run.periods[0].counts;
    let sum = |count: fn(&sluice_network::TcpOutcome) -> u32| {
        run.tcp
            .iter()
            .map(|flow| u64::from(count(flow)))
            .sum::<u64>()
    };
    assert_eq!(sum(|flow| flow.acknowledged), counts.acknowledged);
    assert_eq!(sum(|flow| flow.retransmissions), counts.retransmissions);
    assert_eq!(sum(|flow| flow.timeouts), counts.timeouts);
    assert!(counts.timeouts > 0 && counts.retransmissions > counts.timeouts);
    let finished = |flow: &sluice_network::TcpOutcome| flow.completion_ns.is_some();
    assert!(!run.tcp[..10].iter().any(finished) && run.tcp[10..].iter().all(finished));
    let groups: Vec<u32> = run.tcp.iter().map(|flow| flow.group).collect();
    assert_eq!(groups, [vec![0; 10], vec![2; 2]].concat());
}

#[test]
fn a_flow_finishes_when_its_application_has_ended_and_all_is_acknowledged() {
    let groups = vec![
        transfers(1, u32::MAX, |_, flow| flow.stop_ns = SECOND),
        // stopped before its start
        transfers(1, u32::MAX, |_, flow| {
            (flow.start_ns, flow.stop_ns) = (2 * SECOND, SECOND);
        }),
        // stopped while its SYN is on its way
        transfers(1, u32::MAX, |_, flow| flow.stop_ns = 5 * MS),
        datagrams(0, 1, 1, Distribution::Constant(100 * MS), NEVER),
        datagrams(0, 1, 1, Distribution::Constant(MS), 0),
    ];
    let run = run(&plan(one_link(port("drop_tail", 5)), groups, 5 * SECOND));
    let took_ns = run.tcp[0].completion_ns.unwrap();
    assert!((SECOND..2 * SECOND).contains(&took_ns), "{took_ns}");
    for unsent in &run.tcp[1..] {
        assert_eq!((unsent.acknowledged, unsent.completion_ns), (0, None));
    }
    assert!(run.datagrams[0].start_ns.unwrap() < 100 * MS);
    assert_eq!(run.datagrams[1].start_ns, None);
}
