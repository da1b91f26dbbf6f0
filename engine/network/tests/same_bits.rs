//! All builds give the same result, to the bit.
//!
//! `same_bits.txt` holds the digest of a small run. This test compares it with a build with
//! overflow checks and assertions (with `cargo test --profile plain`, one without any
//! optimisation), and `tests/test_same_bits.py` compares it with the build of the package. A change
//! that alters results must update that file and say why. The run does not use libm, whose last bit
//! can differ between machines: TCP without CUBIC, uniform starts, an AQM with integer arithmetic.

use std::iter::once;

use crate::common::{MS, SECOND, link, plan, port, run, tcp, topology};
use sluice_aqm::{Configured, Value, find};
use sluice_network::{Group, Plan, Replication, Source};
use sluice_tcp::{Config, Variant};

fn bottleneck() -> Plan {
    let params = [("min_th", 10.0), ("max_th", 30.0), ("max_p", 0.1)]
        .map(|(name, value)| (name.to_owned(), Value::Number(value)));
    let mut before = port("red", 50);
    before.aqm = Configured::new(find("red").unwrap(), &params)
        .unwrap()
        .into();
    before.discipline.ecn = true;
    let mut links = Vec::new();
    for (from, rate_bps, delay_ns, to) in [
        (0, 5_000_000, 10 * MS, 1),
        (2, 50_000_000, 5 * MS, 0),
        (3, 50_000_000, 60 * MS, 0),
    ] {
        links.push(link(from, to, rate_bps, delay_ns));
        links.push(link(to, from, rate_bps, delay_ns));
    }
    links[0].port = Some(before);
    let near = group(2, u32::MAX, Config::ns2(Variant::NewReno, 10_000));
    let mut selective = Config::rfc(Variant::Sack);
    selective.receiver_window = 10_000;
    selective.ecn = true;
    let far = group(3, 300, selective);
    Plan {
        sample_ns: 100 * MS,
        warm_up_ns: 10 * SECOND,
        seed: 7,
        ..plan(topology(4, links), vec![near, far], 20 * SECOND)
    }
}

fn group(from: usize, packets: u32, config: Config) -> Group {
    let mut group = tcp(from, 1, 20, packets);
    if let Source::Long(long) = &mut group.source {
        long.kind.config = config;
        long.spread_ns = SECOND;
    }
    group
}

/// Returns the digest of all flows and then of all samples of the port, word by word, with the step
/// of FNV-1a.
fn digest(run: &Replication) -> u64 {
    let flows = run
        .tcp
        .iter()
        .flat_map(|flow| [flow.acknowledged, flow.retransmissions, flow.timeouts].map(u64::from));
    let port = &run.ports[0];
    let samples = (0..port.queue.len()).flat_map(|at| {
        once(u64::from(port.queue[at])).chain([
            port.arrivals[at],
            port.losses[at],
            port.sent_bytes[at],
            port.average[at].to_bits(),
        ])
    });
    flows
        .chain(samples)
        .fold(0xcbf2_9ce4_8422_2325, |hash, word| {
            (hash ^ word).wrapping_mul(0x100_0000_01b3)
        })
}

#[test]
fn any_build_gives_the_same_bits() {
    let run = run(&bottleneck());
    assert!(run.tcp.iter().any(|flow| flow.completion_ns.is_some()));
    let found = format!("{:016x}", digest(&run));
    assert_eq!(found, include_str!("same_bits.txt").trim());
}
