//! The offered traffic is the traffic that the simulation sends.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, tcp, topology};
use sluice_network::{Distribution, NEVER, Source, offered};

#[test]
fn starts_and_datagrams_are_those_of_the_simulation() {
    let mut there = link(0, 1, 1_000_000, 10 * MS);
    there.port = Some(port("drop_tail", 100));
    let mut stopped = tcp(0, 1, 2, u32::MAX);
    let Source::Long(long) = &mut stopped.source else {
        unreachable!()
    };
    long.flow.stop_ns = 3 * SECOND;
    let groups = vec![
        tcp(0, 1, 3, 200),
        datagrams(0, 1, 2, Distribution::Exponential(50 * MS), 5 * SECOND),
        stopped,
    ];
    let plan = plan(
        topology(2, vec![there, link(1, 0, 1_000_000, 10 * MS)]),
        groups,
        10 * SECOND,
    );
    let (found, simulated) = (offered(&plan, 0, 10_000).unwrap(), run(&plan));
    assert_eq!(found.tcp.len(), simulated.tcp.len());
    for (flow, outcome) in found.tcp.iter().zip(&simulated.tcp) {
        assert_eq!(
            (flow.group, flow.start_ns),
            (outcome.group, outcome.start_ns)
        );
    }
    let ends = |group| {
        let flow = found.tcp.iter().find(|flow| flow.group == group).unwrap();
        (flow.packets, flow.stop_ns)
    };
    assert_eq!(ends(0), (Some(200), NEVER));
    assert_eq!(ends(2), (None, 3 * SECOND));
    // the simulation sends the same number of datagrams
    let sent = found.datagrams.len() as u64;
    let counted = simulated
        .periods
        .iter()
        .map(|part| part.counts.datagrams_sent);
    assert_eq!(sent, counted.sum::<u64>());
    assert!(sent > 100);
    for (flow, outcome) in simulated.datagrams.iter().enumerate() {
        let first = found.datagrams.iter().find(|one| one.flow == flow as u32);
        assert_eq!(first.map(|one| one.time_ns), outcome.start_ns);
    }
    let times = found.datagrams.windows(2);
    assert!(
        times
            .into_iter()
            .all(|two| two[0].time_ns <= two[1].time_ns)
    );
    let refusal = offered(&plan, 0, 10).unwrap_err().to_string();
    assert_eq!(
        refusal,
        "flows: more than 10 datagrams would be sent in one run"
    );
}
