//! A reload keeps what a session of the network world keeps, and decides as it does from then on.
//!
//! All times are multiples of 2^-9 s, which no clock rounds; reloads are between them.

use std::sync::Arc;

use rand::Rng;
use sluice_aqm::{Aqm, AqmSource, NEVER, Verdict};
use sluice_gate::{
    cli::LinkOptions,
    packet::Held,
    router::link::{Link, Outlet},
    settings::Settings,
};
use sluice_link::Clock;
use sluice_network::{
    self as network, Group, Monitor, Plan, PortPlan, Recording, Replay, Session, Source, Topology,
};
use sluice_queue::Observer;
use sluice_random::stream;

const PACKETS: usize = 3000;
/// 2^-9 s, ns.
const SLOT_NS: u64 = 1_953_125;
/// A packet of 250 bytes takes a slot.
const RATE_BPS: u64 = 250 * 8 * 512;
const RELOADS: usize = 6;

/// Times, bytes and flows of packets at about the link's rate.
fn packets() -> Vec<(u64, u32, u32)> {
    let random = &mut stream(1, "arrivals", 0);
    let mut slot = 1;
    let mut one = |_| {
        slot += random.next_u64() % 5;
        let bytes = 125 << (random.next_u64() % 3);
        (slot * SLOT_NS, bytes as u32, (random.next_u64() % 7) as u32)
    };
    (0..PACKETS).map(&mut one).collect()
}

fn settings(aqm: &str, limit: u32, rate_bps: u64) -> Settings {
    Settings::read(&LinkOptions {
        aqm: Some(aqm.into()),
        rate: Some(rate_bps.to_string()),
        limit: Some(limit.to_string()),
        ..LinkOptions::default()
    })
    .unwrap()
}

struct Lost(usize);

impl Observer<Held> for Lost {
    fn lost(&mut self, _: Held, _: Verdict) {
        self.0 += 1;
    }
}

impl Outlet<Held> for Lost {
    fn released(&mut self, _: u64, _: Held) {}

    fn lost_on_wire(&mut self, _: Held) {}
}

/// What waits, what was decided, and the AQM's average and probability if there is one AQM.
type Seen = (usize, u64, [u64; Verdict::COUNT], Vec<Option<f64>>);

/// When reload `number` comes: between the packets.
fn reload_ns(packets: &[(u64, u32, u32)], number: usize) -> u64 {
    packets[(number + 1) * PACKETS / (RELOADS + 1)].0 + SLOT_NS / 3
}

fn in_gate(packets: &[(u64, u32, u32)], all: &[Settings]) -> Vec<Seen> {
    let random = stream(all[0].seed, "aqm 0", 0);
    let mut link = Link::new(all[0].forward.clone(), Clock::endless(), random);
    let mut outlet = Lost(0);
    let mut seen = Vec::new();
    let mut coming = packets.iter().enumerate().peekable();
    for (number, next) in all[1..].iter().chain([&all[0]]).enumerate() {
        let until_ns = reload_ns(packets, number);
        while let Some((id, (at_ns, bytes, flow))) =
            coming.next_if(|(_, (at_ns, ..))| *at_ns < until_ns)
        {
            let packet = Held {
                id: id as u32,
                bytes: *bytes,
                flow_hash: sluice_queue::datagram_flow_hash(*flow),
                ..Held::default()
            };
            link.arrive(*at_ns, packet, &mut outlet);
        }
        link.advance(until_ns, &mut outlet);
        let observe = |link: &mut Link| {
            let known = link.aqm();
            let known = known.map(|aqm| vec![aqm.average(), aqm.probability()]);
            let verdicts = link.measures(until_ns).verdicts;
            (
                link.packets(),
                link.bytes(),
                verdicts,
                known.unwrap_or_default(),
            )
        };
        seen.push(observe(&mut link));
        link.change(until_ns, next.forward.clone());
        seen.push(observe(&mut link));
    }
    seen
}

fn in_network(packets: &[(u64, u32, u32)], all: &[Settings]) -> Vec<Seen> {
    let port = |settings: &Settings| PortPlan {
        discipline: settings
            .forward
            .discipline
            .spec
            .on(&settings.forward.buffer),
        scheduler: settings.forward.in_lanes().cloned(),
        aqm: AqmSource::Configured(settings.forward.discipline.aqm.clone()),
    };
    let column = |of: fn(&(u64, u32, u32)) -> u32| packets.iter().map(of).collect::<Vec<_>>();
    let recording = Recording::new(
        &packets.iter().map(|packet| packet.0).collect::<Vec<_>>(),
        &column(|packet| packet.1),
        &column(|packet| packet.2),
        &vec![0; PACKETS],
    );
    let link = network::Link {
        from: 0,
        to: 1,
        rate_bps: all[0].forward.rate_bps,
        service: None,
        wire: None,
        delay_ns: 0,
        port: Some(port(&all[0])),
    };
    let plan = Plan {
        topology: Topology {
            nodes: ["left", "right"].map(String::from).into(),
            links: vec![link],
        },
        markers: Vec::new(),
        classes: Vec::new(),
        groups: vec![Group {
            from: 0,
            to: 1,
            count: 1,
            source: Source::Replay(Replay {
                recording: Arc::new(recording.unwrap()),
                start_ns: 0,
                spread_ns: 0,
                stop_ns: NEVER,
            }),
        }],
        duration_ns: packets[PACKETS - 1].0 + 1_000_000_000,
        warm_up_ns: 0,
        sample_ns: 1_000_000_000,
        windows: false,
        replications: 1,
        seed: all[0].seed,
    };
    let mut session = Session::new(plan).unwrap();
    let mut seen = Vec::new();
    for (number, next) in all[1..].iter().chain([&all[0]]).enumerate() {
        let until_ns = reload_ns(packets, number);
        session.advance(until_ns, &Monitor::default()).unwrap();
        let observe = |session: &Session| {
            let queue = session.observe().ports[0].queue.clone();
            let known = match &queue.lanes[..] {
                [lane] => vec![lane.average, lane.probability],
                _ => Vec::new(),
            };
            (queue.packets as usize, queue.bytes, queue.verdicts, known)
        };
        seen.push(observe(&session));
        session.retune(0, &port(next)).unwrap();
        session.set_rate(0, next.forward.rate_bps).unwrap();
        seen.push(observe(&session));
    }
    seen
}

/// Reloads of each kind: other parameters, another rate, another limit, another AQM, another
/// scheduler.
#[test]
fn reloads_decide_as_retuned_sessions_do() {
    let packets = packets();
    for aqm in ["red", "pi", "pie", "codel", "fred", "choke", "blue", "sred"] {
        for scheduler in ["", "scheduler=drr"] {
            let with = |aqm: &str, params: &str| match (scheduler, params) {
                ("", "") => aqm.to_owned(),
                ("", params) => format!("{aqm}:{params}"),
                (scheduler, "") => format!("{aqm}:{scheduler}"),
                (scheduler, params) => format!("{aqm}:{params},{scheduler}"),
            };
            let other = match aqm {
                "red" | "choke" => "min_th=2,max_th=9",
                "pi" => "q_ref=5,sampling_interval=0.05",
                "pie" => "target=2ms,t_update=0.004",
                "codel" => "target=20ms",
                "fred" => "min_q=1",
                "blue" => "d1=0.1",
                _ => "max_p=0.4",
            };
            let all = [
                settings(&with(aqm, ""), 40, RATE_BPS),
                settings(&with(aqm, other), 40, RATE_BPS),
                settings(&with(aqm, ""), 40, RATE_BPS / 2),
                settings(&with(aqm, ""), 10, RATE_BPS),
                settings(&with("drop_tail", ""), 40, RATE_BPS),
                settings(&format!("{aqm}:scheduler=fq"), 40, RATE_BPS / 2),
            ];
            let gate = in_gate(&packets, &all);
            assert_eq!(gate, in_network(&packets, &all), "{aqm} {scheduler}");
            assert!(
                gate.iter().any(|(waiting, ..)| *waiting > 10),
                "{aqm}: a queue"
            );
            for pair in gate.chunks(2) {
                let [before, after] = pair else {
                    unreachable!("two looks at each reload");
                };
                assert_eq!((before.0, before.1, before.2), (after.0, after.1, after.2));
            }
            // the first reload gives the same AQM other parameters
            if let ([average, probability], [average_after, probability_after]) =
                (&gate[0].3[..], &gate[1].3[..])
            {
                assert_eq!(average, average_after, "{aqm}");
                let is_state = ["pi", "pie", "blue"].contains(&aqm);
                assert!(!is_state || probability == probability_after, "{aqm}");
            }
        }
    }
}
