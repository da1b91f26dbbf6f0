//! Small networks for tests.

use sluice_aqm::{BufferPolicy, Configured, Victim, find};
use sluice_network::{
    ArrivalProcess, Datagrams, Distribution, Extent, Group, Link, LongTcp, Monitor, NEVER,
    NetworkError, Plan, PortPlan, Replication, ShortTcp, Size, Source, TcpFlow, TcpKind, Topology,
    TrafficClass, simulate,
};
use sluice_tcp::{Config, Variant};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;

pub fn port(aqm: &str, limit: u32) -> PortPlan {
    PortPlan {
        discipline: BufferPolicy {
            limit,
            limit_bytes: None,
            victim: Victim::Tail,
            ecn: false,
        },
        scheduler: None,
        aqm: Configured::new(find(aqm).unwrap(), &[]).unwrap().into(),
    }
}

pub fn link(from: usize, to: usize, rate_bps: u64, delay_ns: u64) -> Link {
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

pub fn topology(nodes: usize, links: Vec<Link>) -> Topology {
    Topology {
        nodes: (0..nodes).map(|node| format!("n{node}")).collect(),
        links,
    }
}

/// `count` TCP flows of `packets` packets each, which start in the first 100 ms.
pub fn tcp(from: usize, to: usize, count: u32, packets: u32) -> Group {
    Group {
        from,
        to,
        count,
        source: Source::Long(LongTcp {
            kind: TcpKind {
                config: Config::rfc(Variant::NewReno),
                packet_bytes: 500,
                ack_bytes: 40,
                traffic_class: TrafficClass::default(),
            },
            flow: TcpFlow {
                packets,
                start_ns: 0,
                stop_ns: NEVER,
            },
            spread_ns: 100 * MS,
            gap_ns: None,
        }),
    }
}

/// TCP flows with sizes `size`, which arrive during the whole run.
pub fn short(from: usize, to: usize, arrivals: ArrivalProcess, size: Size) -> Group {
    Group {
        from,
        to,
        count: 1,
        source: Source::Short(ShortTcp {
            kind: TcpKind {
                config: Config::rfc(Variant::NewReno),
                packet_bytes: 500,
                ack_bytes: 40,
                traffic_class: TrafficClass::default(),
            },
            arrivals,
            from_ns: 0,
            to_ns: NEVER,
            extent: Extent::Packets(size),
        }),
    }
}

/// Datagrams of 500 bytes with these gaps, until `stop_ns`.
pub fn datagrams(from: usize, to: usize, count: u32, gaps: Distribution, stop_ns: u64) -> Group {
    Group {
        from,
        to,
        count,
        source: Source::Datagrams(Datagrams {
            bytes: 500,
            traffic_class: 0,
            arrivals: ArrivalProcess::Gaps(gaps),
            start_ns: 0,
            spread_ns: 100 * MS,
            stop_ns,
        }),
    }
}

pub fn plan(topology: Topology, groups: Vec<Group>, duration_ns: u64) -> Plan {
    Plan {
        topology,
        groups,
        markers: Vec::new(),
        classes: Vec::new(),
        duration_ns,
        warm_up_ns: 0,
        sample_ns: 10 * MS,
        windows: false,
        replications: 1,
        seed: 1,
    }
}

pub fn run(plan: &Plan) -> Replication {
    let mut runs = simulate(plan, Some(1), &Monitor::default()).unwrap();
    runs.pop().unwrap()
}

pub fn refusal(plan: &Plan) -> String {
    let NetworkError(what) = simulate(plan, Some(1), &Monitor::default()).unwrap_err();
    what
}
