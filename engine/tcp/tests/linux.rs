//! Deviations of Linux compared with the RFCs, in traces worked out by hand.

use crate::bench::{Bench, packet};
use sluice_tcp::{Config, Quirks, Receiver, Segment, Sender, Variant};

const MS: u64 = 1_000_000;

/// Starts a sender that follows the RFCs, with these deviations.
fn start(window: f64, quirks: Quirks) -> Bench {
    let mut bench = Bench::start(Variant::Rack, window, |config| config.quirks = quirks);
    bench.sent.clear();
    bench
}

#[test]
fn behind_a_delayed_ack_a_loss_is_found_later() {
    // P0 to P2 are sent at 0, P3 and P4 at 50 ms. The ACK of P1 is delayed, P2 is lost, P3 arrives
    // after 100 ms. By RFC 8985 the round-trip time of P3 counts: P2 is lost after 100 + 12.5 ms.
    // In Linux that of P1 counts: 150 + 12.5 ms.
    let first_sack = |quirks| {
        let mut bench = start(3.0, quirks);
        bench.ack_to(50 * MS, 1);
        assert_eq!(bench.sent(), [3, 4]);
        bench.sack(150 * MS, 2, 3, 4);
        bench
    };
    assert_eq!(first_sack(Quirks::NONE).sent()[0], 2);
    let mut linux = first_sack(Quirks {
        reads_sack_first: true,
        ..Quirks::NONE
    });
    assert_eq!(linux.sent(), [5, 6, 7, 8]);
    assert_eq!((linux.time_out(), linux.sent()[0]), (162_500_000, 2));
}

const BY_TIMER: Quirks = Quirks {
    counts_timer_as_ack: true,
    ..Quirks::NONE
};

#[test]
fn a_recovery_that_the_reordering_timer_begins_may_send_one_more() {
    // P1 of three is lost, then P4, which was sent before P1 was sent again. The threshold is two.
    // When P1 arrives, two packets have been delivered in this recovery and one was sent: P4 goes,
    // and in Linux P5, as the timer counted, too.
    let repaired = |quirks| {
        let mut bench = Bench::start(Variant::Rack, 3.0, |config| {
            config.quirks = quirks;
            config.initial_ssthresh = 3.0;
        });
        bench.sent.clear();
        bench.sack(60 * MS, 1, 2, 3);
        assert_eq!(bench.sent(), [3, 4]);
        assert_eq!((bench.time_out(), bench.sent()), (75 * MS, vec![1]));
        bench.sack(120 * MS, 1, 2, 4);
        assert_eq!(bench.sent(), []);
        bench.ack_to(135 * MS, 4);
        bench.sent()
    };
    assert_eq!(repaired(Quirks::NONE), [4]);
    assert_eq!(repaired(BY_TIMER), [4, 5]);
}

#[test]
fn in_a_recovery_the_reordering_timer_leaves_the_window() {
    // P0 came after P1, so that packets have time to be reordered: P2 is lost at 135 ms, P6 at 165
    // ms. One packet was delivered in between, and one sent. By RFC 9937 P6 must wait for an ACK.
    let after_the_second = |quirks| {
        let mut bench = start(8.0, quirks);
        bench.sack(100 * MS, 0, 1, 2);
        bench.ack_to(101 * MS, 2);
        bench.sack(110 * MS, 2, 3, 6);
        bench.sent();
        assert_eq!((bench.time_out(), bench.sent()), (135 * MS, vec![2]));
        bench.sack(140 * MS, 2, 7, 8);
        bench.sent();
        assert_eq!(bench.time_out(), 165 * MS);
        bench.sent()
    };
    assert_eq!(after_the_second(Quirks::NONE), []);
    assert_eq!(after_the_second(BY_TIMER), [6]);
}

#[test]
fn a_retransmission_restarts_the_timer() {
    // P0 is lost twice: its second retransmission is sent at 200 ms. By RFC 6298 the timer runs
    // since recovery began.
    let deadline = |quirks| {
        let mut bench = start(4.0, quirks);
        bench.sack(100 * MS, 0, 1, 4);
        assert_eq!(bench.sent()[0], 0);
        bench.sack(200 * MS, 0, 1, 5);
        assert_eq!(bench.sent()[0], 0);
        bench.sender.deadline()
    };
    let linux = Quirks {
        restarts_timer_at_first: true,
        ..Quirks::NONE
    };
    assert_eq!(deadline(Quirks::NONE), Some(1100 * MS));
    assert_eq!(deadline(linux), Some(1200 * MS));
}

#[test]
fn the_time_stamp_of_a_retransmission_ends_the_backing_off() {
    let waits = |quirks| {
        let mut bench = start(2.0, quirks);
        let mut now_ns = 0;
        while bench.sender.timeouts() < 2 {
            now_ns = bench.time_out();
        }
        now_ns += 100 * MS;
        bench.ack_to(now_ns, 1);
        bench.sender.deadline().unwrap() - now_ns
    };
    let linux = Quirks {
        times_every_ack: true,
        ..Quirks::NONE
    };
    // by Karn's algorithm nothing is known of the round trip
    assert_eq!(waits(Quirks::NONE), 4000 * MS);
    assert_eq!(waits(linux), 1000 * MS);
}

#[test]
fn at_the_start_and_after_a_pause_acks_are_not_held_back() {
    // the handshake takes 100 ms: a pause is longer than 100 + 200 ms; at the start 16 ACKs are
    // quick, and those of six packets by which the window grows
    let config = Config::linux(Variant::Rack);
    let mut receiver = Receiver::new();
    let mut acks = |now_ns, seq| {
        let segment = packet(seq, seq == 0);
        let mut count = 0;
        receiver.on_segment(&config, now_ns, &segment, &mut |_| count += 1);
        count
    };
    assert_eq!(acks(0, 0), 1);
    for seq in 1..=22 {
        let now_ns = (80 + 20 * u64::from(seq)) * MS;
        assert_eq!(acks(now_ns, seq), 1, "packet {seq}");
    }
    assert_eq!((acks(820 * MS, 23), acks(820 * MS, 24)), (0, 1));
    // packets out of order are acknowledged at once in any case, and do not end a pause
    assert_eq!((acks(920 * MS, 26), acks(1120 * MS, 26)), (1, 1));
    assert_eq!((acks(1130 * MS, 25), acks(1130 * MS, 27)), (1, 1));
}

#[test]
fn the_end_of_an_object_carries_psh_also_when_it_is_sent_again() {
    let mut bench = Bench::start(Variant::Rack, 10.0, |config| {
        *config = Config::linux(Variant::Rack);
    });
    bench.sender = Sender::new(&bench.config, 3, 0);
    bench.sent.clear();
    let sent = &mut bench.sent;
    bench
        .sender
        .start(&bench.config, 0, &mut |segment| sent.push(segment));
    bench.ack_to(50 * MS, 1);
    let mut write = |now_ns, packets| {
        let sent = &mut bench.sent;
        let mut send = |segment| sent.push(segment);
        bench
            .sender
            .write(&bench.config, now_ns, packets, &mut send);
    };
    write(60 * MS, 2);
    write(70 * MS, 1);
    // the SYN has none; the last one is sent again as a probe
    bench.time_out();
    let pushed: Vec<(u32, bool)> = bench
        .sent
        .iter()
        .map(|each| (each.seq, each.push))
        .collect();
    let expected = [0, 1, 2, 3, 4, 5, 6, 6];
    let ends = [3, 5, 6];
    assert_eq!(pushed, expected.map(|seq| (seq, ends.contains(&seq))));
}

#[test]
fn a_pushed_packet_is_acknowledged_at_once() {
    let acks = |quirks, pushed: u32| {
        let config = Config {
            delayed_ack_ns: Some(40 * MS),
            quirks,
            ..Config::rfc(Variant::Rack)
        };
        let mut receiver = Receiver::new();
        let mut acked = vec![];
        for seq in 0..6 {
            let segment = Segment {
                push: seq == pushed,
                ..packet(seq, false)
            };
            let mut answer = |ack: sluice_tcp::Ack| acked.push(ack.next);
            receiver.on_segment(&config, u64::from(seq) * MS, &segment, &mut answer);
        }
        acked
    };
    let linux = Quirks {
        pushes_writes: true,
        ..Quirks::NONE
    };
    // the first of a pair parts the pairs after it; the second is acknowledged in any case
    assert_eq!(acks(Quirks::NONE, 2), [2, 4, 6]);
    assert_eq!(acks(linux, 2), [2, 3, 5]);
    assert_eq!(acks(linux, 3), [2, 4, 6]);
}

#[test]
fn one_lost_syn_is_forgiven() {
    let first_window = |lost: u32, quirks: Quirks| {
        let mut bench = Bench::start(Variant::Rack, 4.0, |config| {
            *config = Config::linux(Variant::Rack);
            config.quirks = quirks;
        });
        let mut now_ns = 0;
        while bench.sender.timeouts() < lost {
            now_ns = bench.time_out();
        }
        bench.ack_to(now_ns + 100 * MS, 1);
        (bench.sender.cwnd(), bench.sender.ssthresh())
    };
    let open = Config::linux(Variant::Rack).initial_ssthresh;
    assert_eq!(first_window(0, Quirks::LINUX), (10.0, open));
    assert_eq!(first_window(1, Quirks::LINUX), (10.0, open));
    assert_eq!(first_window(2, Quirks::LINUX), (1.0, open));
    assert_eq!(first_window(1, Quirks::NONE), (1.0, 2.0));
}

#[test]
fn a_sack_of_what_was_sent_before_a_retransmission_restarts_the_timer() {
    // P4 is sent at 100 ms, P0 is sent again at 110 ms; a SACK reports P4 at 200 ms.
    let deadline = |quirks| {
        let mut bench = start(4.0, quirks);
        bench.sack(100 * MS, 0, 1, 2);
        bench.sack(110 * MS, 0, 1, 4);
        assert_eq!(bench.sent(), [4, 0]);
        bench.sack(200 * MS, 0, 1, 5);
        bench.sender.deadline()
    };
    let at_first = Quirks {
        restarts_timer_at_first: true,
        ..Quirks::NONE
    };
    let linux = Quirks {
        restarts_timer_by_sack: true,
        ..at_first
    };
    assert_eq!(deadline(at_first), Some(1110 * MS));
    assert_eq!(deadline(linux), Some(1200 * MS));
}

#[test]
fn a_time_out_in_recovery_leaves_the_threshold() {
    let threshold = |quirks| {
        let mut bench = start(8.0, quirks);
        bench.sack(100 * MS, 0, 1, 4);
        assert_eq!(bench.sender.ssthresh(), 4.0);
        while bench.sender.timeouts() == 0 {
            bench.time_out();
        }
        bench.sender.ssthresh()
    };
    let linux = Quirks {
        keeps_threshold_in_recovery: true,
        ..Quirks::NONE
    };
    // half of the five packets then in flight
    assert_eq!(threshold(Quirks::NONE), 2.5);
    assert_eq!(threshold(linux), 4.0);
}

/// P0 to P3 and the probe P4 have not arrived, and a time-out has sent P0 again.
fn timed_out(quirks: Quirks) -> (Bench, u64) {
    let mut bench = start(4.0, quirks);
    let mut now_ns = 0;
    while bench.sender.timeouts() == 0 {
        now_ns = bench.time_out();
    }
    assert_eq!(bench.sent(), [4, 0]);
    (bench, now_ns)
}

const FRTO: Quirks = Quirks {
    questions_time_outs: true,
    ..Quirks::NONE
};

#[test]
fn after_a_time_out_new_packets_go_before_the_lost_ones() {
    // RFC 5682, section 3.1: steps 2b and 3a
    let (mut usual, now_ns) = timed_out(Quirks::NONE);
    usual.ack_to(now_ns + 100 * MS, 1);
    assert_eq!(usual.sent(), [1, 2]);
    let (mut bench, now_ns) = timed_out(FRTO);
    bench.ack_to(now_ns + 100 * MS, 1);
    assert_eq!(bench.sent(), [5, 6]);
    bench.sack(now_ns + 200 * MS, 1, 5, 6);
    assert_eq!(bench.sent(), [1]);
}

#[test]
fn a_time_out_is_taken_back_when_an_old_packet_arrives() {
    // RFC 5682, section 3.1, step 3b: P1 was sent once only
    let (mut bench, now_ns) = timed_out(FRTO);
    let lowered = bench.sender.ssthresh();
    assert_eq!(bench.sender.cwnd(), 1.0);
    bench.sack(now_ns + 100 * MS, 0, 1, 2);
    assert!(bench.sender.cwnd() >= 4.0, "{}", bench.sender.cwnd());
    assert!(bench.sender.ssthresh() > lowered);
}

/// Returns how long, ms, a receiver delays the ACKs of packets that arrive one by one, 250 ms
/// apart; 0 for quick ACKs. The handshake took 100 ms.
fn waits(receiver: &mut Receiver, seqs: std::ops::Range<u32>) -> Vec<u64> {
    let config = Config::linux(Variant::Rack);
    seqs.map(|seq| {
        let now_ns = 100 * MS + u64::from(seq.saturating_sub(1)) * 250 * MS;
        let mut at_once = 0;
        let segment = packet(seq, seq == 0);
        let start_ns = if seq == 0 { 0 } else { now_ns };
        receiver.on_segment(&config, start_ns, &segment, &mut |_| at_once += 1);
        if at_once > 0 {
            return 0;
        }
        let due_ns = receiver.deadline().unwrap();
        assert!(receiver.on_timer(&config, due_ns).is_some());
        (due_ns - now_ns) / MS
    })
    .collect()
}

#[test]
fn the_wait_of_an_ack_grows_where_no_packet_comes_in_time() {
    // 40, 80, and then a round trip of 100 ms, each plus up to one jiffy
    let mut receiver = Receiver::new();
    let quick = waits(&mut receiver, 0..23);
    assert_eq!(quick, [0; 23]);
    let held: Vec<_> = waits(&mut receiver, 23..30);
    for (found, ms) in held.iter().zip([40, 80, 100, 100, 100, 100, 100]) {
        assert!((ms..ms + 5).contains(found), "{held:?}");
    }
}
