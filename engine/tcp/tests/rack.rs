//! Recovery by times (RFC 8985), in traces worked out by hand. The path has a round trip of 100 ms.

use crate::bench::Bench;
use sluice_tcp::{Sender, Variant};

const MS: u64 = 1_000_000;

#[test]
fn a_probe_finds_a_lost_tail() {
    // RFC 8985, section 5, figure 1: of P0 to P3 only the first arrives. Two round trips after its
    // ACK the probe sends P3 again; its SACK reports that P1 and P2 are lost.
    let mut bench = Bench::start(Variant::Rack, 4.0, |_| ());
    bench.sender = Sender::new(&bench.config, 4, 0);
    let sent = &mut bench.sent;
    sent.clear();
    let (sender, config) = (&mut bench.sender, &bench.config);
    sender.start(config, 0, &mut |segment| sent.push(segment));
    assert_eq!(bench.sent(), [0, 1, 2, 3]);
    bench.ack_to(100 * MS, 1);
    assert_eq!((bench.time_out(), bench.sent()), (300 * MS, vec![3]));
    bench.sack(400 * MS, 1, 3, 4);
    assert_eq!(bench.sent(), [1]);
    bench.sack(500 * MS, 2, 3, 4);
    assert_eq!(bench.sent(), [2]);
    bench.ack_to(600 * MS, 4);
    assert!(bench.sender.is_done());
    assert_eq!(
        (bench.sender.timeouts(), bench.sender.deadline()),
        (0, None)
    );
}

#[test]
fn a_probe_that_repairs_a_loss_costs_what_the_loss_would() {
    // Section 7.4.2: the receiver's window of 4 is full, P6 is lost, and its probe repairs the loss
    // silently. An ACK of a packet sent after the probe reveals it, and the window is halved.
    let mut bench = Bench::start(Variant::Rack, 4.0, |config| config.receiver_window = 4);
    bench.ack_to(100 * MS, 3);
    assert_eq!(bench.sent(), [0, 1, 2, 3, 4, 5, 6]);
    bench.sent.clear();
    assert_eq!((bench.time_out(), bench.sent()), (300 * MS, vec![6]));
    let before = bench.sender.cwnd();
    bench.ack_to(400 * MS, 7);
    assert_eq!(bench.sender.cwnd(), before + 4.0);
    bench.ack_to(500 * MS, 8);
    assert!(bench.sender.cwnd() <= before / 2.0 + 1.0);
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_time_out() {
    // Section 5, figure 1, steps 6 and 7: P0 and P1 are lost and sent again one after the other. P1
    // arrives and P0 does not, so that P0 is lost again.
    let mut bench = Bench::start(Variant::Rack, 10.0, |_| ());
    bench.sent.clear();
    bench.sack(100 * MS, 0, 2, 6);
    assert_eq!(bench.sent()[..1], [0]);
    bench.sack(101 * MS, 0, 2, 10);
    assert_eq!(bench.sent()[..1], [1]);
    bench.sack(201 * MS, 0, 1, 10);
    assert_eq!(bench.sent()[..1], [0]);
    assert_eq!(bench.sender.timeouts(), 0);
    // one reduction, no matter what was lost again
    assert_eq!(bench.sender.ssthresh(), 5.0);
}

#[test]
fn one_sack_and_a_quarter_of_a_round_trip_are_enough() {
    // Section 6.2, steps 4 and 5: of two packets the first is lost; three duplicate ACKs never come.
    let mut bench = Bench::start(Variant::Rack, 2.0, |config| config.receiver_window = 2);
    bench.sent.clear();
    bench.sack(100 * MS, 0, 1, 2);
    assert_eq!(bench.sent(), []);
    assert_eq!((bench.time_out(), bench.sent()), (125 * MS, vec![0]));
    assert_eq!(bench.sender.timeouts(), 0);
}

#[test]
fn in_recovery_the_window_goes_down_by_and_by_to_the_threshold() {
    // RFC 9937: of 20 packets the first is lost; half as many packets are sent as arrive.
    let mut bench = Bench::start(Variant::Rack, 20.0, |config| config.initial_ssthresh = 20.0);
    bench.sent.clear();
    for end in 2..=20 {
        bench.sack(100 * MS + u64::from(end) * MS, 0, 1, end);
    }
    let sent = bench.sent();
    // The SACKs of packets 1 and 2 release one packet each, before the third SACK; then one packet
    // for each two.
    assert_eq!(sent[..3], [20, 21, 0]);
    assert_eq!(bench.sender.ssthresh(), 10.0);
    bench.ack_to(220 * MS, 20);
    assert_eq!(bench.sender.cwnd(), 10.0);
}

#[test]
fn a_retransmission_lost_after_a_time_out_reduces_the_window_again() {
    // Of 20 packets none arrives. After the time-out P10 is sent alone, then P11 and P12, of which
    // P11 is lost again. If the window went on growing, most packets that it allows could be lost
    // again and again.
    let mut bench = Bench::start(Variant::Rack, 10.0, |_| ());
    bench.ack_to(100 * MS, 10);
    bench.sent.clear();
    let mut now_ns = bench.time_out();
    while bench.sender.timeouts() == 0 {
        now_ns = bench.time_out();
    }
    assert_eq!(bench.sender.ssthresh(), 10.0);
    bench.sent.clear();
    bench.ack_to(now_ns + 100 * MS, 11);
    assert_eq!(bench.sent(), [11, 12]);
    bench.sack(now_ns + 200 * MS, 11, 12, 13);
    assert_eq!(bench.sender.ssthresh(), 2.0);
    assert_eq!(bench.sent(), [11]);
}

#[test]
fn what_was_sent_before_a_retransmission_is_lost_when_that_arrives() {
    // P0 is lost. The SACKs of P1 and P2 release P4 and P5, then P0 is sent again; P4 and P5 are
    // lost. The ACK of P0 reports nothing out of order, but P0 was sent after them (section 6.2,
    // step 5).
    let mut bench = Bench::start(Variant::Rack, 4.0, |_| ());
    bench.sent.clear();
    for end in 2..=4 {
        bench.sack((98 + u64::from(end)) * MS, 0, 1, end);
    }
    assert_eq!(bench.sent(), [4, 5, 0]);
    bench.ack_to(202 * MS, 4);
    assert_eq!(bench.sent(), [4]);
    assert_eq!(bench.sender.timeouts(), 0);
}

#[test]
fn recovery_goes_on_while_a_packet_sent_during_it_is_missing() {
    // P0 is lost, and so is its retransmission; P12, which was sent in recovery, is lost, too. Both
    // are sent again. The ACK of P0 and of all that was in flight at the start ends this recovery;
    // P12 is still missing, so that the next one begins and reduces the window (Linux:
    // `tcp_time_to_recover`, which asks for `lost_out`).
    let threshold = |p12_is_lost: bool| {
        let mut bench = Bench::start(Variant::Rack, 10.0, |_| ());
        for end in 2..=10 {
            bench.sack(100 * MS + u64::from(end) * MS, 0, 1, end);
        }
        assert_eq!(bench.sender.ssthresh(), 5.0);
        bench.sack(203 * MS, 0, 1, 12);
        let end = bench.sent().into_iter().max().unwrap() + 1;
        let first = 12 + u32::from(p12_is_lost);
        for upto in first + 1..=end {
            bench.sack(210 * MS, 0, first, upto);
        }
        let sent = bench.sent();
        assert!(
            sent.contains(&0) && sent.contains(&12) == p12_is_lost,
            "{sent:?}"
        );
        if p12_is_lost {
            bench.sack(310 * MS, 12, first, end);
        } else {
            bench.ack_to(310 * MS, end);
        }
        bench.sender.ssthresh()
    };
    assert!(threshold(true) < 5.0);
    assert_eq!(threshold(false), 5.0);
}
