//! Ports handle the ends of their transmissions only when it matters, and receivers may answer ahead of
//! time. A run with a trace handles each at its time, so both must give the same.

use crate::common::{MS, SECOND, datagrams, link, plan, port, run, tcp, topology};
use proptest::prelude::*;
use sluice_aqm::{Configured, Value, coupled, find_scheduler};
use sluice_network::{
    ArrivalProcess, Distribution, Event, Loss, Monitor, Plan, RateStep, Service, Source, Trace,
    WirePlan, simulate_traced,
};
use sluice_tcp::{Config, Variant};

/// A trace that takes all and keeps nothing.
struct Unread;

impl Trace for Unread {
    fn begin(&mut self, _tcp_groups: &[u32], _datagram_groups: &[u32]) {}

    fn note(&mut self, _now_ns: u64, _event: Event) {}
}

fn assert_same(plan: &Plan) {
    let traced = simulate_traced(plan, &Monitor::default(), &mut Unread);
    assert!(traced.unwrap().unwrap() == run(plan));
}

/// What a link may be besides a rate and a delay.
#[derive(Clone, Debug)]
struct Kind {
    port: Option<(&'static str, bool)>,
    delay_ns: u64,
    wire: Option<bool>,
    steps: bool,
}

fn kinds() -> impl Strategy<Value = Kind> {
    let aqms = vec![
        "drop_tail",
        "red",
        "codel",
        "pie",
        "pi",
        "choke",
        "cake",
        "cake",
    ];
    (
        prop::option::of((prop::sample::select(aqms), any::<bool>())),
        // a multiple of the transmission times below, so that many events are at the same time
        prop::sample::select(vec![0, 1, 2_000, 4 * MS, 20 * MS]),
        prop::option::weighted(0.2, any::<bool>()),
        prop::bool::weighted(0.2),
    )
        .prop_map(|(port, delay_ns, wire, steps)| Kind {
            port,
            delay_ns,
            wire,
            steps,
        })
}

fn scheduler(name: &str, params: &[(&str, f64)]) -> Configured {
    let coupled = coupled().iter().find(|class| class.name == name);
    let class = coupled.or_else(|| find_scheduler(name)).unwrap();
    let of = |(name, number): &(&str, f64)| ((*name).to_owned(), Value::Number(*number));
    let params: Vec<_> = params.iter().map(of).collect();
    Configured::new(class, &params).unwrap()
}

/// A chain of nodes, with flows over all of it and over its parts in both directions.
fn chain(kinds: &[Kind], seed: u64) -> Plan {
    let nodes = kinds.len() / 2 + 1;
    let mut links = Vec::new();
    for (number, kind) in kinds.iter().enumerate() {
        let (near, far) = (number / 2, number / 2 + 1);
        let (from, to) = if number % 2 == 0 {
            (near, far)
        } else {
            (far, near)
        };
        let mut link = link(from, to, [1_000_000, 2_000_000][number % 2], kind.delay_ns);
        link.port = kind.port.map(|(aqm, drr)| {
            let mut port = port(if aqm == "cake" { "drop_tail" } else { aqm }, 12);
            port.scheduler = match (aqm, drr) {
                // its shaper lets the link wait though packets are there
                ("cake", _) => Some(scheduler("cake", &[("rate_bps", 700_000.0)])),
                (_, true) => Some(scheduler(
                    "drr",
                    &[("queues", 4.0), ("quantum_bytes", 500.0)],
                )),
                (_, false) => None,
            };
            port
        });
        link.wire = kind.wire.map(|jitters| WirePlan {
            loss: Some(Loss::Bernoulli(0.02)),
            jitter: jitters.then_some(Distribution::Uniform(0, 2 * MS)),
            jitter_share: 0.5,
            reorder: true,
            bursts: None,
            tampers: None,
        });
        link.service = kind.steps.then(|| {
            let rates = [(300, 400_000), (700, 0), (900, 1_500_000)];
            let step = |(from_ms, rate_bps)| RateStep {
                from_ns: from_ms * MS,
                rate_bps,
            };
            Service::steps(rates.map(step).to_vec()).unwrap()
        });
        links.push(link);
    }
    let regular = Distribution::Constant(4 * MS);
    let mut groups = vec![
        tcp(0, nodes - 1, 3, u32::MAX),
        tcp(nodes - 1, 0, 2, u32::MAX),
        tcp(0, 1, 1, 40),
        datagrams(1, 0, 1, regular, SECOND),
    ];
    for group in &mut groups {
        match &mut group.source {
            Source::Long(long) => long.spread_ns = 0,
            Source::Datagrams(datagrams) => datagrams.spread_ns = 0,
            _ => {}
        }
    }
    Plan {
        warm_up_ns: 500 * MS,
        classes: if seed.is_multiple_of(2) {
            vec![0, 1, 0, 2]
        } else {
            vec![]
        },
        seed,
        ..plan(topology(nodes, links), groups, 2 * SECOND)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ports_catch_up_with_all(
        kinds in prop::collection::vec(kinds(), 6),
        links in 1_usize..4,
        seed in 0_u64..1000,
    ) {
        assert_same(&chain(&kinds[..2 * links], seed));
    }
}

/// The packet in transmission does not come out, and those behind it wait.
#[test]
fn an_outage_beyond_the_clock_keeps_its_link_busy() {
    let mut out = link(0, 1, 1_000_000, MS);
    out.port = Some(port("drop_tail", 5));
    let step = |(from_ns, rate_bps)| RateStep { from_ns, rate_bps };
    let steps = [(50 * MS, 0), (1_000_000 * SECOND, 1_000_000)].map(step);
    out.service = Some(Service::steps(steps.to_vec()).unwrap());
    let mut group = datagrams(0, 1, 1, Distribution::Constant(10 * MS), SECOND);
    if let Source::Datagrams(datagrams) = &mut group.source {
        datagrams.spread_ns = 0;
        datagrams.arrivals = ArrivalProcess::Gaps(Distribution::Constant(10 * MS));
    }
    let plan = plan(topology(2, vec![out]), vec![group], SECOND);
    let run = run(&plan);
    let port = &run.periods[0].ports[0];
    assert_eq!(port.arrivals - port.sent - port.lost(), 5);
    // those at 0 to 40 ms are out by 50 ms, and the next one is on the link
    assert_eq!(
        (run.periods[0].counts.datagrams_received, port.sent),
        (5, 6)
    );
    assert_same(&plan);
}

/// A dumb-bell of flows that are acknowledged at once: clients, a bottleneck, servers of these rates
/// (Mbit/s) and delays. With `others`: data the other way, datagrams to a server, or delayed ACKs.
fn dumbbell(servers: &[(u64, u64)], others: usize, syn: bool, variant: Variant, seed: u64) -> Plan {
    let mut out = link(0, 1, 2_000_000, 3 * MS);
    out.port = Some(port("drop_tail", 12));
    let mut links = vec![out, link(1, 0, 2_000_000, 3 * MS)];
    let mut groups = Vec::new();
    for (number, (mbps, delay_ns)) in servers.iter().enumerate() {
        let (client, server) = (2 + 2 * number, 3 + 2 * number);
        for (from, to) in [(client, 0), (0, client), (1, server), (server, 1)] {
            let delay_ns = match to + from == server + 1 {
                true => *delay_ns,
                false => number as u64 * 8 * MS,
            };
            links.push(link(from, to, mbps * 1_000_000, delay_ns));
        }
        let mut group = tcp(client, server, 3, u32::MAX);
        if let Source::Long(long) = &mut group.source {
            let mut config = Config::ns2(variant, 40);
            config.syn = syn;
            config.delayed_ack_ns = (others == 3 && number == 0).then_some(100 * MS);
            long.kind.config = config;
        }
        groups.push(group);
    }
    let regular = Distribution::Constant(4 * MS);
    match others {
        1 => groups.push(tcp(3, 2, 1, 1000)),
        2 => groups.push(datagrams(2, 3, 1, regular, SECOND)),
        _ => {}
    }
    Plan {
        warm_up_ns: 500 * MS,
        seed,
        ..plan(topology(2 + 2 * servers.len(), links), groups, 3 * SECOND)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// ACKs are sent ahead of time, where that is possible.
    #[test]
    fn receivers_answer_ahead_of_time_with_the_same(
        servers in prop::collection::vec((1_u64..12, 0_u64..3), 1..4),
        alike in prop::bool::weighted(0.7),
        others in 0_usize..6,
        syn in prop::bool::weighted(0.3),
        sack in any::<bool>(),
        seed in 0_u64..1000,
    ) {
        let of = |(mbps, ms): (u64, u64)| (mbps, ms * MS);
        let servers: Vec<_> = match alike {
            true => vec![of(servers[0]); servers.len()],
            false => servers.into_iter().map(of).collect(),
        };
        let variant = if sack { Variant::Sack } else { Variant::NewReno };
        assert_same(&dumbbell(&servers, others, syn, variant, seed));
    }
}
