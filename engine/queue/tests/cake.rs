//! CAKE in a queue: shaper and framing against closed forms, shares of flows, hosts and tins, the hash
//! of eight ways, overflow, and bad input.

use std::collections::BTreeMap;

use proptest::prelude::*;
use sluice_aqm::{BufferPolicy, Value, Verdict, Victim};
use sluice_queue::AckFacts;

use crate::cake_link::{Link, MS, Sent, configured, number, word};

fn packet(flow: u32, bytes: u32) -> Sent {
    Sent {
        flow,
        bytes,
        ..Sent::default()
    }
}

/// A COBALT that never acts.
fn calm() -> [(&'static str, Value); 2] {
    [("rtt", number(4.0)), ("target", number(3.9))]
}

#[test]
fn the_shaper_keeps_the_rate_with_the_frames_of_the_link() {
    for (given, bytes, framed) in [
        (vec![], 1000, 1000),
        (vec![("overhead_bytes", number(38.0))], 1000, 1038),
        (vec![("overhead_bytes", number(-14.0))], 1014, 1000),
        (
            vec![
                ("overhead_bytes", number(38.0)),
                ("mpu_bytes", number(84.0)),
            ],
            40,
            84,
        ),
        // 1040 bytes need 22 cells
        (
            vec![("overhead_bytes", number(40.0)), ("framing", word("atm"))],
            1000,
            22 * 53,
        ),
        (vec![("framing", word("atm"))], 48, 53),
        (vec![("framing", word("atm"))], 49, 106),
        (vec![("framing", word("ptm"))], 1000, 1016),
        (vec![("framing", word("ptm"))], 64, 65),
    ] {
        let rate = [("rate_bps", number(8e6)), ("diffserv", word("besteffort"))];
        let mut link = Link::new(
            &[given.clone(), rate.to_vec(), calm().to_vec()].concat(),
            1000,
        );
        link.now_ns = 7 * MS;
        for number in 0..20 {
            link.arrive(Sent {
                number,
                ..packet(1, bytes)
            });
        }
        link.drain();
        // 1 byte takes 1 us
        for (place, (at_ns, sent)) in link.sent.iter().enumerate() {
            assert_eq!(sent.number as usize, place);
            assert_eq!(
                *at_ns,
                7 * MS + place as u64 * framed * 1000,
                "{given:?} {place}"
            );
        }
        assert_eq!(link.sent.len(), 20);
    }
}

/// After a pause the link starts anew: no burst.
#[test]
fn the_shaper_saves_nothing_in_a_pause() {
    let given = [("rate_bps", number(8e6)), ("diffserv", word("besteffort"))];
    let mut link = Link::new(&given, 100);
    for at_ms in [0, 500] {
        link.now_ns = at_ms * MS;
        link.arrive(packet(1, 1000));
        link.arrive(packet(1, 1000));
        link.drain();
    }
    let times: Vec<u64> = link.sent.iter().map(|(at_ns, _)| at_ns / MS).collect();
    assert_eq!(times, [0, 1, 500, 501]);
}

/// Keeps `flows` in the queue and sends `count` packets; returns the bytes of each key.
fn shares<K: Ord>(
    given: &[(&str, Value)],
    flows: &[Sent],
    count: usize,
    key: impl Fn(&Sent) -> K,
) -> BTreeMap<K, u64> {
    let mut link = Link::new(&[given, &calm()].concat(), 10_000);
    for flow in flows {
        for _ in 0..4 {
            link.arrive(*flow);
        }
    }
    let mut bytes = BTreeMap::new();
    while link.sent.len() < count {
        if !link.send() {
            link.now_ns = link.queue.ready_ns().expect("packets wait");
            continue;
        }
        let (_, sent) = link.sent[link.sent.len() - 1];
        link.arrive(sent);
        // the first rounds are those of new flows
        if link.sent.len() > count / 10 {
            *bytes.entry(key(&sent)).or_insert(0) += u64::from(sent.bytes);
        }
    }
    bytes
}

fn assert_ratio(one: u64, other: u64, expected: f64) {
    let ratio = one as f64 / other as f64;
    assert!(
        (ratio / expected - 1.0).abs() < 0.03,
        "{ratio} instead of {expected}"
    );
}

#[test]
fn flows_share_by_bytes_and_hosts_as_isolation_says() {
    // source 1 has one flow to 10, of small packets; source 2 has five flows to 11 to 15
    let mut flows = vec![Sent {
        hosts: [1, 10],
        ..packet(100, 300)
    }];
    for flow in 0..5 {
        flows.push(Sent {
            hosts: [2, 11 + flow],
            ..packet(200 + flow, 1500)
        });
    }
    for (isolation, expected) in [
        ("flows", 5.0),
        ("dual_srchost", 1.0),
        ("dual_dsthost", 5.0),
        ("triple_isolate", 1.0),
        ("srchost", 1.0),
        ("dsthost", 5.0),
        ("hosts", 5.0),
    ] {
        let given = [
            ("isolation", word(isolation)),
            ("diffserv", word("besteffort")),
        ];
        let bytes = shares(&given, &flows, 12_000, |sent| sent.hosts[0]);
        println!("{isolation}: {bytes:?}");
        assert_ratio(bytes[&2], bytes[&1], expected);
    }
    // one flow for all: in the order of arrival
    let given = [
        ("isolation", word("flowblind")),
        ("diffserv", word("besteffort")),
    ];
    let counts = shares(&given, &flows, 12_000, |sent| sent.flow);
    assert_ratio(counts[&200], counts[&204], 1.0);
    assert_ratio(counts[&200], counts[&100], 5.0);
}

fn in_tins() -> [Sent; 3] {
    [0, 8, 46].map(|dscp| Sent {
        dscp,
        ..packet(7, 1000)
    })
}

#[test]
fn tins_share_by_their_weights_without_a_rate() {
    let given = [("diffserv", word("diffserv3"))];
    let bytes = shares(&given, &in_tins(), 20_000, |sent| sent.dscp);
    assert_ratio(bytes[&0], bytes[&8], 16.0);
    assert_ratio(bytes[&46], bytes[&8], 4.0);
}

/// With a rate, voice and bulk get the share of the rate up to which they go first.
#[test]
fn tins_go_first_up_to_their_share_of_the_rate() {
    let given = [("diffserv", word("diffserv3")), ("rate_bps", number(10e6))];
    let bytes = shares(&given, &in_tins(), 20_000, |sent| sent.dscp);
    let all: u64 = bytes.values().sum();
    assert_ratio(all, bytes[&46], 4.0);
    assert_ratio(all, bytes[&8], 16.0);
    // alone, each tin has all of the link
    for flow in in_tins() {
        let alone = shares(&given, &[flow], 1000, |sent| sent.dscp);
        assert_eq!(alone.len(), 1);
    }
}

#[test]
fn a_new_flow_goes_before_bulk_flows() {
    let mut link = Link::new(&[("diffserv", word("besteffort"))], 1000);
    for flow in 0..3 {
        for _ in 0..20 {
            link.arrive(packet(flow, 1500));
        }
    }
    for _ in 0..15 {
        link.send();
    }
    link.arrive(packet(99, 200));
    link.send();
    assert_eq!(link.sent.last().unwrap().1.flow, 99);
}

/// Flows whose hashes fall on one lane: eight have lanes of their own, the ninth shares one.
#[test]
fn eight_flows_of_a_set_have_lanes_of_their_own() {
    for (flows, collide) in [(8, false), (9, true)] {
        let mut link = Link::new(&[("diffserv", word("besteffort"))], 1000);
        let mut used = 0;
        for flow in 0..flows {
            link.arrive(packet(5 + 1024 * flow, 1000));
            link.arrive(packet(5 + 1024 * flow, 1000));
            used = link
                .queue
                .state()
                .lanes
                .iter()
                .filter(|lane| lane.packets > 0)
                .count();
        }
        assert_eq!(used as u32, flows - u32::from(collide));
    }
}

/// The flow with most bytes loses its first packet, and then has BLUE.
#[test]
fn the_longest_flow_pays_for_overflow() {
    let mut link = Link::new(&[("diffserv", word("diffserv4"))], 20);
    for number in 0..19 {
        link.arrive(Sent {
            number,
            ..packet(1, 1000)
        });
    }
    link.arrive(Sent {
        dscp: 46,
        ..packet(2, 100)
    });
    for count in 0..30 {
        link.now_ns += 10 * MS;
        let verdict = link.arrive(Sent {
            dscp: 46,
            number: count,
            ..packet(2, 100)
        });
        assert_eq!(verdict, Verdict::DropOverflow);
        let lost = link.lost.last().unwrap();
        if count < 17 {
            assert_eq!((lost.flow, lost.number), (1, count), "{count}");
        }
    }
    assert!(link.lost.iter().any(|lost| lost.flow == 2));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x51),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    /// Packets are sent or lost, each once, those of a flow in their order; nothing is stuck.
    #[test]
    fn packets_are_conserved(
        diffserv in prop::sample::select(vec![
            "besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8",
        ]),
        isolation in prop::sample::select(vec![
            "flowblind", "srchost", "dsthost", "hosts", "flows", "dual_srchost", "dual_dsthost",
            "triple_isolate",
        ]),
        shaped in any::<bool>(),
        ingress in any::<bool>(),
        limit in 1_u32..40,
        // no more flows than lanes: a flow whose lane another one took would be reordered, as in Linux
        steps in prop::collection::vec((0_u32..8, 0_u8..64, 40_u32..1500, 0_u64..20), 1..600),
    ) {
        let mut given = vec![
            ("diffserv", word(diffserv)),
            ("isolation", word(isolation)),
            ("queues", number(8.0)),
            ("ingress", Value::Switch(ingress)),
        ];
        if shaped {
            given.push(("rate_bps", number(1e6)));
        }
        let mut link = Link::new(&given, limit);
        for (count, (flow, dscp, bytes, gap_ms)) in steps.iter().enumerate() {
            link.now_ns += gap_ms * MS;
            link.arrive(Sent {
                number: count as u32,
                flow: *flow,
                hosts: [flow % 3, flow % 2],
                bytes: *bytes,
                // a flow keeps its tin, so its order
                dscp: dscp % 2 * 46,
            });
            if count % 3 == 0 {
                link.send();
            }
            prop_assert!(link.queue.packets() <= limit as usize);
        }
        link.drain();
        let mut numbers: Vec<u32> = link.sent.iter().map(|(_, sent)| sent.number).collect();
        numbers.extend(link.lost.iter().map(|lost| lost.number));
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..steps.len() as u32).collect::<Vec<_>>());
        let mut last = BTreeMap::new();
        for (_, sent) in &link.sent {
            let before = last.insert((sent.flow, sent.dscp), sent.number);
            prop_assert!(before.is_none_or(|before| before < sent.number));
        }
    }
}

/// The longest flow loses its head, and then the ACKs are filtered; Linux filters first.
#[test]
fn an_ack_for_which_another_packet_made_room_is_filtered_for_too() {
    let filter = [("ack_filter", word("aggressive"))];
    let ack = |number| Sent {
        number,
        ..packet(2, 40)
    };
    let facts = |sent: &Sent| {
        (sent.flow == 2).then(|| AckFacts {
            acked: sent.number,
            is_pure: true,
            ..AckFacts::default()
        })
    };
    for (victim, limit_bytes, joins) in [
        (Victim::Front, None, true),
        // larger than the limit: nothing can make room for it
        (Victim::Front, Some(39), false),
        (Victim::Tail, None, true),
    ] {
        let mut link = Link::new(&filter, 5);
        for _ in 0..4 {
            link.arrive(packet(1, 1500));
        }
        link.arrive(ack(1));
        assert_eq!(link.queue.needless_ack(facts), None);
        let policy = BufferPolicy {
            limit: 5,
            limit_bytes,
            victim,
            ecn: false,
        };
        let cake = configured(&filter).unwrap();
        link.queue.retune(
            link.now_ns,
            (policy, Some(&cake)),
            |_, _| true,
            |_| unreachable!(),
            &mut || unreachable!(),
        );
        link.arrive(ack(2));
        let found = link.queue.needless_ack(facts);
        assert_eq!(found.is_some(), joins, "{victim:?}, {limit_bytes:?}");
        if let Some(place) = found {
            let mut lost = Vec::new();
            let mut observer = |sent, _| lost.push(sent);
            link.queue.remove_ack(link.now_ns, place, &mut observer);
            assert_eq!(lost, [ack(1)]);
        }
    }
}

#[test]
fn bad_parameters_are_told() {
    for (given, message) in [
        (
            ("queues", number(12.0)),
            "cake.queues = 12 must be a multiple of 8",
        ),
        (("queues", number(4.0)), "cake.queues"),
        (
            ("target", number(0.2)),
            "cake.rtt = 0.1 must exceed cake.target = 0.2 (s)",
        ),
        (("diffserv", word("diffserv5")), "cake.diffserv"),
        (("overhead_bytes", number(1000.0)), "cake.overhead_bytes"),
        (("rate_bps", number(-1.0)), "cake.rate_bps"),
    ] {
        let told = configured(&[given]).unwrap_err();
        assert!(told.contains(message), "{told}");
    }
}
