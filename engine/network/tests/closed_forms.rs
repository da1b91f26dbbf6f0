//! Cases with known results.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, short, tcp, topology};
use sluice_network::{
    ArrivalProcess, Distribution, Group, Monitor, Size, Source, Topology, Web, simulate,
};

fn one_link(rate_bps: u64, limit: u32) -> Topology {
    let mut there = link(0, 1, rate_bps, 10 * MS);
    there.port = Some(port("drop_tail", limit));
    topology(2, vec![there, link(1, 0, rate_bps, 10 * MS)])
}

#[test]
fn a_constant_rate_below_the_links_never_waits() {
    let groups = vec![datagrams(
        0,
        1,
        1,
        Distribution::Constant(5 * MS),
        10 * SECOND,
    )];
    let run = run(&plan(one_link(1_000_000, 5), groups, 11 * SECOND));
    let port = &run.periods[0].ports[0];
    assert_eq!((port.lost(), port.queue_ns[0]), (0, 11 * SECOND));
    // 500 bytes take 4 ms; start and end are rounded to nanoseconds
    let busy_ns = 11 * SECOND - port.idle_ns;
    assert!(busy_ns.abs_diff(port.sent * 4 * MS) <= 2 * port.sent);
    assert_eq!(run.periods[0].counts.datagrams_received, port.sent);
}

#[test]
fn a_constant_rate_above_the_links_loses_the_difference() {
    let groups = vec![datagrams(
        0,
        1,
        1,
        Distribution::Constant(2 * MS),
        20 * SECOND,
    )];
    let run = run(&plan(one_link(1_000_000, 5), groups, 20 * SECOND));
    let port = &run.periods[0].ports[0];
    // half of the arrivals, except the packets that fill the buffer at first
    assert!((port.arrivals / 2 - port.lost()) <= 6, "{}", port.lost());
}

#[test]
fn a_window_per_round_trip_limits_a_flow() {
    let mut group = tcp(0, 1, 1, u32::MAX);
    let Source::Long(long) = &mut group.source else {
        unreachable!()
    };
    long.kind.config.receiver_window = 20;
    long.kind.config.delayed_ack_ns = None;
    let mut plan = plan(one_link(100_000_000, 100), vec![group], 20 * SECOND);
    plan.warm_up_ns = 10 * SECOND;
    let run = run(&plan);
    // a round trip: 500 bytes there take 40 us, 40 bytes back 3.2 us, each link 10 ms; 20 packets
    // in each
    let round_trip_ns = 20 * MS + 40_000 + 3_200;
    let wanted = 20 * 10 * SECOND / round_trip_ns;
    let found = run.periods[1].counts.acknowledged;
    assert!(found.abs_diff(wanted) <= 20, "{found} against {wanted}");
}

#[test]
fn flows_of_a_size_bring_what_they_have_and_no_more() {
    let arrivals = ArrivalProcess::Gaps(Distribution::Constant(10 * MS));
    let groups = vec![short(0, 1, arrivals, Size::Constant(7))];
    let run = run(&plan(one_link(10_000_000, 100), groups, 10 * SECOND));
    assert_eq!(run.tcp.len(), 999);
    // the ACK of the last packet is delayed by 100 ms, so it comes too late for the last flows
    assert!(run.tcp[..985].iter().all(|flow| flow.acknowledged == 7));
    assert_eq!(run.periods[0].counts.retransmissions, 0);
}

#[test]
fn a_user_fetches_once_a_round_trip_and_a_thought() {
    let Source::Long(long) = tcp(0, 1, 1, 1).source else {
        unreachable!()
    };
    let mut kind = long.kind;
    kind.config.delayed_ack_ns = None;
    let web = Web {
        kind,
        objects: Size::Constant(3),
        page_objects: 1,
        connections: 1,
        think: Distribution::Constant(50 * MS),
        start_ns: 0,
        spread_ns: 0,
        stop_ns: 9 * SECOND,
    };
    let group = Group {
        from: 0,
        to: 1,
        count: 1,
        source: Source::Web(web),
    };
    let run = run(&plan(one_link(1_000_000, 100), vec![group], 10 * SECOND));
    // a cycle: three packets of 4 ms, 10 ms each way, an ACK of 0.32 ms, 50 ms to think; the last
    // of 110 fetches starts before 9 s
    let cycle_ns = 3 * 4 * MS + 20 * MS + 320_000 + 50 * MS;
    let fetches = (9 * SECOND).div_ceil(cycle_ns) as u32;
    assert_eq!(run.tcp[0].acknowledged, 3 * fetches);
    assert_eq!(run.tcp[0].completion_ns, None);
}

#[test]
fn a_seed_gives_one_result_on_any_number_of_threads() {
    let mut plan = plan(
        one_link(2_000_000, 20),
        vec![
            tcp(0, 1, 30, u32::MAX),
            datagrams(0, 1, 3, Distribution::Exponential(20 * MS), 20 * SECOND),
        ],
        20 * SECOND,
    );
    plan.replications = 6;
    plan.topology.links[0].port = Some(port("red", 20));
    let on = |threads| simulate(&plan, Some(threads), &Monitor::default()).unwrap();
    let alone = on(1);
    assert_eq!(alone, on(3));
    assert_ne!(alone[0], alone[1]);
    plan.seed = 2;
    assert_ne!(alone, simulate(&plan, None, &Monitor::default()).unwrap());
}
