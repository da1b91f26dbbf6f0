//! ECN in Linux compared with the RFCs, in traces worked out by hand.

use crate::bench::Bench;
use sluice_ecn::Ecn;
use sluice_tcp::{Ack, Block, Config, CongestionControl, Quirks, Receiver, Segment, Variant};

const MS: u64 = 1_000_000;

/// The answer of a SYN: marks are echoed.
const AGREES: Ack = Ack {
    next: 1,
    ece: false,
    ace: 0b001,
    marked: None,
    sack: [Block { start: 0, end: 0 }; 3],
};

/// Returns what a sender with 8 packets in flight sends on each of 9 ACKs, and the window that is
/// left, packets. All ACKs but the last echo a mark.
fn nine_acks(quirks: Quirks) -> (Vec<Vec<u32>>, f64) {
    let mut bench = Bench::start(Variant::Rack, 8.0, |config| {
        config.ecn = true;
        config.quirks = quirks;
    });
    bench.sent.clear();
    let sent = (1..=9)
        .map(|next| {
            let ack = Ack {
                next,
                ece: next < 9,
                ..Ack::default()
            };
            bench.ack(100 * MS + u64::from(next), ack);
            bench.sent()
        })
        .collect();
    (sent, bench.sender.cwnd())
}

#[test]
fn a_mark_brings_the_window_down_by_and_by() {
    // RFC 3168: the window shrinks from 8 to 4 packets, and nothing is sent until 3 are in flight.
    let (sent, cwnd) = nine_acks(Quirks::NONE);
    let rfc: [&[u32]; 9] = [&[], &[], &[], &[], &[8], &[9], &[10], &[11], &[12]];
    assert_eq!(sent, rfc);
    assert_eq!(cwnd, 4.25);
    // Linux: one packet for every two that arrive, to the same window.
    let (sent, cwnd) = nine_acks(Quirks {
        marks_reduce_by_and_by: true,
        ..Quirks::NONE
    });
    let linux: [&[u32]; 9] = [&[8], &[], &[9], &[], &[10], &[], &[], &[11], &[12]];
    assert_eq!(sent, linux);
    assert_eq!(cwnd, 4.25);
}

/// `tcp_ecn_send` stops ECN for what is sent again only if the congestion control can do without it.
#[test]
fn retransmissions_of_dctcp_are_ecn_capable() {
    for (quirks, control, capable) in [
        (Quirks::LINUX, CongestionControl::Dctcp, true),
        (Quirks::LINUX, CongestionControl::Reno, false),
        (Quirks::NONE, CongestionControl::Dctcp, false),
    ] {
        let mut bench = Bench::start(Variant::Rack, 8.0, |config| {
            config.ecn = true;
            config.congestion_control = control;
            config.quirks = quirks;
        });
        bench.sent.clear();
        // P0 is lost
        bench.sack(100 * MS, 0, 1, 8);
        let again = bench.sent.iter().find(|segment| segment.retransmitted);
        assert_eq!(again.unwrap().ecn.is_capable(), capable, "{control:?}");
        assert!(!again.unwrap().cwr);
    }
}

#[test]
fn a_loss_beside_a_mark_reduces_the_window_once() {
    let mut bench = Bench::start(Variant::Rack, 8.0, |config| {
        config.ecn = true;
        config.quirks.marks_reduce_by_and_by = true;
    });
    let marked = Ack {
        next: 1,
        ece: true,
        ..Ack::default()
    };
    bench.ack(100 * MS, marked);
    // P1 is lost; the counts of sent and delivered packets go on from the mark
    bench.sack(101 * MS, 1, 2, 5);
    assert_eq!(bench.sender.ssthresh(), 4.0);
    bench.ack_to(200 * MS, 9);
    assert_eq!(bench.sender.acknowledged(), 9);
    assert_eq!((bench.sender.ssthresh(), bench.sender.cwnd()), (4.0, 4.0));
}

/// Returns a connection of 13 packets, SYN included, all of them in flight, whose window a mark is
/// reducing.
fn marked(control: CongestionControl) -> Bench {
    let mut bench = Bench::start(Variant::Rack, 12.0, |config| {
        let initial_window = config.initial_window;
        *config = Config::linux(Variant::Rack).with(control);
        (config.ecn, config.initial_window) = (true, initial_window);
    });
    // all at once, whatever the control
    bench.config.pacing = false;
    bench.ack(100 * MS, AGREES);
    bench.sender.stop();
    for next in 2..=5 {
        let ack = Ack {
            next,
            ece: true,
            ..Ack::default()
        };
        bench.ack(200 * MS, ack);
    }
    bench.sent.clear();
    bench
}

#[test]
fn a_loss_that_the_timer_finds_is_sent_again_while_the_window_goes_down() {
    let mut bench = marked(CongestionControl::Reno);
    bench.ack_to(200 * MS, 11);
    bench.sack(200 * MS, 11, 12, 13);
    assert_eq!(bench.sent(), []);
    // a quarter of the round trip for reordering, and the rest of a jiffy
    assert_eq!((bench.time_out(), bench.sent()), (232 * MS, vec![11]));
    assert_eq!(bench.sender.timeouts(), 0);
}

/// `tcp_rack_reo_timeout` reduces no window where the control has `cong_control`: the next ACK does.
#[test]
fn bbr_keeps_its_window_when_the_timer_finds_a_loss_beside_a_mark() {
    let mut bench = marked(CongestionControl::Bbr);
    bench.ack_to(200 * MS, 11);
    bench.sack(200 * MS, 11, 12, 13);
    let before = bench.sender.cwnd();
    assert_eq!((bench.time_out(), bench.sent()), (232 * MS, vec![11]));
    // what is in flight, and one that the timer would count as, are fewer
    assert_eq!((bench.sender.cwnd(), before > 4.0), (before, true));
}

#[test]
fn an_ack_that_tells_nothing_leaves_the_window() {
    let mut bench = marked(CongestionControl::Reno);
    bench.ack_to(200 * MS, 13);
    let cwnd = bench.sender.cwnd();
    bench.ack_to(201 * MS, 13);
    assert_eq!(bench.sender.cwnd(), cwnd);
}

#[test]
fn a_mark_beside_the_loss_of_the_first_packet_reduces_the_window_once() {
    let mut bench = Bench::start(Variant::Rack, 10.0, |config| {
        *config = Config::linux(Variant::Rack);
        config.ecn = true;
    });
    bench.ack(100 * MS, AGREES);
    for end in 3..=5 {
        let mut ack = Ack {
            next: 1,
            ece: true,
            ..Ack::default()
        };
        ack.sack[0] = Block { start: 2, end };
        bench.ack(200 * MS, ack);
    }
    assert_eq!(bench.sender.ssthresh(), 5.0);
}

#[test]
fn a_mark_and_its_answer_are_acknowledged_at_once() {
    let config = Config {
        ecn: true,
        ..Config::linux(Variant::Rack)
    };
    let mut receiver = Receiver::new();
    let mut acks = |seq, ce, cwr| {
        let segment = Segment {
            seq,
            syn: seq == 0,
            retransmitted: seq == 34,
            ecn: match ce {
                true => Ecn::Ce,
                false if seq > 0 && seq != 34 => Ecn::Ect0,
                false => Ecn::NotEct,
            },
            cwr,
            push: false,
            ace: if seq == 0 { 0b011 } else { 0 },
        };
        let mut count = 0;
        let now_ns = 100 * MS * u64::from(seq.min(1));
        receiver.on_segment(&config, now_ns, &segment, &mut |_| count += 1);
        count
    };
    for seq in 0..=22 {
        acks(seq, false, false);
    }
    assert_eq!((acks(23, false, false), acks(24, false, false)), (0, 1));
    // two ACKs at once from the mark on; a second mark before the sender's answer brings no more
    assert_eq!((acks(25, true, false), acks(26, true, false)), (1, 1));
    assert_eq!((acks(27, false, false), acks(28, false, false)), (0, 1));
    assert_eq!((acks(29, false, true), acks(30, false, false)), (1, 0));
    // CWR on a marked packet: the mark is news
    assert_eq!((acks(31, true, true), acks(32, false, false)), (1, 1));
    // P34 cannot be marked
    assert_eq!((acks(33, false, false), acks(34, false, false)), (0, 1));
    assert_eq!((acks(35, false, false), acks(36, false, false)), (1, 0));
}

#[test]
fn accurate_feedback_tells_at_once_where_marks_begin_and_in_linux_where_they_end() {
    let marks = [
        false, false, true, true, false, false, false, false, true, false,
    ];
    for (tells_end_of_marks, expected) in [
        (false, [0, 1, 1, 0, 1, 0, 1, 0, 1, 0]),
        (true, [0, 1, 1, 0, 1, 0, 1, 0, 1, 1]),
    ] {
        let config = Config {
            ecn: true,
            accurate_ecn: true,
            quirks: Quirks {
                tells_end_of_marks,
                ..Quirks::NONE
            },
            ..Config::linux(Variant::Rack)
        };
        let mut receiver = Receiver::new();
        let mut acks = |seq, ecn, ace| {
            let segment = Segment {
                seq,
                syn: seq == 0,
                retransmitted: false,
                ecn,
                cwr: false,
                push: false,
                ace,
            };
            let mut count = 0;
            receiver.on_segment(&config, 0, &segment, &mut |_| count += 1);
            count
        };
        assert_eq!(acks(0, Ecn::NotEct, 0b111), 1);
        let found = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(|seq| {
            let ecn = if marks[seq as usize - 1] {
                Ecn::Ce
            } else {
                Ecn::Ect0
            };
            acks(seq, ecn, 0)
        });
        assert_eq!(found, expected, "{tells_end_of_marks}");
    }
}
