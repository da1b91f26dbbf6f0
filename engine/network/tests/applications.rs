//! Applications over TCP, on an idle link: their times follow from sizes, rates and delays.

use crate::common::{MS, SECOND, link, plan, port, run, tcp, topology};
use sluice_network::{
    Completions, Distribution, Felt, Group, NEVER, Outside, Plan, Size, Source, Supplied, TcpKind,
    Topology, Video, Web, offered,
};

/// 500 bytes at 1 Mbit/s, and the way there and back of the last one: 10 ms each, and an ACK of 40
/// bytes.
const PACKET_NS: u64 = 4 * MS;
const BACK_NS: u64 = 20 * MS + 320_000;

fn one_link() -> Topology {
    let mut there = link(0, 1, 1_000_000, 10 * MS);
    there.port = Some(port("drop_tail", 10_000));
    topology(2, vec![there, link(1, 0, 1_000_000, 10 * MS)])
}

/// A sender that may send all at once.
fn kind() -> TcpKind {
    let Source::Long(long) = tcp(0, 1, 1, 1).source else {
        unreachable!()
    };
    let mut kind = long.kind;
    kind.config.delayed_ack_ns = None;
    kind.config.initial_window = 1000.0;
    kind
}

/// Returns what users of one application felt in the second half of a run.
fn felt(source: Source, duration_ns: u64) -> Felt {
    run(&one_application(source, duration_ns)).periods[1].classes[0]
        .felt
        .clone()
}

fn one_application(source: Source, duration_ns: u64) -> Plan {
    let group = Group {
        from: 0,
        to: 1,
        count: 1,
        source,
    };
    let mut plan = plan(one_link(), vec![group], duration_ns);
    plan.classes = vec![0];
    plan.warm_up_ns = duration_ns / 2;
    plan
}

#[test]
fn a_page_takes_its_objects_and_round_trips() {
    // one after the other; in turn, with a link that waits for requests; with one that never does
    for (page_objects, connections, size) in [(1, 1, 3), (6, 1, 3), (6, 2, 3), (12, 6, 5)] {
        let web = Web {
            kind: kind(),
            objects: Size::Constant(size),
            page_objects,
            connections,
            think: Distribution::Constant(50 * MS),
            start_ns: 0,
            spread_ns: 0,
            stop_ns: NEVER,
        };
        let felt = felt(Source::Web(web), 60 * SECOND);
        let object_ns = u64::from(size) * PACKET_NS;
        let others_ns = u64::from(connections - 1) * object_ns;
        let page_ns = if BACK_NS >= others_ns {
            u64::from(page_objects / connections) * (object_ns + BACK_NS) + others_ns
        } else {
            u64::from(page_objects) * object_ns + BACK_NS
        };
        let pages = felt.pages.count();
        // ends of objects are rounded down to nanoseconds
        let short_ns = u128::from(pages * page_ns) - felt.pages.sum();
        assert!(
            short_ns <= u128::from(pages * u64::from(page_objects)),
            "{short_ns}"
        );
        let expected = 30 * SECOND / (page_ns + 50 * MS);
        assert!(pages.abs_diff(expected) <= 1, "{pages}, {expected}");
    }
}

fn video(rates_bps: &[f64], stop_ns: u64) -> Video {
    Video {
        kind: kind(),
        rates_bps: rates_bps.into(),
        segment_ns: SECOND,
        buffer_ns: 20 * SECOND,
        start_ns: 0,
        spread_ns: 0,
        stop_ns,
    }
}

#[test]
fn a_video_of_less_than_the_link_never_stands_still() {
    let mut two = video(&[400e3, 800e3], NEVER);
    // room for ten segments, and for two: the highest rate can be had with both
    for buffer_s in [10, 2] {
        two.buffer_ns = buffer_s * SECOND;
        let felt = felt(Source::Video(two.clone()), 400 * SECOND);
        assert_eq!((felt.stalls, felt.stalled_ns), (0, 0));
        assert_eq!((felt.played_ns, felt.segments), (200 * SECOND, 200));
        assert_eq!((felt.rates_bps, felt.switches), (200.0 * 800e3, 0));
    }
}

#[test]
fn a_video_of_more_than_the_link_stands_still_at_each_segment() {
    // 300 packets of 4 ms
    let takes_ns = 300 * PACKET_NS + BACK_NS;
    let felt = felt(Source::Video(video(&[1.2e6], NEVER)), 400 * SECOND);
    let cycles = 200 * SECOND / takes_ns;
    assert!(felt.segments.abs_diff(cycles) <= 1);
    assert!(felt.stalls.abs_diff(felt.segments) <= 1);
    assert_eq!(felt.played_ns + felt.stalled_ns, 200 * SECOND);
    let stalled_ns = cycles * (takes_ns - SECOND);
    assert!(felt.stalled_ns.abs_diff(stalled_ns) <= SECOND, "{felt:?}");
}

#[test]
fn the_quality_of_a_video_is_about_the_links() {
    // segments of 0.6, 0.9 and 1.2 Mbit/s: the buffer swings between those about 1 Mbit/s, less the
    // round trip of each segment
    let felt = felt(
        Source::Video(video(&[0.3e6, 0.6e6, 0.9e6, 1.2e6], NEVER)),
        4000 * SECOND,
    );
    let (segments, mean) = (felt.segments as f64, felt.rates_bps / felt.segments as f64);
    // in the mean the buffer stays as it is: a segment takes as long as it plays
    let expected = 1e6 * (1.0 - BACK_NS as f64 / 1e9);
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean}, {expected}");
    assert!((segments - 2000.0).abs() < 20.0 && felt.stalls == 0);
    assert!(
        felt.switches > 10 && felt.switches < felt.segments,
        "{felt:?}"
    );
}

#[test]
fn after_its_last_segment_a_video_plays_out_and_does_not_stall() {
    let felt = felt(Source::Video(video(&[500e3], 60 * SECOND)), 110 * SECOND);
    // 20 s in the buffer at 60 s, give or take a segment
    assert!(felt.played_ns.abs_diff(25 * SECOND) <= SECOND, "{felt:?}");
    assert_eq!(felt.stalled_ns, 0);
}

#[test]
fn an_application_of_a_limited_rate_sends_at_that_rate() {
    let mut group = tcp(0, 1, 1, u32::MAX);
    let Source::Long(long) = &mut group.source else {
        unreachable!()
    };
    long.kind = kind();
    long.spread_ns = 0;
    // 400 kbit/s of 1 Mbit/s, until 15 s
    long.gap_ns = Some(10.0 * MS as f64);
    long.flow.stop_ns = 15 * SECOND;
    let mut sized = group.clone();
    let run = |group: Group| run(&plan(one_link(), vec![group], 20 * SECOND));
    let endless = run(group);
    assert_eq!(endless.tcp[0].acknowledged, 1500);
    let port = &endless.periods[0].ports[0];
    assert_eq!(port.queue_ns[0], 20 * SECOND);
    // the last packet leaves at 14.99 s and is acknowledged a round trip later; then it has stopped
    let stopped_ns = 15 * SECOND + BACK_NS + PACKET_NS - 10 * MS;
    assert!(endless.tcp[0].completion_ns.unwrap().abs_diff(stopped_ns) <= 1);

    let Source::Long(long) = &mut sized.source else {
        unreachable!()
    };
    long.flow.packets = 300;
    let sized = run(sized);
    assert_eq!(sized.tcp[0].acknowledged, 300);
    let last_ns = 299 * 10 * MS + PACKET_NS + BACK_NS;
    assert!(sized.tcp[0].completion_ns.unwrap().abs_diff(last_ns) <= 1);
}

#[test]
fn what_an_application_gave_before_it_stopped_is_sent() {
    let mut group = tcp(0, 1, 1, u32::MAX);
    let Source::Long(long) = &mut group.source else {
        unreachable!()
    };
    long.kind = kind();
    // the link sends a packet each 4 ms; a window of ten packets keeps it busy
    long.kind.config.receiver_window = 10;
    long.spread_ns = 0;
    long.gap_ns = Some(2.0 * MS as f64);
    long.flow.stop_ns = 5 * SECOND;
    let outcome = run(&plan(one_link(), vec![group], 20 * SECOND));
    assert_eq!(outcome.tcp[0].acknowledged, 2500);
    let sent_ns = 2500 * PACKET_NS + BACK_NS;
    assert!(outcome.tcp[0].completion_ns.unwrap().abs_diff(sent_ns) <= BACK_NS);
}

#[test]
fn outside_of_the_simulator_users_and_players_do_the_same() {
    let start_ns = 7 * MS;
    let web = Source::Web(Web {
        kind: kind(),
        objects: Size::Geometric(5.0),
        page_objects: 4,
        connections: 1,
        think: Distribution::Exponential(50 * MS),
        start_ns,
        spread_ns: 40 * MS,
        stop_ns: NEVER,
    });
    let video = Source::Video(Video {
        kind: kind(),
        rates_bps: vec![0.2e6, 0.4e6, 0.6e6],
        segment_ns: SECOND,
        buffer_ns: 5 * SECOND,
        start_ns,
        spread_ns: 0,
        stop_ns: NEVER,
    });
    for source in [web, video] {
        let plan = one_application(source, 60 * SECOND);
        let mut outside = Outside::new(&plan, 0).unwrap();
        let first = offered(&plan, 0, 0).unwrap().tcp[0];
        assert_eq!(first.supplied, Supplied::Objects);
        let (now_ns, packets) = (first.start_ns, first.packets.unwrap());
        let mut last = outside.take(0, false);
        // on an idle link: a time, and whether it is that at which the next object is sent
        let mut next = (now_ns + u64::from(packets) * PACKET_NS + BACK_NS, false);
        for cut_ns in [plan.warm_up_ns, plan.duration_ns] {
            while next.0 < cut_ns {
                next = if next.1 {
                    let packets = outside.supply(0, next.0).unwrap().packets;
                    (next.0 + u64::from(packets) * PACKET_NS + BACK_NS, false)
                } else {
                    let (due_ns, flows) = outside.arrived(0, next.0).unwrap().unwrap();
                    assert_eq!(flows, 0..1);
                    (due_ns, true)
                };
            }
            last = outside.take(cut_ns, cut_ns == plan.duration_ns);
        }
        let (found, ours) = (&last.classes[0], &run(&plan).periods[1].classes[0]);
        let counts = |felt: &Felt| {
            (
                felt.pages.count(),
                felt.segments,
                felt.switches,
                felt.stalls,
            )
        };
        assert_eq!(counts(&found.felt), counts(&ours.felt));
        assert_eq!(found.felt.rates_bps, ours.felt.rates_bps);
        for (found, ours) in found.completions.iter().zip(&ours.completions) {
            let sizes = |of: &Completions| (of.times.count(), of.bytes, of.unfinished_bytes);
            assert_eq!(sizes(found), sizes(ours));
        }
        // the simulation's clock has finer ticks
        let apart_ns = found.felt.pages.sum().abs_diff(ours.felt.pages.sum());
        assert!(
            apart_ns <= 10 * u128::from(ours.felt.pages.count()),
            "{apart_ns}"
        );
        assert!(found.felt.played_ns.abs_diff(ours.felt.played_ns) < 1000);
        assert!(ours.felt.pages.count() + ours.felt.segments > 20);
    }
}
