//! Wrong plans are refused, with the reason.

use crate::common::{MS, SECOND, datagrams, link, plan, port, refusal, short, tcp, topology};
use sluice_network::{ArrivalProcess, Distribution, Group, Noise, Plan, Size, Source};

fn noisy(hurst: f64, frame_ns: u64) -> ArrivalProcess {
    ArrivalProcess::Noisy {
        mean_gap_ns: MS as f64,
        noise: Noise {
            hurst,
            deviation: 0.3,
            frame_ns,
        },
    }
}

fn good() -> Plan {
    let mut there = link(0, 1, 1_000_000, MS);
    there.port = Some(port("drop_tail", 5));
    let network = topology(3, vec![there, link(1, 0, 1_000_000, MS)]);
    plan(network, vec![tcp(0, 1, 1, 10)], SECOND)
}

type Spoil = fn(&mut Plan);

#[test]
fn each_with_its_reason() {
    let cases: [(&str, Spoil); 19] = [
        (
            "flows: all groups have 5000001 flows together and must have at most 5000000: each \
             takes about 1 kB of memory; a user of the web has one for each connection",
            |plan| plan.groups[0].count = 5_000_001,
        ),
        (
            "no route from n0 to n2, which data of a flow must take",
            |plan| {
                plan.groups[0].to = 2;
            },
        ),
        (
            "a flow must lead to another node, not from n0 to n0",
            |plan| {
                plan.groups[0].to = 0;
            },
        ),
        ("flows.0 must join two of the 3 nodes", |plan| {
            plan.groups[0].to = 3;
        }),
        (
            "link n0 -> n1: rate = 0 must lie between 1 and 100000000000000 bits/s",
            |plan| plan.topology.links[0].rate_bps = 0,
        ),
        (
            "link n1 -> n0: delay = 18446744073709551615 must be at most 3600000000000 ns",
            |plan| plan.topology.links[1].delay_ns = u64::MAX,
        ),
        (
            "link n0 -> n1: limit = 0 must be at least 1 packet",
            |plan| {
                plan.topology.links[0]
                    .port
                    .as_mut()
                    .unwrap()
                    .discipline
                    .limit = 0;
            },
        ),
        ("link 1 must join two of the 3 nodes", |plan| {
            plan.topology.links[1].to = 1;
        }),
        (
            "warm_up = 1000000000 must be below duration = 1000000000 (ns)",
            |plan| {
                plan.warm_up_ns = SECOND;
            },
        ),
        (
            "sample_s = 1e-9 must be at least 2.42e-7: the samples of all ports and replications may \
             take 250000000 bytes",
            |plan| plan.sample_ns = 1,
        ),
        (
            "replications = 20000 times 1 queues must be at most 2543: their times may take \
             4000000000 bytes",
            |plan| plan.replications = 20_000,
        ),
        (
            "flows.1: shape = 1 must exceed 1, or there is no mean",
            |plan| {
                let distribution = Distribution::Pareto {
                    mean: MS,
                    shape: 1.0,
                };
                plan.groups.push(datagrams(0, 1, 1, distribution, SECOND));
            },
        ),
        (
            "flows.1: about 1.000e9 flows would arrive; at most 5e6 can",
            |plan| {
                let arrivals = ArrivalProcess::Gaps(Distribution::Constant(1));
                plan.groups.push(short(0, 1, arrivals, Size::Constant(1)));
            },
        ),
        (
            "flows.1: on: half of the times last less than 1.000e-9 s; they must last a hundredth of the \
             gap between two packets, 1.000e-6 s",
            |plan| {
                let group = datagrams(0, 1, 1, Distribution::Constant(MS), SECOND);
                let Source::Datagrams(mut datagrams) = group.source else {
                    unreachable!()
                };
                datagrams.arrivals = ArrivalProcess::OnOff {
                    gap_ns: 1000.0,
                    on: Distribution::Constant(1),
                    off: Distribution::Constant(1),
                };
                let source = Source::Datagrams(datagrams);
                plan.groups.push(Group { source, ..group });
            },
        ),
        // the mean gap says 1000 flows, but most gaps are 1 ns
        ("flows.1: more than 5e6 flows would arrive", |plan| {
            let arrivals = ArrivalProcess::Gaps(Distribution::Pareto {
                mean: MS,
                shape: 1.000001,
            });
            plan.groups.push(short(0, 1, arrivals, Size::Constant(1)));
        }),
        (
            "flows.1: mean = 2 must be at least shape / (shape - 1) = 3 (packets): \
             nothing is smaller than a packet",
            |plan| {
                let size = Size::Pareto {
                    mean: 2.0,
                    shape: 1.5,
                };
                let arrivals = ArrivalProcess::Gaps(Distribution::Constant(MS));
                plan.groups.push(short(0, 1, arrivals, size));
            },
        ),
        (
            "flows.1: fgn.hurst = 1 must lie between 0 and 1, both excluded",
            |plan| {
                plan.groups
                    .push(short(0, 1, noisy(1.0, MS), Size::Constant(1)));
            },
        ),
        (
            "flows.1: fgn.frame is too short: 1 flows make 10000000 frames; \
             at most 4194304 are kept",
            |plan| {
                plan.groups
                    .push(short(0, 1, noisy(0.8, 100), Size::Constant(1)));
            },
        ),
        (
            "flows: the frames of fgn of all groups are 5000000 together and must be at most \
             4194304",
            |plan| {
                for _ in 0..2 {
                    plan.groups
                        .push(short(0, 1, noisy(0.8, 400), Size::Constant(1)));
                }
            },
        ),
    ];
    for (reason, spoil) in cases {
        let mut plan = good();
        spoil(&mut plan);
        assert_eq!(refusal(&plan), reason);
    }
}
