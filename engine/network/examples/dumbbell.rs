//! Measures the speed of a simulation of the LRED paper's dumbbell (section 6): long-lived NewReno
//! flows, five clients, five servers. `scale` multiplies all rates, the limit and RED's thresholds.
//!
//! `cargo run --release --example dumbbell -- [flows] [aqm] [access Mb/s] [seconds] [scale] [seed] [control]`
//!
//! With the name of a congestion control, the flows are not NewReno as in ns-2, but as in Linux; with
//! `paced` they are as in ns-2, and pace.

use std::{env, time::Instant};

use sluice_aqm::{BufferPolicy, Configured, Value, Victim, find};
use sluice_network::{
    Group, Link, LongTcp, Monitor, NEVER, Plan, PortPlan, Source, TcpFlow, TcpKind, Topology,
    TrafficClass, simulate,
};
use sluice_tcp::{Config, CongestionControl, GREEDY, Variant};

const MS: u64 = 1_000_000;
const DELAYS_MS: [u64; 5] = [10, 50, 100, 150, 200];

fn main() {
    let words: Vec<String> = env::args().skip(1).collect();
    let word =
        |place: usize, default: &str| words.get(place).cloned().unwrap_or_else(|| default.into());
    let number = |place: usize, default: &str| -> u64 {
        word(place, default).parse().expect("a whole number")
    };
    let flows = number(0, "100");
    let scale = number(4, "1");
    let params = match &*word(1, "drop_tail") {
        "red" => vec![
            ("min_th".into(), Value::Number(50.0 * scale as f64)),
            ("max_th".into(), Value::Number(150.0 * scale as f64)),
            ("max_p".into(), Value::Number(0.1)),
        ],
        _ => vec![],
    };
    let aqm = find(&word(1, "drop_tail")).expect("an AQM's name");
    let port = PortPlan {
        discipline: BufferPolicy {
            limit: 199 * scale as u32,
            limit_bytes: None,
            victim: Victim::Tail,
            ecn: false,
        },
        scheduler: None,
        aqm: Configured::new(aqm, &params)
            .expect("its parameters")
            .into(),
    };
    let plan = Plan {
        topology: dumbbell(port, number(2, "100") * 1_000_000 * scale, scale),
        groups: (0..5)
            .map(|pair| group(pair, flows, &config(&word(6, "ns2"))))
            .collect(),
        markers: Vec::new(),
        classes: Vec::new(),
        duration_ns: number(3, "200") * 1000 * MS,
        warm_up_ns: number(3, "200") * 500 * MS,
        sample_ns: 10 * MS,
        windows: false,
        replications: 1,
        seed: number(5, "1"),
    };
    let start = Instant::now();
    let run = simulate(&plan, Some(1), &Monitor::default()).expect("a plan that makes sense");
    let seconds = start.elapsed().as_secs_f64();
    let run = &run[0];
    let packets: u64 = run.periods.iter().map(|half| half.ports[0].sent).sum();
    for (half, name) in run.periods.iter().zip(["first", "second"]) {
        let port = &half.ports[0];
        let time_s = port.duration_ns as f64 / 1e9;
        let mean = moment(&port.queue_ns, |k| k);
        println!(
            "{name} half: queue {mean:.2} deviation {:.2} loss {:.4} goodput {:.1} utilization {:.4} \
             time-outs {} retransmissions {}",
            moment(&port.queue_ns, |k| (k - mean).abs()),
            port.lost() as f64 / port.arrivals as f64,
            half.counts.acknowledged as f64 / time_s,
            1.0 - port.idle_ns as f64 / port.duration_ns as f64,
            half.counts.timeouts,
            half.counts.retransmissions,
        );
    }
    println!(
        "{packets} packets in {seconds:.3} s: {:.0} packets/s, {:.0} ns a packet",
        packets as f64 / seconds,
        seconds * 1e9 / packets as f64
    );
}

fn moment(queue_ns: &[u64], of: impl Fn(f64) -> f64) -> f64 {
    let all: u64 = queue_ns.iter().sum();
    let term = |(k, ns): (usize, &u64)| of(k as f64) * *ns as f64;
    queue_ns.iter().enumerate().map(term).sum::<f64>() / all as f64
}

/// Nodes 0 and 1 are the routers, then five clients, then five servers.
fn dumbbell(port: PortPlan, access_bps: u64, scale: u64) -> Topology {
    let mut links = vec![
        link(0, 1, 10_000_000 * scale, 2_500_000),
        link(1, 0, 10_000_000 * scale, 2_500_000),
    ];
    links[0].port = Some(port);
    for (pair, delay_ms) in DELAYS_MS.into_iter().enumerate() {
        let (client, server) = (2 + pair, 7 + pair);
        links.push(link(client, 0, access_bps, delay_ms * MS));
        links.push(link(0, client, access_bps, delay_ms * MS));
        links.push(link(1, server, access_bps, 2_500_000));
        links.push(link(server, 1, access_bps, 2_500_000));
    }
    Topology {
        nodes: (0..12).map(|node| format!("n{node}")).collect(),
        links,
    }
}

fn link(from: usize, to: usize, rate_bps: u64, delay_ns: u64) -> Link {
    Link {
        from,
        to,
        rate_bps,
        service: None,
        wire: None,
        delay_ns,
        port: None,
    }
}

fn config(control: &str) -> Config {
    let ns2 = Config::ns2(Variant::NewReno, 10_000);
    match control {
        "ns2" => return ns2,
        "paced" => {
            return Config {
                pacing: true,
                ..ns2
            };
        }
        _ => {}
    }
    let mut all = CongestionControl::ALL.iter();
    let control = all.find(|each| each.name() == control);
    let control = control.expect("a congestion control's name").in_linux();
    Config::linux(Variant::Rack).with(control)
}

fn group(pair: usize, flows: u64, config: &Config) -> Group {
    Group {
        from: 2 + pair,
        to: 7 + pair,
        count: (flows as u32 + 4 - pair as u32) / 5,
        source: Source::Long(LongTcp {
            kind: TcpKind {
                config: config.clone(),
                packet_bytes: 500,
                ack_bytes: 40,
                traffic_class: TrafficClass::default(),
            },
            flow: TcpFlow {
                packets: GREEDY,
                start_ns: 0,
                stop_ns: NEVER,
            },
            spread_ns: 1000 * MS,
            gap_ns: None,
        }),
    }
}
