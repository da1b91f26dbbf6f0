//! DCTCP: each rule of RFC 8257 by hand, and its fixed point over a link that marks by a step.

use crate::channel::{Channel, Event};
use sluice_ecn::Ecn;
use sluice_tcp::{
    Ack, Config, ConfigError, CongestionControl, GREEDY, Receiver, Segment, Sender, Variant,
};

const MS: u64 = 1_000_000;
/// RFC 8257, section 4.2.
const GAIN: f64 = 1.0 / 16.0;

fn config() -> Config {
    Config {
        congestion_control: CongestionControl::Dctcp,
        ecn: true,
        ..Config::rfc(Variant::Sack)
    }
}

fn data(seq: u32, ce: bool) -> Segment {
    Segment {
        seq,
        syn: false,
        retransmitted: false,
        ecn: if ce { Ecn::Ce } else { Ecn::Ect0 },
        cwr: false,
        push: false,
        ace: 0,
    }
}

/// Returns the ACKs of a receiver, as (next, echo), for each of the packets that arrive a
/// millisecond apart.
fn answers(config: &Config, marks: &[bool]) -> Vec<Vec<(u32, bool)>> {
    let mut receiver = Receiver::new();
    let answer = |(seq, ce): (usize, &bool)| {
        let mut acks = vec![];
        let segment = data(seq as u32, *ce);
        receiver.on_segment(config, seq as u64 * MS, &segment, &mut |ack| {
            acks.push((ack.next, ack.ece));
        });
        acks
    };
    marks.iter().enumerate().map(answer).collect()
}

#[test]
fn each_mark_is_echoed_once_whatever_is_delayed() {
    // RFC 8257, section 3.2. While marks do not change, every second packet is acknowledged. If
    // they change while the ACK of packet 0 is delayed, that ACK is sent first, with the old echo.
    let (no, yes) = (false, true);
    let marks = [no, yes, yes, yes, no, no, no, yes, no, yes, no, no];
    let expected: [&[(u32, bool)]; 12] = [
        &[],                  // 0 is held back
        &[(1, no), (2, yes)], // marks begin
        &[],                  // 2 is held back
        &[(4, yes)],          // the second
        &[(5, no)],           // marks end, nothing is held back
        &[],                  // 5 is held back
        &[(7, no)],
        &[(8, yes)],
        &[(9, no)],
        &[(10, yes)],
        &[(11, no)],
        &[],
    ];
    assert_eq!(answers(&config(), &marks), expected);
}

#[test]
fn without_delayed_acks_an_ack_tells_of_its_packet() {
    let config = Config {
        delayed_ack_ns: None,
        ..config()
    };
    let marks = [false, true, true, false, true];
    for (seq, acks) in answers(&config, &marks).into_iter().enumerate() {
        assert_eq!(acks, [(seq as u32 + 1, marks[seq])]);
    }
}

#[test]
fn cwr_ends_no_echo_and_a_gap_delays_none() {
    // RFC 8257, section 3.2: DCTCP.CE alone decides; RFC 5681, section 4.2, for the gap.
    let config = config();
    let mut receiver = Receiver::new();
    let mut ack = |segment| {
        let mut acks = vec![];
        receiver.on_segment(&config, 0, &segment, &mut |ack| {
            acks.push((ack.next, ack.ece))
        });
        acks
    };
    assert_eq!(ack(data(0, true)), [(1, true)]);
    let answered = Segment {
        cwr: true,
        ..data(2, true)
    };
    assert_eq!(ack(answered), [(1, true)]);
    assert_eq!(ack(data(3, false)), [(1, false)]);
}

/// A sender that waits for ACKs only.
struct Bench {
    config: Config,
    sender: Sender,
    sent: u32,
}

impl Bench {
    fn start(initial_window: f64) -> Bench {
        let config = Config {
            initial_window,
            initial_ssthresh: 2.0,
            ..config()
        };
        let mut bench = Bench {
            sender: Sender::new(&config, GREEDY, 0),
            config,
            sent: 0,
        };
        let sent = &mut bench.sent;
        bench
            .sender
            .start(&bench.config, 0, &mut |segment| *sent = segment.seq + 1);
        bench
    }

    fn ack(&mut self, next: u32, ece: bool) {
        let (ack, sent) = (
            Ack {
                next,
                ece,
                ..Ack::default()
            },
            &mut self.sent,
        );
        self.sender
            .on_ack(&self.config, 100 * MS, &ack, &mut |segment| {
                *sent = (*sent).max(segment.seq + 1);
            });
    }

    fn alpha(&self) -> f64 {
        self.sender.marked_share().unwrap()
    }
}

#[test]
fn alpha_follows_the_share_of_marked_packets_window_by_window() {
    // RFC 8257, section 3.3: alpha is 1 at first. The first window ends with its first ACK. The
    // next one ends with an ACK beyond what was sent by then, packets 0 to 9; of the ten packets
    // that it acknowledges four are marked. ACKs of nothing new do not count.
    let mut bench = Bench::start(10.0);
    assert_eq!(bench.alpha(), 1.0);
    bench.ack(1, false);
    let mut alpha = 1.0 - GAIN;
    assert_eq!(bench.alpha(), alpha);
    assert_eq!(bench.sent, 11);
    for (next, ece) in [
        (3, false),
        (3, true),
        (6, true),
        (7, true),
        (9, false),
        (10, false),
    ] {
        bench.ack(next, ece);
        assert_eq!(bench.alpha(), alpha);
    }
    bench.ack(11, false);
    alpha = alpha * (1.0 - GAIN) + GAIN * 0.4;
    assert!((bench.alpha() - alpha).abs() < 1e-15);
}

#[test]
fn a_mark_takes_half_of_alpha_off_the_window_once_a_window() {
    // RFC 8257, section 3.3, step 9, with the alpha after this ACK; section 3.4 and RFC 3168,
    // section 6.1.2: no ACK with an echo opens the window.
    let mut bench = Bench::start(40.0);
    bench.ack(1, true);
    assert_eq!(bench.alpha(), 1.0);
    assert_eq!(bench.sender.cwnd(), 20.0);
    assert_eq!(bench.sender.ssthresh(), 20.0);
    for next in 2..=40 {
        bench.ack(next, true);
        assert_eq!(bench.sender.cwnd(), 20.0);
    }
    while bench.sent < 120 {
        let next = bench.sender.acknowledged() + 1;
        bench.ack(next, false);
    }
    let (alpha, cwnd) = (bench.alpha(), bench.sender.cwnd());
    assert!(alpha < 0.9, "{alpha}");
    let next = bench.sender.acknowledged() + 1;
    bench.ack(next, true);
    let left = cwnd * (1.0 - bench.alpha() / 2.0);
    assert!((bench.sender.cwnd() - left).abs() < 1e-12);
}

#[test]
fn unmarked_it_grows_by_a_packet_each_window_whatever_is_delayed() {
    // RFC 5681, section 3.1: growth by the number of packets acknowledged, not of ACKs.
    for packets in [1, 2] {
        let mut bench = Bench::start(40.0);
        while bench.sender.acknowledged() < 40 {
            let next = bench.sender.acknowledged() + packets;
            bench.ack(next, false);
        }
        assert!(
            (bench.sender.cwnd() - 41.0).abs() < 0.02,
            "{}",
            bench.sender.cwnd()
        );
    }
}

#[test]
fn a_loss_halves_the_flight_and_a_time_out_leaves_one_packet() {
    // RFC 8257, section 3.5, whatever alpha is.
    let mut bench = Bench::start(40.0);
    for next in 1..=200 {
        bench.ack(next, false);
    }
    assert!(bench.alpha() < 0.8);
    let flight = f64::from(bench.sent - bench.sender.acknowledged());
    let mut timed_out = bench.sender.clone();
    for end in 202..=204 {
        let mut ack = Ack {
            next: 200,
            ..Ack::default()
        };
        (ack.sack[0].start, ack.sack[0].end) = (201, end);
        bench
            .sender
            .on_ack(&bench.config, 100 * MS, &ack, &mut |_| ());
    }
    assert_eq!(bench.sender.ssthresh(), flight / 2.0);
    assert_eq!(bench.sender.cwnd(), flight / 2.0);
    let now_ns = timed_out.deadline().unwrap();
    timed_out.on_timer(&bench.config, now_ns, &mut |_| ());
    assert_eq!(
        (timed_out.cwnd(), timed_out.ssthresh()),
        (1.0, flight / 2.0)
    );
}

#[test]
fn it_needs_ecn() {
    let error = Config {
        ecn: false,
        ..config()
    }
    .check()
    .unwrap_err();
    assert_eq!(error, ConfigError::NoMarks("dctcp"));
    assert_eq!(
        error.to_string(),
        "tcp.congestion_control = dctcp needs tcp.ecn = true: it counts marks"
    );
}

/// Returns the mean alpha and the utilization of a link with one flow, once it has settled. The
/// link marks packets that wait longer than `threshold_ns`.
fn settled(rate_bps: u64, threshold_ns: u64, delayed: bool) -> (f64, f64) {
    let config = Config {
        delayed_ack_ns: delayed.then_some(100 * MS),
        ..config()
    };
    let channel = Channel {
        rate_bps,
        delay_ns: RTT_NS / 2,
        data_bytes: BYTES,
        data_lost: vec![],
        data_marked: vec![],
        mark_above_ns: Some(threshold_ns),
        acks_lost: vec![],
    };
    let events = crate::channel::run(
        &channel,
        &config,
        Sender::new(&config, GREEDY, 0),
        2 * SETTLED_NS,
    );
    let (mut alphas, mut sum, mut packets) = (0.0, 0.0, 0.0);
    for event in events {
        match event {
            Event::Window {
                time_ns,
                marked_share,
                ..
            } if time_ns > SETTLED_NS => {
                alphas += 1.0;
                sum += marked_share.unwrap();
            }
            Event::Send { time_ns, .. } if time_ns > SETTLED_NS => packets += 1.0,
            _ => {}
        }
    }
    let bits = packets * 8.0 * BYTES as f64;
    (
        sum / alphas,
        bits / (rate_bps as f64 * SETTLED_NS as f64 * 1e-9),
    )
}

const RTT_NS: u64 = 20 * MS;
const BYTES: u64 = 500;
const SETTLED_NS: u64 = 10_000 * MS;

/// Window at which the first packet is marked: the packets that fit into the path, and those that
/// may wait.
fn full_window(rate_bps: u64, threshold_ns: u64) -> f64 {
    let packet_ns = (8 * BYTES * 1_000_000_000 / rate_bps) as f64;
    (RTT_NS as f64 / packet_ns).floor() + 1.0 + (threshold_ns as f64 / packet_ns).floor()
}

/// Alizadeh et al. 2010, section 3.3: alpha^2 (1 - alpha / 4) = (2 W + 1) / (W + 1)^2, about 2 / W;
/// the fixed point alpha = sqrt(2 / W) of Alizadeh, Javanmard & Prabhakar 2011.
fn fixed_point(window: f64) -> f64 {
    let square = (2.0 * window + 1.0) / ((window + 1.0) * (window + 1.0));
    (0..50).fold(square.sqrt(), |alpha, _| {
        (square / (1.0 - alpha / 4.0)).sqrt()
    })
}

/// Mean alpha of the same saw-tooth, round trip by round trip, with the alpha of that moment. In
/// the round trip after a reduction the share `marked` of the packets turns out to be marked.
fn saw_tooth(full: f64, marked: f64) -> f64 {
    let (mut window, mut alpha, mut alphas) = (full, 1.0, vec![]);
    for cycle in 0..400 {
        window *= 1.0 - alpha / 2.0;
        alpha = alpha * (1.0 - GAIN) + GAIN * marked;
        alphas.push(alpha);
        // up to the first mark, and once more until its echo is back
        while window < full + 1.0 {
            window += 1.0;
            alpha *= 1.0 - GAIN;
            alphas.push(alpha);
        }
        if cycle == 200 {
            alphas.clear();
        }
    }
    alphas.iter().sum::<f64>() / alphas.len() as f64
}

/// Relative error of a fixed point that counts whole round trips: one in a cycle of alpha W / 2.
fn one_round_trip(alpha: f64, full: f64) -> f64 {
    1.0 / (alpha * full / 2.0)
}

#[test]
fn over_a_step_alpha_is_at_its_fixed_point() {
    for (rate_bps, threshold) in [
        (8_000_000, 0.15),
        (10_000_000, 0.15),
        (10_000_000, 0.20),
        (20_000_000, 0.15),
        (20_000_000, 0.24),
        (40_000_000, 0.20),
    ] {
        let threshold_ns = (RTT_NS as f64 * threshold) as u64;
        let (alpha, used) = settled(rate_bps, threshold_ns, false);
        // the paper, section 3.4: a step above a seventh of the round trip loses no throughput
        assert!((used - 1.0).abs() < 1e-3, "{used}");
        let full = full_window(rate_bps, threshold_ns);
        let by_fixed_point = fixed_point(full);
        // alpha outlasts a cycle, as the fixed point presumes (equation 15)
        assert!(GAIN < 1.386 / (2.0 * full).sqrt());
        let off = (alpha / by_fixed_point - 1.0).abs();
        assert!(
            off < one_round_trip(by_fixed_point, full),
            "{full}: {alpha}, not {by_fixed_point}"
        );
        let expected = saw_tooth(full, 1.0);
        assert!(
            (alpha / expected - 1.0).abs() < 0.03,
            "{full}: {alpha}, not {expected}"
        );
    }
}

#[test]
fn packets_in_pairs_are_marked_by_half() {
    // Delayed ACKs release two packets at once, of which the second waits longer. In the first
    // round trip only the second exceeds the threshold, so that half as many packets are marked.
    for rate_bps in [10_000_000, 20_000_000, 40_000_000] {
        let threshold_ns = RTT_NS * 18 / 100;
        let (alpha, used) = settled(rate_bps, threshold_ns, true);
        assert!((used - 1.0).abs() < 1e-3, "{used}");
        let full = full_window(rate_bps, threshold_ns);
        let expected = saw_tooth(full, 0.5);
        let off = (alpha / expected - 1.0).abs();
        assert!(
            off < one_round_trip(expected, full),
            "{full}: {alpha}, not {expected}"
        );
    }
}
