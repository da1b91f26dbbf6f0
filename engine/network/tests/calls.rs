//! Video calls: on an idle link their delays follow from sizes and pace; losses and marks are seen.

use sluice_network::{
    Call, ClassCounts, Distribution, Feedback, Felt, Group, Kind, Loss, Monitor, NEVER, Outside,
    Plan, Session, Source, Topology, WirePlan,
};
use sluice_scream::Config;

use crate::common::{MS, SECOND, link, plan, port, run, topology};

const FRAME_NS: u64 = 40 * MS;

/// Frames of 6000 bytes at the greatest rate: five packets of 1200.
fn call() -> Call {
    Call {
        config: Config {
            least_bps: 200e3,
            most_bps: 1.2e6,
            frame_ns: FRAME_NS,
            packet_bytes: 1200,
            l4s: false,
        },
        scale: 0.0,
        traffic_class: 0,
        feedback_class: 0,
        start_ns: 0,
        spread_ns: 0,
        stop_ns: NEVER,
    }
}

fn one_link(rate_bps: u64) -> Topology {
    let mut there = link(0, 1, rate_bps, 10 * MS);
    there.port = Some(port("drop_tail", 10_000));
    topology(2, vec![there, link(1, 0, rate_bps, 10 * MS)])
}

fn of_one_call(topology: Topology, call: Call, duration_ns: u64) -> Plan {
    let group = Group {
        from: 0,
        to: 1,
        count: 1,
        source: Source::Call(call),
    };
    let mut plan = plan(topology, vec![group], duration_ns);
    plan.classes = vec![0];
    plan
}

/// Returns the counts of the second half of a run.
fn half(topology: Topology, call: Call, duration_ns: u64) -> ClassCounts {
    let mut plan = of_one_call(topology, call, duration_ns);
    plan.warm_up_ns = duration_ns / 2;
    run(&plan).periods[1].classes[0].clone()
}

#[test]
fn with_room_its_rate_is_the_greatest_and_frames_take_their_pace() {
    let counts = half(one_link(100_000_000), call(), 60 * SECOND);
    let felt = &counts.felt;
    // near its greatest rate it paces at 1.5 x 4 times of it
    let gap_ns = (1200.0 * 8.0 / 7.2e6 * 1e9) as u64;
    let frame_ns = 4 * gap_ns + 96_000 + 10 * MS;
    assert_eq!(felt.frames.count(), 750);
    // times of packets are rounded down to nanoseconds
    assert!(felt.frames.sum().abs_diff(u128::from(750 * frame_ns)) < 750 * 2);
    assert_eq!(felt.rates_bps, 750.0 * 1.2e6);
    assert_eq!((felt.stalls, felt.stalled_ns), (0, 0));
    assert!(felt.played_ns.abs_diff(30 * SECOND) <= 2 * FRAME_NS);
    assert_eq!(counts.counts.datagrams_received, 750 * 5);
    let way_ns = 3750 * u128::from(10_096_000_u64);
    assert!(counts.reception.delay.sum().abs_diff(way_ns) < 3750);
}

#[test]
fn what_is_seen_of_a_call_while_it_runs_has_its_bytes() {
    let group = Group {
        from: 0,
        to: 1,
        count: 1,
        source: Source::Call(call()),
    };
    let plan = plan(one_link(100_000_000), vec![group], 40 * SECOND);
    let (mut session, monitor) = (Session::new(plan).unwrap(), Monitor::default());
    let mut seen = |at_ns| {
        session.advance(at_ns, &monitor).unwrap();
        let observation = session.observe();
        let group = &observation.groups[0];
        (group.delivered, group.delivered_bytes.unwrap())
    };
    let [from, to] = [20, 30].map(|at| seen(at * SECOND));
    // 25 frames of 6000 bytes a second
    assert_eq!((to.0 - from.0, to.1 - from.1), (250 * 5, 250 * 6000));
}

#[test]
fn on_a_link_of_less_it_takes_nearly_all_and_keeps_the_queue_short() {
    let mut greedy = call();
    greedy.config.most_bps = 50e6;
    for rate_bps in [2_000_000, 10_000_000] {
        let counts = half(one_link(rate_bps), greedy.clone(), 120 * SECOND);
        let share = 8.0 * counts.reception.datagram_bytes as f64 / (60.0 * rate_bps as f64);
        // it aims below what window and round trip allow, which the queue gives back
        assert!((0.85..=1.0).contains(&share), "{rate_bps}: {share}");
        let delay = &counts.reception.delay;
        let queue_ns = delay.sum() as f64 / delay.count() as f64 - 10e6;
        // it shrinks from 30 ms on, and at 60 ms by half
        assert!((2e6..=45e6).contains(&queue_ns), "{rate_bps}: {queue_ns}");
        assert_eq!(counts.felt.stalls, 0);
    }
}

fn losing(share: f64) -> WirePlan {
    WirePlan {
        loss: Some(Loss::Bernoulli(share)),
        jitter: None,
        jitter_share: 1.0,
        reorder: false,
        bursts: None,
        tampers: None,
    }
}

#[test]
fn frames_with_a_lost_packet_are_not_shown() {
    let mut lossy = one_link(100_000_000);
    lossy.links[0].wire = Some(losing(0.02));
    let counts = half(lossy, call(), 400 * SECOND);
    let felt = &counts.felt;
    let missing = 5000 - felt.frames.count();
    let lost = counts.reception.datagrams_expected - counts.reception.datagrams;
    // losses make the rate fall, so that frames have between one and five packets
    assert!(
        lost > 60 && missing > 50 && missing <= lost,
        "{missing} {lost}"
    );
    let mean_bps = felt.rates_bps / felt.frames.count() as f64;
    assert!((200e3..1.2e6).contains(&mean_bps), "{mean_bps}");
    // one frame in a few dozen misses, never four in turn
    assert_eq!(felt.stalls, 0);
}

#[test]
fn without_packets_the_picture_freezes_and_without_feedback_the_call_goes_on() {
    let felt = |wires: [f64; 2]| -> Felt {
        let mut dark = one_link(100_000_000);
        for (link, share) in dark.links.iter_mut().zip(wires) {
            link.wire = Some(losing(share));
        }
        half(dark, call(), 60 * SECOND).felt
    };
    // nothing comes: no picture has begun
    let dark = felt([1.0, 0.0]);
    assert_eq!(
        (dark.frames.count(), dark.played_ns, dark.stalled_ns),
        (0, 0, 0)
    );
    // few frames are whole: what is between them is frozen
    let torn = felt([0.7, 0.0]);
    assert!(torn.stalls > 1 && torn.stalled_ns > 20 * SECOND);
    // no feedback: frames of a kilobyte at the least rate, in spurts of three least windows with a
    // silence of a second between; within a spurt packets are 27 ms apart, and the picture moves
    let deaf = felt([0.0, 1.0]);
    let (frames, spurt_ns) = (deaf.frames.count(), 8 * 26_666_667);
    assert_eq!(deaf.rates_bps / frames as f64, 200e3);
    let spurts = 30 * SECOND / (SECOND + spurt_ns);
    assert!(frames.abs_diff(spurts * 9) <= 9, "{frames}");
    assert!(deaf.stalls.abs_diff(spurts) <= 1, "{}", deaf.stalls);
    assert!(deaf.stalled_ns.abs_diff(spurts * SECOND) <= SECOND);
    // some feedback is lost, and reports overlap; only if several are, one behind the other, three
    // windows are in flight and it waits
    let half_deaf = felt([0.0, 0.3]);
    assert!(half_deaf.frames.count().abs_diff(750) <= 1 && half_deaf.stalls <= 3);
    assert_eq!(half_deaf.rates_bps / half_deaf.frames.count() as f64, 1.2e6);
}

#[test]
fn reordering_is_not_loss() {
    let mut shuffled = one_link(100_000_000);
    shuffled.links[0].wire = Some(WirePlan {
        jitter: Some(Distribution::Uniform(0, 5 * MS)),
        reorder: true,
        ..losing(0.0)
    });
    let counts = half(shuffled, call(), 60 * SECOND);
    assert!(counts.reception.reordered > 100);
    assert_eq!(counts.felt.rates_bps, 750.0 * 1.2e6);
}

#[test]
fn feedback_counts_as_answers_at_the_queue() {
    let mut both = one_link(10_000_000);
    both.links[1].port = Some(port("drop_tail", 100));
    let group = Group {
        from: 0,
        to: 1,
        count: 1,
        source: Source::Call(call()),
    };
    let run = run(&plan(both, vec![group], 20 * SECOND));
    let [there, back] = &run.periods[0].ports[..] else {
        unreachable!()
    };
    assert!(there.of_kinds(&[Kind::Datagram]).arrivals > 1000);
    let answers = back.of_kinds(&[Kind::Ack, Kind::Feedback]);
    // one for each frame, and one as the last is 40 ms ago
    assert!(
        (980..=1000).contains(&answers.arrivals),
        "{}",
        answers.arrivals
    );
    assert_eq!(answers.sent_bytes, answers.sent * 112);
}

#[test]
fn a_sender_outside_refuses_feedback_that_no_receiver_can_have_sent() {
    let plan = of_one_call(one_link(10_000_000), call(), SECOND);
    let mut outside = Outside::new(&plan, 0).unwrap();
    outside.make_frame(0, 0).unwrap();
    let (packets, _) = outside.send_video(0, 0).unwrap();
    assert_eq!((packets.len(), packets[0].unit.seq), (1, 0));
    let mut learn = |highest| {
        let feedback = Feedback {
            highest,
            arrived_ns: 10 * MS,
            received: 1,
            marked: 0,
        };
        outside.learn(0, 20 * MS, &feedback)
    };
    for highest in [1, u32::MAX] {
        let why = learn(highest).unwrap_err().to_string();
        assert!(why.contains("was not sent"), "{why}");
    }
    assert_eq!(learn(0), Ok(()));
}
