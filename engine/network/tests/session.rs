//! A run in parts gives what the whole run gives, and observing it changes nothing.

use crate::common::{MS, SECOND, datagrams, link, plan, port, refusal, run, short, tcp, topology};
use proptest::prelude::*;
use sluice_aqm::{Configured, Value, find, find_scheduler};
use sluice_network::{
    ArrivalProcess, Distribution, GroupState, Loss, Monitor, NetworkError, Observation, Plan,
    PortPlan, RateStep, Replication, Service, Session, Size, WirePlan,
};

const END: u64 = 4 * SECOND;

/// Two links with queues in a row, one of a rate that varies and with a wire that loses packets.
fn network(aqm: &str, lanes: u32, by_class: bool) -> Plan {
    let mut links = vec![
        link(0, 1, 2_000_000, 5 * MS),
        link(1, 0, 2_000_000, 5 * MS),
        link(1, 2, 1_500_000, 3 * MS),
        link(2, 1, 2_000_000, 3 * MS),
    ];
    for place in [0, 2] {
        let before = links[place].port.insert(port(aqm, 20));
        before.discipline.ecn = place == 2;
        if lanes > 1 {
            let drr = [("queues", f64::from(lanes)), ("quantum_bytes", 500.0)]
                .map(|(name, number)| (name.to_owned(), Value::Number(number)));
            before.scheduler = Some(Configured::new(find_scheduler("drr").unwrap(), &drr).unwrap());
        }
    }
    let step = |from_s: u64, rate_bps| RateStep {
        from_ns: from_s * SECOND,
        rate_bps,
    };
    links[2].service = Some(Service::steps(vec![step(1, 900_000), step(3, 2_000_000)]).unwrap());
    links[3].wire = Some(WirePlan {
        loss: Some(Loss::Bernoulli(0.01)),
        jitter: Some(Distribution::Uniform(0, 3 * MS)),
        jitter_share: 0.5,
        reorder: true,
        bursts: None,
        tampers: None,
    });
    let poisson = |gap_ms: u64| Distribution::Exponential(gap_ms * MS);
    let groups = vec![
        tcp(0, 2, 3, u32::MAX),
        tcp(2, 0, 2, u32::MAX),
        short(
            0,
            1,
            ArrivalProcess::Gaps(poisson(300)),
            Size::Geometric(9.0),
        ),
        datagrams(0, 2, 2, poisson(20), 3 * SECOND),
    ];
    let classes = if by_class { vec![0, 1, 0, 2] } else { vec![] };
    Plan {
        classes,
        warm_up_ns: SECOND,
        windows: true,
        ..plan(topology(3, links), groups, END)
    }
}

/// Runs a plan in parts that end at these times, and observes it at each `observations` times.
fn in_parts(plan: &Plan, mut times: Vec<u64>, observations: usize) -> (Replication, Observation) {
    let monitor = Monitor::default();
    let mut session = Session::new(plan.clone()).unwrap();
    times.sort_unstable();
    for until_ns in times {
        assert!(session.advance(until_ns, &monitor).unwrap());
        assert_eq!(session.now_ns(), until_ns);
        let seen = session.observe();
        for _ in 0..observations {
            assert_eq!(session.observe(), seen);
        }
    }
    session.advance(END, &monitor).unwrap();
    let last = session.observe();
    (session.end(&monitor).unwrap().unwrap(), last)
}

/// Counts at the end are those of the record.
fn check(run: &Replication, last: &Observation) {
    for (place, state) in last.ports.iter().enumerate() {
        let sum = |of: fn(&sluice_network::Tally) -> u64| {
            let periods = run.periods.iter();
            periods.map(|period| of(&period.ports[place])).sum::<u64>()
        };
        assert_eq!(state.arrivals, sum(|tally| tally.arrivals));
        assert_eq!(state.sent, sum(|tally| tally.sent));
        assert_eq!(state.sent_bytes, sum(|tally| tally.sent_bytes));
        let periods = run.periods.iter();
        let sojourn_ns: u128 = periods.map(|p| p.ports[place].sojourn.sum()).sum();
        assert_eq!(state.sojourn_ns, sojourn_ns);
        for verdict in 0..state.queue.verdicts.len() {
            let periods = run.periods.iter();
            let all: u64 = periods.map(|p| p.ports[place].verdicts[verdict]).sum();
            assert_eq!(state.queue.verdicts[verdict], all);
        }
        let packets: u32 = state.queue.lanes.iter().map(|lane| lane.packets).sum();
        let bytes: u64 = state.queue.lanes.iter().map(|lane| lane.bytes).sum();
        assert_eq!((packets, bytes), (state.queue.packets, state.queue.bytes));
    }
    let acknowledged: u64 = run.periods.iter().map(|p| p.counts.acknowledged).sum();
    let received: u64 = run
        .periods
        .iter()
        .map(|p| p.counts.datagrams_received)
        .sum();
    let [one, other, short, datagrams] = &last.groups[..] else {
        panic!("four groups");
    };
    let delivered = |groups: &[&GroupState]| groups.iter().map(|g| g.delivered).sum::<u64>();
    assert_eq!(delivered(&[one, other, short]), acknowledged);
    assert_eq!(datagrams.delivered, received);
    assert_eq!(one.delivered_bytes, Some(500 * one.delivered));
    assert_eq!((one.flows, one.windows.len()), (3, 3));
    assert_eq!(datagrams.in_flight, None);
    assert!(one.in_flight > Some(0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn parts_give_the_whole(
        aqm in 0_usize..4,
        lanes in 1_u32..4,
        by_class: bool,
        times in prop::collection::vec(0_u64..=END, 0..40),
        observations in 0_usize..3,
    ) {
        let aqm = ["red", "pie", "codel", "fred"][aqm];
        let plan = network(aqm, lanes, by_class);
        let (parts, last) = in_parts(&plan, times, observations);
        // Debug, in which NaN is equal to itself: the mean window of no flows is NaN
        prop_assert_eq!(format!("{:?}", run(&plan)), format!("{parts:?}"));
        check(&parts, &last);
    }
}

#[test]
fn what_can_be_seen_of_a_link_that_is_always_busy() {
    let mut links = vec![link(0, 1, 400_000, MS), link(1, 0, 400_000, MS)];
    links[0].port = Some(port("red", 30));
    // 500 bytes each 5 ms are twice what 400 kbit/s take
    let gap = Distribution::Constant(5 * MS);
    let plan = plan(topology(2, links), vec![datagrams(0, 1, 1, gap, END)], END);
    let mut session = Session::new(plan).unwrap();
    assert!(session.observe().ports[0].queue.lanes[0].average == Some(0.0));
    session.advance(2 * SECOND, &Monitor::default()).unwrap();
    let seen = session.observe();
    let port = &seen.ports[0];
    assert_eq!(
        (seen.now_ns, port.link, port.rate_bps),
        (2 * SECOND, 0, 400_000)
    );
    assert!(port.in_service && port.queue.lanes[0].average > Some(1.0));
    let lost: u64 = port.queue.verdicts[1..].iter().sum();
    assert_eq!(
        port.arrivals,
        port.sent + u64::from(port.queue.packets) + lost
    );
    assert_eq!(port.queue.bytes, 500 * u64::from(port.queue.packets));
}

#[test]
fn times_out_of_order_are_refused() {
    let monitor = Monitor::default();
    let mut session = Session::new(network("red", 1, false)).unwrap();
    session.advance(SECOND, &monitor).unwrap();
    for until_ns in [SECOND - 1, END + 1] {
        let NetworkError(what) = session.advance(until_ns, &monitor).unwrap_err();
        assert!(what.contains("must lie between 1000000000, the present, and 4000000000"));
    }
    let mut bad = network("red", 1, false);
    bad.warm_up_ns = END;
    let what = refusal(&bad);
    let Err(NetworkError(found)) = Session::new(bad) else {
        panic!("a warm-up as long as the run");
    };
    assert_eq!(found, what);
}

#[test]
fn a_cancelled_advance_goes_on() {
    let plan = network("red", 1, false);
    let mut session = Session::new(plan.clone()).unwrap();
    let cancelled = Monitor::default();
    cancelled.cancel();
    assert!(!session.advance(2 * SECOND, &cancelled).unwrap());
    assert_eq!(session.now_ns(), 0);
    let run_on = session.end(&Monitor::default()).unwrap().unwrap();
    assert_eq!(format!("{:?}", run(&plan)), format!("{run_on:?}"));
}

/// The discipline before a link of a plan.
fn before(plan: &Plan, link: usize) -> PortPlan {
    plan.topology.links[link].port.clone().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_same_parameters_change_nothing(
        aqm in 0_usize..5,
        lanes in 1_u32..4,
        times in prop::collection::vec(0_u64..=END, 0..20),
    ) {
        let aqm = ["red", "pie", "codel", "fred", "pi"][aqm];
        let plan = network(aqm, lanes, false);
        let monitor = Monitor::default();
        let mut session = Session::new(plan.clone()).unwrap();
        let mut times = times;
        times.sort_unstable();
        for until_ns in times {
            session.advance(until_ns, &monitor).unwrap();
            for link in [0, 2] {
                session.retune(link, &before(&plan, link)).unwrap();
            }
            session.set_rate(0, 2_000_000).unwrap();
        }
        let retuned = session.end(&monitor).unwrap().unwrap();
        prop_assert_eq!(format!("{:?}", run(&plan)), format!("{retuned:?}"));
    }
}

/// A session of 400 kbit/s that takes twice as many datagrams, after two seconds.
fn overloaded(aqm: &str) -> Session {
    let mut links = vec![link(0, 1, 400_000, MS), link(1, 0, 400_000, MS)];
    links[0].port = Some(port(aqm, 30));
    let gap = Distribution::Constant(5 * MS);
    let plan = plan(topology(2, links), vec![datagrams(0, 1, 1, gap, END)], END);
    let mut session = Session::new(plan).unwrap();
    session.advance(2 * SECOND, &Monitor::default()).unwrap();
    session
}

#[test]
fn states_and_packets_stay_with_new_parameters() {
    let mut session = overloaded("pi");
    let before = session.observe().ports[0].queue.clone();
    let mut other = port("pi", 25);
    let q_ref = vec![("q_ref".to_owned(), Value::Number(5.0))];
    other.aqm = Configured::new(find("pi").unwrap(), &q_ref).unwrap().into();
    session.retune(0, &other).unwrap();
    assert_eq!(session.observe().ports[0].queue, before);
    session.advance(3 * SECOND, &Monitor::default()).unwrap();
    let after = &session.observe().ports[0].queue;
    assert!(after.lanes[0].probability > before.lanes[0].probability);
    assert!(after.packets <= 25 && before.packets > 25);
}

#[test]
fn ticks_follow_a_new_interval() {
    let with = |interval_s: f64| {
        let mut port = port("pi", 30);
        let given = [
            ("sampling_interval".to_owned(), Value::Number(interval_s)),
            ("q_ref".to_owned(), Value::Number(1.0)),
        ];
        port.aqm = Configured::new(find("pi").unwrap(), &given).unwrap().into();
        port
    };
    let monitor = Monitor::default();
    let probability = |session: &Session| session.observe().ports[0].queue.lanes[0].probability;
    let mut session = overloaded("drop_tail");
    session.retune(0, &with(10.0)).unwrap();
    session.advance(3 * SECOND, &monitor).unwrap();
    assert_eq!(probability(&session), Some(0.0), "no tick before 12 s");
    session.retune(0, &with(0.1)).unwrap();
    session.advance(3 * SECOND + 100 * MS, &monitor).unwrap();
    assert_eq!(
        probability(&session),
        Some(0.0),
        "none in the first interval"
    );
    session.advance(3 * SECOND + 101 * MS, &monitor).unwrap();
    let once = probability(&session).unwrap();
    session.advance(3 * SECOND + 201 * MS, &monitor).unwrap();
    let twice = probability(&session).unwrap();
    assert!(
        0.0 < once && once < twice && twice < 2.5 * once,
        "{once} {twice}"
    );
    // without ticks it stays; and a tick that was in the agenda is not made up for
    session.retune(0, &port("drop_tail", 30)).unwrap();
    session.advance(END, &monitor).unwrap();
}

#[test]
fn another_rate_holds_from_the_next_packet_on() {
    let mut session = overloaded("drop_tail");
    let before = session.observe().ports[0].clone();
    session.set_rate(0, 800_000).unwrap();
    session.advance(4 * SECOND, &Monitor::default()).unwrap();
    let after = session.observe().ports[0].clone();
    assert_eq!((before.rate_bps, after.rate_bps), (400_000, 800_000));
    // 500 bytes take 10 ms before and 5 ms after
    let sent = after.sent - before.sent;
    assert!((398..=402).contains(&sent), "{sent}");
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let mut session = Session::new(network("red", 1, false)).unwrap();
    let what = |refused: Result<(), NetworkError>| refused.unwrap_err().0;
    assert_eq!(
        what(session.set_rate(1, 1000)),
        "link n1 -> n0 has no queue"
    );
    assert_eq!(what(session.set_rate(9, 1000)), "there is no link 9");
    let varies = "link n1 -> n2: its rate varies as the scenario says, and cannot be set";
    assert_eq!(what(session.set_rate(2, 1000)), varies);
    assert!(what(session.set_rate(0, 0)).contains("rate = 0 must lie between 1 and"));
    let none = port("red", 0);
    assert_eq!(
        what(session.retune(0, &none)),
        "limit = 0 must be at least 1 packet"
    );
}
