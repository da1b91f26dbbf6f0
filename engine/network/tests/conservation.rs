//! Packets are lost only at queues, in any network.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, tcp, topology};
use proptest::prelude::*;
use sluice_aqm::{Configured, Value, Verdict, Victim, coupled, find};
use sluice_network::{
    Distribution, Group, Link, Size, Source, TcpKind, Topology, TrafficClass, Web,
};
use sluice_tcp::{Config, CongestionControl, Variant};

/// A ring of nodes, linked in both directions, with chords; every second link has a port.
fn network() -> impl Strategy<Value = Topology> {
    let ends = (
        0_usize..8,
        0_usize..8,
        100_000_u64..50_000_000,
        0_u64..20 * MS,
    );
    (2_usize..8, prop::collection::vec(ends, 0..10), 1_u32..30).prop_map(
        |(nodes, chords, limit)| {
            let mut links: Vec<Link> = Vec::new();
            for node in 0..nodes {
                let next = (node + 1) % nodes;
                links.push(link(node, next, 2_000_000, 5 * MS));
                links.push(link(next, node, 3_000_000, 3 * MS));
            }
            for (from, to, rate_bps, delay_ns) in chords {
                if from < nodes && to < nodes && from != to {
                    links.push(link(from, to, rate_bps, delay_ns));
                }
            }
            for (index, link) in links.iter_mut().enumerate() {
                let aqm = ["drop_tail", "red", "choke"][index / 2 % 3];
                link.port = (index % 2 == 0).then(|| port(aqm, limit));
            }
            topology(nodes, links)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_datagram_arrives_or_is_counted_as_lost(
        network in network(),
        flows in prop::collection::vec((0_usize..8, 0_usize..8, 1_u64..20), 1..6),
    ) {
        let nodes = network.nodes.len();
        let groups: Vec<_> = flows
            .into_iter()
            .map(|(from, to, gap_ms)| (from % nodes, to % nodes, gap_ms))
            .filter(|(from, to, _)| from != to)
            .map(|(from, to, gap_ms)| {
                datagrams(from, to, 3, Distribution::Exponential(gap_ms * MS), 2 * SECOND)
            })
            .collect();
        // after 2 s, the slowest link needs less than 30 s for the packets that still wait
        let run = run(&plan(network, groups, 40 * SECOND));
        let period = &run.periods[0];
        let lost: u64 = period.ports.iter().map(|port| port.lost()).sum();
        prop_assert_eq!(period.counts.datagrams_received + lost, period.counts.datagrams_sent);
        let received: u64 = run.datagrams.iter().map(|flow| flow.received).sum();
        prop_assert_eq!(received, period.counts.datagrams_received);
        for port in &period.ports {
            prop_assert_eq!(port.arrivals, port.sent + port.lost());
            prop_assert_eq!(port.queue_ns.iter().sum::<u64>(), 40 * SECOND);
            prop_assert!(port.idle_ns <= port.duration_ns);
            // Little's law: the queue is empty at start and end; only CHOKe drops waiting packets
            let held = |(packets, ns): (usize, &u64)| packets as u128 * u128::from(*ns);
            let waited: u128 = port.queue_ns.iter().enumerate().map(held).sum();
            let in_system = waited + u128::from(port.duration_ns - port.idle_ns);
            prop_assert_eq!(port.sojourn.count(), port.sent);
            prop_assert_eq!(port.delay.count(), port.sent);
            match port.verdicts[Verdict::DropBoth as usize] {
                0 => {
                    prop_assert_eq!(port.sojourn.sum(), waited);
                    prop_assert_eq!(port.delay.sum(), in_system);
                }
                _ => prop_assert!(port.sojourn.sum() < waited && port.delay.sum() < in_system),
            }
        }
    }

    #[test]
    fn every_transfer_ends_whole(network in network(), ends in (0_usize..8, 1_usize..8)) {
        let nodes = network.nodes.len();
        let (from, ahead) = ends;
        let to = (from % nodes + 1 + ahead % (nodes - 1)) % nodes;
        let run = run(&plan(network, vec![tcp(from % nodes, to, 4, 50)], 600 * SECOND));
        let acknowledged: Vec<u32> = run.tcp.iter().map(|flow| flow.acknowledged).collect();
        prop_assert_eq!(acknowledged, vec![50; 4]);
    }
}

#[test]
fn thousands_of_flows_share_a_buffer_of_one_packet() {
    let mut bottleneck = link(0, 1, 10_000_000, MS);
    bottleneck.port = Some(port("drop_tail", 1));
    let network = topology(2, vec![bottleneck, link(1, 0, 10_000_000, MS)]);
    let run = run(&plan(network, vec![tcp(0, 1, 3000, u32::MAX)], 10 * SECOND));
    let period = &run.periods[0];
    let port = &period.ports[0];
    assert_eq!(port.queue_ns.iter().skip(2).sum::<u64>(), 0);
    // at the end at most one packet waits
    assert!(port.arrivals - port.sent - port.lost() <= 1);
    // some flows get packets through while the others retry
    assert!((1..=port.sent).contains(&period.counts.acknowledged));
    assert!(port.lost() > port.sent);
}

#[test]
fn users_get_every_object_whole_whatever_is_lost_or_marked() {
    use Variant::{NewReno, Reno, Sack, Tahoe};
    let reno = [Tahoe, Reno, NewReno, Sack].map(|variant| (variant, CongestionControl::Reno));
    let others = CongestionControl::ALL[1..]
        .iter()
        .map(|control| (Sack, *control));
    for (variant, congestion_control) in reno.into_iter().chain(others) {
        for (config, ecn) in [
            (Config::rfc(variant), false),
            (Config::rfc(variant), true),
            (Config::ns2(variant, 20), true),
        ] {
            let config = config.with(congestion_control);
            if !ecn && (congestion_control.counts_marks() || congestion_control.answers_marks()) {
                continue;
            }
            let mut bottleneck = link(0, 1, 600_000, 20 * MS);
            let queue = bottleneck.port.insert(port("red", 20));
            let params = [("min_th", 1.0), ("max_th", 8.0), ("w", 0.5), ("max_p", 0.5)]
                .map(|(name, number)| (name.to_owned(), Value::Number(number)));
            queue.aqm = Configured::new(find("red").unwrap(), &params)
                .unwrap()
                .into();
            queue.discipline.ecn = ecn;
            let network = topology(2, vec![bottleneck, link(1, 0, 600_000, 20 * MS)]);
            let kind = TcpKind {
                config: Config {
                    ecn,
                    ..config.clone()
                },
                packet_bytes: 500,
                ack_bytes: 40,
                traffic_class: TrafficClass::default(),
            };
            let web = Web {
                kind,
                objects: Size::Constant(7),
                page_objects: 1,
                connections: 1,
                think: Distribution::Exponential(200 * MS),
                start_ns: 0,
                spread_ns: SECOND,
                stop_ns: 60 * SECOND,
            };
            let users = Group {
                from: 0,
                to: 1,
                count: 12,
                source: Source::Web(web),
            };
            let run = run(&plan(network, vec![users], 400 * SECOND));
            let verdicts = &run.periods[0].ports[0].verdicts;
            assert_eq!(
                verdicts[Verdict::Mark as usize] > 100,
                ecn,
                "{config:?}: {verdicts:?}"
            );
            // DCTCP hardly reduces its window here: six time-outs in a row take 63 s, so a user can
            // get no more than the first object
            let least = if congestion_control.counts_marks() {
                7
            } else {
                28
            };
            for user in &run.tcp {
                let packets = user.acknowledged;
                assert!(
                    packets.is_multiple_of(7) && packets >= least,
                    "{config:?}: {packets}"
                );
            }
        }
    }
}

/// Datagrams keep the buffer full: a packet of theirs makes room for an ACK, and an older ACK goes.
#[test]
fn acks_that_join_a_full_buffer_are_filtered() {
    let cake = coupled().iter().find(|class| class.name == "cake").unwrap();
    let filter = [("ack_filter".to_owned(), Value::Word("aggressive".into()))];
    let mut back = link(1, 0, 200_000, MS);
    back.port = Some(port("drop_tail", 10));
    let port = back.port.as_mut().unwrap();
    port.discipline.victim = Victim::Front;
    port.scheduler = Some(Configured::new(cake, &filter).unwrap());
    let network = topology(2, vec![link(0, 1, 20_000_000, MS), back]);
    let groups = vec![
        tcp(0, 1, 1, u32::MAX),
        datagrams(1, 0, 1, Distribution::Constant(MS), 10 * SECOND),
    ];
    let run = run(&plan(network, groups, 10 * SECOND));
    let period = &run.periods[0];
    let lost = |why| period.ports[0].verdicts[why as usize];
    // ACKs take each other's room, so no more than the datagrams find none
    assert!(lost(Verdict::DropOverflow) < period.counts.datagrams_sent);
    assert!(lost(Verdict::DropForced) > 20_000);
}
