//! What Linux does otherwise than the RFCs, beside them, in traces worked out by hand.

mod bench;

use bench::Bench;
use sluice_tcp::{Config, Quirks, Receiver, Segment, Variant};

const MS: u64 = 1_000_000;

/// A sender by the RFCs, or with one thing as Linux has it.
fn start(window: f64, quirks: Quirks) -> Bench {
    let mut bench = Bench::start(Variant::Rack, window, |config| config.quirks = quirks);
    bench.sent.clear();
    bench
}

#[test]
fn behind_a_delayed_ack_a_loss_is_found_later() {
    // P0 to P2 go at 0, P3 and P4 at 50 ms. P1's ACK is held back, P2 is lost, P3 arrives after 100 ms.
    // By RFC 8985 its round trip counts: P2 had 100 + 12.5 ms. In Linux P1's does: 150 + 12.5 ms.
    let first_sack = |quirks| {
        let mut bench = start(3.0, quirks);
        bench.ack_to(50 * MS, 1);
        assert_eq!(bench.sent(), [3, 4]);
        bench.sack(150 * MS, 2, 3, 4);
        bench
    };
    assert_eq!(first_sack(Quirks::NONE).sent()[0], 2);
    let mut linux = first_sack(Quirks {
        looks_at_sack_first: true,
        ..Quirks::NONE
    });
    assert_eq!(linux.sent(), [5, 6, 7, 8]);
    assert_eq!((linux.time_out(), linux.sent()[0]), (162_500_000, 2));
}

#[test]
fn a_retransmission_restarts_the_timer() {
    // P0 is lost, and once more: its second retransmission goes at 200 ms. By RFC 6298 the timer runs
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
fn at_the_start_and_after_a_pause_sixteen_acks_are_not_held_back() {
    // the handshake takes 100 ms: a pause is longer than 100 + 200 ms
    let config = Config::linux(Variant::Rack);
    let mut receiver = Receiver::new();
    let mut acks = |now_ns, seq| {
        let segment = Segment {
            seq,
            syn: seq == 0,
            retransmitted: false,
            ect: false,
            ce: false,
            cwr: false,
        };
        let mut count = 0;
        receiver.on_segment(&config, now_ns, &segment, &mut |_| count += 1);
        count
    };
    assert_eq!(acks(0, 0), 1);
    for seq in 1..=16 {
        assert_eq!(acks(100 * MS, seq), 1, "packet {seq}");
    }
    assert_eq!((acks(400 * MS, 17), acks(400 * MS, 18)), (0, 1));
    // packets out of order are answered in any case, and do not end a pause
    assert_eq!((acks(500 * MS, 20), acks(700 * MS, 21)), (1, 1));
    assert_eq!((acks(701 * MS, 19), acks(701 * MS, 22)), (1, 1));
}
