//! DCTCP over CoDel's step marking, on the network of ns-3's `examples/tcp/tcp-validation.cc`: one
//! flow, a link of 50 Mbit/s, a base round-trip time of 10 ms, marks above a sojourn of 1 ms, and a
//! ping every 100 ms.
//!
//! The throughput is in the band that ns-3 states for it, 48 to 49 Mbit/s of data in every 200 ms.
//! Alpha is not in ns-3's band of .045 to .095: `docs/background/ns2.md` says why. Here alpha is
//! compared with DCTCP's own fixed point, and with the packets on the wire.

use crate::common::{MS, SECOND, datagrams, link, plan, port, tcp, topology};
use sluice_aqm::{Configured, Value, find};
use sluice_network::{
    Distribution, Event, Kind, Monitor, Plan, Replication, Source, Step, Trace, simulate_traced,
};
use sluice_tcp::{Config, CongestionControl, Variant};

/// 1448 bytes of data, 32 of TCP, 20 of IP and 2 of PPP.
const PACKET_BYTES: u16 = 1502;
const DATA_BYTES: u64 = 1448;
const RATE_BPS: u64 = 50_000_000;
const BOTTLENECK: usize = 0;
const FROM_SENDER: usize = 4;
const TO_SENDER: usize = 5;

fn validation(delayed: bool) -> Plan {
    let fast = |from, to| link(from, to, 1_000_000_000, 1000);
    let mut bottleneck = link(0, 1, RATE_BPS, 5 * MS);
    let step = [("ce_threshold".to_owned(), Value::Number(0.001))];
    let before = bottleneck.port.insert(port("codel", 1000));
    before.aqm = Configured::new(find("codel").unwrap(), &step)
        .unwrap()
        .into();
    before.discipline.ecn = true;
    let links = vec![
        bottleneck,
        link(1, 0, 1_000_000_000, 5 * MS),
        fast(1, 3),
        fast(3, 1),
        fast(2, 0),
        fast(0, 2),
        fast(4, 0),
        fast(0, 4),
    ];
    let mut flow = tcp(2, 3, 1, u32::MAX);
    if let Source::Long(long) = &mut flow.source {
        long.kind.config = Config {
            congestion_control: CongestionControl::Dctcp,
            ecn: true,
            delayed_ack_ns: delayed.then_some(200 * MS),
            ..Config::rfc(Variant::Sack)
        };
        long.kind.packet_bytes = PACKET_BYTES;
        long.kind.ack_bytes = 54;
    }
    let pings = datagrams(4, 3, 1, Distribution::Constant(100 * MS), 20 * SECOND);
    Plan {
        sample_ns: 200 * MS,
        ..plan(topology(5, links), vec![flow, pings], 20 * SECOND)
    }
}

/// Packets seen at the sender and at the bottleneck.
#[derive(Default)]
struct Observed {
    /// Data packets sent: time (ns), sequence number.
    sent: Vec<(u64, u32)>,
    /// ACKs received: time (ns), next sequence number expected, true if it echoes a mark.
    acks: Vec<(u64, u32, bool)>,
    /// Data packets through the bottleneck once the flow has settled, and how many are marked.
    packets: u64,
    marked: u64,
}

const SETTLED_NS: u64 = 2 * SECOND;

impl Trace for Observed {
    fn begin(&mut self, _tcp_groups: &[u32], _datagram_groups: &[u32]) {}

    fn note(&mut self, _now_ns: u64, event: Event) {
        let packet = event.packet;
        match (packet.kind, event.step, event.link) {
            (Kind::Data, Step::Arrive, FROM_SENDER) => self.sent.push((event.at_ns, packet.number)),
            (Kind::Ack, Step::Receive, TO_SENDER) => {
                let echo = packet.echoes_mark();
                self.acks.push((event.at_ns, packet.number, echo));
            }
            (Kind::Data, Step::Depart, BOTTLENECK) if event.at_ns > SETTLED_NS => {
                self.packets += 1;
                self.marked += u64::from(packet.ecn().is_marked());
            }
            _ => {}
        }
    }
}

/// Returns the mean of alpha once the flow has settled, from the packets alone (RFC 8257, section
/// 3.3).
fn alpha(seen: &Observed) -> f64 {
    let (mut alpha, mut end, mut una, mut next, mut acked, mut marked) = (1.0, 0, 0, 0, 0, 0);
    let (mut sum, mut windows) = (0.0, 0.0);
    let mut sent = seen.sent.iter().peekable();
    for &(at_ns, number, echo) in &seen.acks {
        while let Some((_, seq)) = sent.next_if(|(sent_ns, _)| *sent_ns < at_ns) {
            next = next.max(seq + 1);
        }
        acked += number - una;
        marked += if echo { number - una } else { 0 };
        una = number;
        if una > end {
            alpha = alpha * 15.0 / 16.0 + f64::from(marked) / f64::from(acked) / 16.0;
            (end, acked, marked) = (next, 0, 0);
            if at_ns > SETTLED_NS {
                sum += alpha;
                windows += 1.0;
            }
        }
    }
    sum / windows
}

fn run(delayed: bool) -> (Observed, Replication) {
    let mut seen = Observed::default();
    let run = simulate_traced(&validation(delayed), &Monitor::default(), &mut seen);
    (seen, run.unwrap().unwrap())
}

#[test]
fn its_throughput_is_within_ns3s_band() {
    for delayed in [false, true] {
        let (_, run) = run(delayed);
        assert_eq!(run.tcp[0].retransmissions, 0);
        // ns-3 checks from 0.6 s after the start on
        let samples = &run.flows.acknowledged[3..];
        for pair in samples.windows(2) {
            let bps = (pair[1] - pair[0]) * 8 * DATA_BYTES * 5;
            assert!((48_000_000..=49_000_000).contains(&bps), "{delayed}: {bps}");
        }
    }
}

#[test]
fn alpha_is_the_share_of_marked_packets() {
    for delayed in [false, true] {
        let (seen, _) = run(delayed);
        let share = seen.marked as f64 / seen.packets as f64;
        // two differences are allowed: alpha averages over 16 windows, of the 1600 that are
        // averaged here; and alpha weighs windows equally, not packets, while windows differ in
        // size by the reduction, alpha / 2
        let off = (alpha(&seen) / share - 1.0).abs();
        assert!(
            off < 16.0 / 1600.0 + share / 2.0 * share,
            "{delayed}: {off}"
        );
    }
}

#[test]
fn alpha_is_at_its_fixed_point() {
    // The window W when the first packet is marked fills the path (10 ms, four microseconds, twice
    // a transmission of 12 us) and the queue (1 ms). alpha = sqrt(2 / W) is exact to one round trip
    // in a cycle of alpha W / 2 (Alizadeh et al. 2010, section 3.3). With delayed ACKs, packets
    // come in pairs, and only the second of a pair is marked: half as many marks,
    // alpha = sqrt(1 / W).
    let packets_per_s = RATE_BPS as f64 / (8.0 * f64::from(PACKET_BYTES));
    let window = (0.011_028 * packets_per_s).floor() + 1.0;
    for (delayed, expected) in [(false, 2.0), (true, 1.0)] {
        let expected: f64 = (expected / window).sqrt();
        let found = alpha(&run(delayed).0);
        let off = (found / expected - 1.0).abs();
        assert!(
            off < 2.0 / (expected * window),
            "{delayed}: {found}, not {expected}"
        );
    }
}
