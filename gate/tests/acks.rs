//! CAKE's filter of ACKs removes the same ACKs in the gate as in the network world, for the same arrivals:
//! the gate reads them from the headers of real packets.

use std::path::Path;

use sluice_aqm::{NEVER, Verdict};
use sluice_capture::ip_packet;
use sluice_gate::{
    packet::Held,
    router::link::{Link, Outlet},
    settings::{ConfiguredDiscipline, LinkSettings, Settings},
};
use sluice_link::Clock;
use sluice_network::{
    ArrivalProcess, Datagrams, Distribution, Event, Group, Kind, LongTcp, Monitor, Packet, Plan,
    PortPlan, Source, Step, TcpFlow, TcpKind, Topology, Trace, TrafficClass,
};
use sluice_queue::{Observer, hash_of};
use sluice_random::stream;
use sluice_scenario::{Discipline, Fields, Queue, Table, Value};
use sluice_tcp::{Config, Variant};

const MS: u64 = 1_000_000;
const DURATION_NS: u64 = 20_000 * MS;
/// Of the link with the ACKs and of the link with the data. No arrival falls within a nanosecond of the end of
/// a transmission, which two clocks would round to different sides.
const RATES_BPS: [u64; 2] = [199_873, 10_000_019];
const FLOWS: u32 = 3;

/// What came to the link with the ACKs, and which of it was lost, by the number of the arrival.
#[derive(Default)]
struct Seen {
    came: Vec<Event>,
    lost: Vec<u32>,
}

impl Trace for Seen {
    fn begin(&mut self, _: &[u32], _: &[u32]) {}

    fn note(&mut self, _: u64, event: Event) {
        let number = |id| self.came.iter().rposition(|came| came.id == id);
        match event.step {
            Step::Arrive if event.link == 0 => self.came.push(event),
            Step::Drop if event.link == 0 => self.lost.push(number(event.id).unwrap() as u32),
            _ => {}
        }
    }
}

fn discipline(aqm: &str, ack_filter: Option<&str>) -> Discipline {
    let text = |text: &str| Value::Text(text.to_owned());
    let mut rows = vec![("aqm".to_owned(), text(aqm))];
    if let Some(ack_filter) = ack_filter {
        let rows_of_params = vec![("ack_filter".to_owned(), text(ack_filter))];
        let params = Fields {
            of: "",
            rows: rows_of_params,
        };
        rows.push(("params".to_owned(), Value::Table(params)));
        rows.push(("victim".to_owned(), text("front")));
    }
    let given = Value::Table(Fields { of: "", rows });
    sluice_scenario::read(&given, Path::new("")).unwrap()
}

fn settings(ack_filter: &str) -> Settings {
    let discipline = ConfiguredDiscipline::of(discipline("cake", Some(ack_filter))).unwrap();
    Settings {
        forward: LinkSettings {
            rate_bps: RATES_BPS[0],
            varying: None,
            wire: None,
            delay_ns: 0,
            overhead_bytes: 0,
            buffer: Queue {
                limit: 60,
                ..Queue::usual()
            },
            discipline,
        },
        reverse: None,
        seed: 7,
        streams: [0, 1],
    }
}

/// Downloads with losses and marks, whose ACKs share their link with datagrams.
fn plan(settings: &Settings) -> Plan {
    let LinkSettings {
        buffer, discipline, ..
    } = &settings.forward;
    let data = self::discipline("codel", None);
    let buffer_of_data = Queue {
        limit: 25,
        ecn: true,
        ..Queue::usual()
    };
    let ports = [
        PortPlan {
            discipline: discipline.spec.on(buffer),
            scheduler: discipline.in_lanes.clone(),
            aqm: discipline.spec.source().unwrap(),
        },
        PortPlan {
            discipline: data.on(&buffer_of_data),
            scheduler: None,
            aqm: data.source().unwrap(),
        },
    ];
    let links = ports.into_iter().enumerate();
    let links = links.map(|(from, port)| sluice_network::Link {
        from,
        to: 1 - from,
        rate_bps: RATES_BPS[from],
        service: None,
        wire: None,
        delay_ns: 10 * MS,
        port: Some(port),
    });
    let tcp = |ecn| {
        let kind = TcpKind {
            config: Config {
                ecn,
                ..Config::rfc(Variant::Sack)
            },
            packet_bytes: 1000,
            ack_bytes: 40,
            traffic_class: TrafficClass::default(),
        };
        let flow = TcpFlow {
            packets: u32::MAX,
            start_ns: 0,
            stop_ns: NEVER,
        };
        Group {
            from: 1,
            to: 0,
            count: FLOWS,
            source: Source::Long(LongTcp {
                kind,
                flow,
                spread_ns: 100 * MS,
                gap_ns: None,
            }),
        }
    };
    let datagrams = Group {
        from: 0,
        to: 1,
        count: 2,
        source: Source::Datagrams(Datagrams {
            bytes: 500,
            traffic_class: 0,
            arrivals: ArrivalProcess::Gaps(Distribution::Exponential(60 * MS)),
            start_ns: 0,
            spread_ns: 0,
            stop_ns: NEVER,
        }),
    };
    Plan {
        topology: Topology {
            nodes: vec!["home".into(), "server".into()],
            links: links.collect(),
        },
        markers: Vec::new(),
        classes: Vec::new(),
        groups: vec![tcp(false), tcp(true), datagrams],
        duration_ns: DURATION_NS,
        warm_up_ns: 0,
        sample_ns: 1000 * MS,
        windows: false,
        replications: 1,
        seed: settings.seed,
    }
}

/// Returns the packet as it would be on a wire: IPv4 or IPv6, by flow.
fn on_wire(event: &Event) -> Vec<u8> {
    let Packet { flow, number, .. } = event.packet;
    let payload = if event.packet.kind == Kind::Ack {
        let blocks = event.blocks.iter().filter(|block| !block.is_empty());
        let blocks: Vec<u8> = blocks
            .flat_map(|block| [block.start, block.end])
            .flat_map(u32::to_be_bytes)
            .collect();
        let mut options = Vec::new();
        if !blocks.is_empty() {
            options.extend([1, 1, 5, 2 + blocks.len() as u8]);
            options.extend(blocks);
        }
        let ace = event.packet.ace();
        let flags = 0x10 | ace << 6 | u8::from(event.packet.is_syn()) << 1;
        let mut tcp = vec![0, 80, 0x20, flow as u8, 0, 0, 0, 1];
        tcp.extend(number.to_be_bytes());
        tcp.extend([(5 + options.len() as u8 / 4) << 4 | ace >> 2, flags]);
        tcp.extend([1, 0, 0, 0, 0, 0]);
        tcp.extend(options);
        tcp
    } else {
        vec![0, 80, 0x20, flow as u8, 1, 244, 0, 0]
    };
    let protocol = if event.packet.kind == Kind::Ack {
        6
    } else {
        17
    };
    let bytes = payload.len() as u16;
    let mut packet = if flow % 2 == 0 {
        let mut header = vec![0x45, 0];
        header.extend((bytes + 20).to_be_bytes());
        header.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        header
    } else {
        let mut header = vec![0x60, 0, 0, 0];
        header.extend(bytes.to_be_bytes());
        header.extend([protocol, 64]);
        header.extend([0xfd; 32]);
        header
    };
    packet.extend(payload);
    packet
}

#[derive(Default)]
struct Lost(Vec<u32>);

impl Observer<Held> for Lost {
    fn lost(&mut self, packet: Held, _: Verdict) {
        self.0.push(packet.id);
    }
}

impl Outlet<Held> for Lost {
    fn released(&mut self, _: u64, _: Held) {}

    fn lost_on_wire(&mut self, _: Held) {}
}

/// Returns what the gate loses of the same arrivals, whose length and flow are those of the network world.
fn in_gate(settings: &Settings, came: &[Event]) -> Vec<u32> {
    let random = stream(settings.seed, "aqm 0", 0);
    let clock = Clock::new(DURATION_NS, 63).unwrap();
    let mut link = Link::new(settings.forward.clone(), clock, random);
    let mut lost = Lost::default();
    for (number, event) in came.iter().enumerate() {
        let data = on_wire(event);
        let read = ip_packet(&data, data.len() as u32).unwrap();
        let packet = Held {
            flow_hash: hash_of(u64::from(event.packet.flow) << 2 | event.packet.kind as u64),
            hosts: [0, 0],
            ..Held::arriving(number as u32, event.packet.bytes.into(), Some(&read))
        };
        link.arrive(event.at_ns, packet, &mut lost);
    }
    link.advance(DURATION_NS - 1, &mut lost);
    lost.0
}

#[test]
fn the_same_acks_are_removed_as_in_the_network_world() {
    let mut removed = Vec::new();
    for ack_filter in ["off", "on", "aggressive"] {
        let settings = settings(ack_filter);
        let mut seen = Seen::default();
        let plan = plan(&settings);
        sluice_network::simulate_traced(&plan, &Monitor::default(), &mut seen).unwrap();
        let is_ack = |number: &&u32| seen.came[**number as usize].packet.kind == Kind::Ack;
        assert_eq!(in_gate(&settings, &seen.came), seen.lost, "{ack_filter}");
        removed.push(seen.lost.iter().filter(is_ack).count());
        // blocks and echoes are there to be read, and both versions of IP
        let blocks = seen.came.iter().filter(|event| !event.blocks[0].is_empty());
        let echoes = seen.came.iter().filter(|event| event.packet.ace() & 1 == 1);
        assert!(blocks.count() > 100 && echoes.count() > 100, "{ack_filter}");
    }
    println!("ACKs lost with ack_filter off, on, aggressive: {removed:?}");
    assert!(removed[1] > 1000 && removed[2] > removed[1], "{removed:?}");
}
