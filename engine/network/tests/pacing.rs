//! Senders that pace, in a network: the times at which packets leave, what they achieve, and what a
//! small buffer loses.

use crate::common::{MS, SECOND, link, plan, port, tcp, topology};
use sluice_network::{
    Event, Group, Kind, Monitor, Plan, Source, Step, Trace, simulate, simulate_traced,
};
use sluice_tcp::{Config, CongestionControl, GREEDY, Variant};

/// Packets of 500 bytes per second on the bottleneck.
const RATE_PPS: f64 = 2500.0;
/// Times on the path: the bottleneck's transmission and the access links', both ways.
const ROUND_TRIP_S: f64 = 0.1 + 1.0 / RATE_PPS + 2.0 * 40e-6;

/// One flow over a bottleneck of 10 Mbit/s and 100 ms with room for `limit` packets.
fn one_flow(limit: u32, config: Config) -> Plan {
    let mut bottleneck = link(1, 2, 10_000_000, 50 * MS);
    bottleneck.port = Some(port("drop_tail", limit));
    let links = vec![
        link(0, 1, 100_000_000, 0),
        bottleneck,
        link(2, 1, 100_000_000, 50 * MS),
        link(1, 0, 100_000_000, 0),
    ];
    plan(topology(3, links), vec![flow(config)], 10 * SECOND)
}

fn flow(config: Config) -> Group {
    let mut group = tcp(0, 2, 1, GREEDY);
    if let Source::Long(long) = &mut group.source {
        long.kind.config = config;
        long.spread_ns = 0;
    }
    group
}

fn config(pacing: bool) -> Config {
    Config {
        pacing,
        delayed_ack_ns: None,
        ..Config::rfc(Variant::Rack)
    }
}

/// When data packets were sent, ns, and how many were sent before the first was lost.
#[derive(Default)]
struct Seen {
    sent: Vec<u64>,
    lost_after: Option<usize>,
}

impl Trace for Seen {
    fn begin(&mut self, _tcp_groups: &[u32], _datagram_groups: &[u32]) {}

    fn note(&mut self, _now_ns: u64, event: Event) {
        match (event.packet.kind, event.step, event.link) {
            (Kind::Data, Step::Arrive, 0) => self.sent.push(event.at_ns),
            (Kind::Data, Step::Drop, _) => {
                self.lost_after.get_or_insert(self.sent.len());
            }
            _ => {}
        }
    }
}

fn seen(plan: &Plan) -> Seen {
    let mut seen = Seen::default();
    simulate_traced(plan, &Monitor::default(), &mut seen).unwrap();
    seen
}

#[test]
fn packets_leave_apart_and_not_as_bursts_of_acks_come() {
    // congestion avoidance from 10 packets on: at most 10 + 20 after 20 round trips
    let smallest_gap = |pacing| {
        let plan = Plan {
            duration_ns: 2 * SECOND,
            ..one_flow(
                1000,
                Config {
                    initial_ssthresh: 10.0,
                    ..config(pacing)
                },
            )
        };
        let sent = seen(&plan).sent;
        assert!(sent.len() > 200);
        // the first window leaves before the round trip is known
        let gaps = sent[10..].windows(2).map(|pair| pair[1] - pair[0]);
        gaps.min().unwrap() as f64
    };
    assert!(smallest_gap(true) >= 100e6 / (1.2 * 31.0));
    // ACKs come as far apart as the bottleneck sends packets, 0.4 ms, and release up to two
    assert!(smallest_gap(false) < 0.5e6);
}

#[test]
fn a_flow_alone_achieves_its_window_over_the_round_trip() {
    for control in [CongestionControl::Reno, CongestionControl::Cubic] {
        let plan = Plan {
            warm_up_ns: 2 * SECOND,
            ..one_flow(
                1000,
                Config {
                    congestion_control: control,
                    receiver_window: 100,
                    initial_ssthresh: 100.0,
                    ..config(true)
                },
            )
        };
        let run = simulate(&plan, Some(1), &Monitor::default()).unwrap();
        let packets = run[0].periods[1].counts.acknowledged as f64;
        let expected = 8.0 * 100.0 / ROUND_TRIP_S;
        assert!((packets / expected - 1.0).abs() < 0.01, "{packets}");
    }
}

#[test]
fn a_small_buffer_loses_late_if_the_start_is_paced() {
    // 250 packets fill the path. In slow start two packets leave for each ACK: half a window queues
    // up, so the 10 places are full at a window of some 20 packets. Paced at two windows per round
    // trip, packets come faster than they leave only from half of 250 on.
    let window_at_loss = |pacing| {
        let plan = one_flow(10, config(pacing));
        let lost_after = seen(&plan).lost_after.expect("a loss");
        // 10, 20, 40, ...: in slow start as many were sent as all windows before, and less than the
        // present one
        (lost_after + 10) / 2
    };
    assert!(window_at_loss(false) < 50, "{}", window_at_loss(false));
    assert!(window_at_loss(true) > 125, "{}", window_at_loss(true));
}

#[test]
fn paced_flows_come_through_losses_and_use_the_link() {
    for control in [CongestionControl::Reno, CongestionControl::Cubic] {
        for linux in [false, true] {
            let base = if linux {
                Config::linux(Variant::Rack)
            } else {
                config(true)
            };
            let config = Config {
                pacing: true,
                congestion_control: if linux { control.in_linux() } else { control },
                ..base
            };
            // a buffer of a bandwidth-delay product: one flow keeps the link busy
            let plan = Plan {
                duration_ns: 60 * SECOND,
                warm_up_ns: 20 * SECOND,
                ..one_flow(250, config)
            };
            let run = simulate(&plan, Some(1), &Monitor::default()).unwrap();
            let packets = run[0].periods[1].counts.acknowledged as f64;
            assert!(run[0].tcp[0].retransmissions > 0);
            assert!(packets > 0.95 * 40.0 * RATE_PPS, "{control:?}: {packets}");
        }
    }
}

#[test]
fn a_sender_that_does_not_pace_is_not_touched_by_one_that_does() {
    // on paths of their own
    let alone = one_flow(20, config(false));
    let mut beside = one_flow(20, config(false));
    let others = one_flow(20, config(true)).topology.links;
    beside
        .topology
        .links
        .extend(others.into_iter().map(|mut link| {
            link.from += 3;
            link.to += 3;
            link
        }));
    beside
        .topology
        .nodes
        .extend((3..6).map(|node| format!("n{node}")));
    let mut paced = flow(config(true));
    (paced.from, paced.to) = (3, 5);
    beside.groups.push(paced);
    let run = |plan| simulate(plan, Some(1), &Monitor::default()).unwrap();
    let (alone, beside) = (run(&alone), run(&beside));
    assert_eq!(alone[0].tcp[0], beside[0].tcp[0]);
}
