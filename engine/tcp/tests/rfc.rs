//! Small traces worked out by hand from the RFCs' text. The tests make up the ACKs, so that each
//! test shows one rule. Times are in ns, windows in packets.

use crate::bench::Bench;
use sluice_ecn::Ecn;
use sluice_tcp::{Ack, Config, CongestionControl, Receiver, Segment, Variant};

const MS: u64 = 1_000_000;

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    // RFC 5681, section 3.1: each ACK adds one packet.
    let mut bench = Bench::start(Variant::NewReno, 2.0, |_| ());
    assert_eq!(bench.sent(), [0, 1]);
    bench.ack_to(100 * MS, 1);
    assert_eq!((bench.sender.cwnd(), bench.sent()), (3.0, vec![2, 3]));
    bench.ack_to(100 * MS, 2);
    assert_eq!((bench.sender.cwnd(), bench.sent()), (4.0, vec![4, 5]));
}

#[test]
fn congestion_avoidance_adds_about_a_packet_each_round_trip() {
    // RFC 5681, equation 3: cwnd += 1/cwnd for each ACK, so 4 + 1/4 + ... after four.
    let mut bench = Bench::start(Variant::Reno, 4.0, |config| config.initial_ssthresh = 4.0);
    for next in 1..=4 {
        bench.ack_to(100 * MS, next);
    }
    let by_hand: f64 = [(); 4].iter().fold(4.0, |cwnd: f64, ()| cwnd + 1.0 / cwnd);
    assert_eq!(bench.sender.cwnd(), by_hand);
    assert!(by_hand > 4.9 && by_hand < 5.0);
}

#[test]
fn the_third_duplicate_ack_halves_the_flight_and_retransmits() {
    // RFC 5681, section 3.2: flight 10, limited transmit sends 10 and 11, then packet 0 again;
    // ssthresh = 10/2 without those two. The window is 5 + 3 duplicate ACKs, and 12 packets are in
    // flight: nothing new is sent before the eighth duplicate allows 5 + 8.
    let mut bench = Bench::start(Variant::NewReno, 10.0, |_| ());
    bench.sent();
    bench.ack_to(100 * MS, 0);
    assert_eq!(bench.sent(), [10]);
    bench.ack_to(100 * MS, 0);
    assert_eq!(bench.sent(), [11]);
    bench.ack_to(100 * MS, 0);
    assert_eq!(bench.sent(), [0]);
    assert_eq!((bench.sender.ssthresh(), bench.sender.cwnd()), (5.0, 5.0));
    for _ in 4..=7 {
        bench.ack_to(100 * MS, 0);
        assert_eq!(bench.sent(), []);
    }
    bench.ack_to(100 * MS, 0);
    assert_eq!(bench.sent(), [12]);
}

#[test]
fn without_limited_transmit_the_first_two_duplicates_send_nothing() {
    let mut bench = Bench::start(Variant::NewReno, 10.0, |config| {
        config.limited_transmit = false
    });
    bench.sent();
    bench.ack_to(100 * MS, 0);
    bench.ack_to(100 * MS, 0);
    assert_eq!(bench.sent(), []);
}

/// Loses packets 0 and 4 of 10, up to the retransmission of 0. Eight duplicate ACKs report packets
/// 1 to 3 and 5 to 9; the first two of them release 10 and 11.
fn two_losses(variant: Variant) -> Bench {
    let mut bench = Bench::start(variant, 10.0, |_| ());
    for _ in 0..8 {
        bench.ack_to(100 * MS, 0);
    }
    assert_eq!(bench.sent()[10..], [10, 11, 0, 12]);
    bench
}

#[test]
fn a_partial_ack_retransmits_the_next_hole() {
    // RFC 6582, section 3.2, step 3: ACK 4 is partial (recover is 11); packet 4 is sent again at
    // once. The window was 5 + 8, less the 4 acknowledged, plus 1: 10. Packets 4 to 12 are in
    // flight, so 13 may follow.
    let mut bench = two_losses(Variant::NewReno);
    bench.ack_to(200 * MS, 4);
    assert_eq!(bench.sent(), [4, 13]);
    // ACK 13 covers recover: cwnd = min(ssthresh, flight + 1) = min(5, 2).
    bench.ack_to(300 * MS, 13);
    assert_eq!(bench.sender.cwnd(), 2.0);
    assert_eq!(bench.sent(), [14]);
    assert_eq!(bench.sender.retransmissions(), 2);
}

#[test]
fn renos_recovery_ends_with_the_first_new_ack() {
    // RFC 5681, section 3.2, step 6: cwnd = ssthresh = 5; packets 4 to 12 are in flight, nothing
    // new is sent.
    let mut bench = two_losses(Variant::Reno);
    bench.ack_to(200 * MS, 4);
    assert_eq!((bench.sender.cwnd(), bench.sent()), (5.0, vec![]));
}

#[test]
fn tahoe_starts_again_from_one_packet() {
    let mut bench = Bench::start(Variant::Tahoe, 8.0, |_| ());
    bench.sent();
    for _ in 0..3 {
        bench.ack_to(100 * MS, 0);
    }
    assert_eq!(bench.sent(), [8, 9, 0]);
    assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (1.0, 4.0));
    bench.ack_to(200 * MS, 10);
    assert_eq!((bench.sender.cwnd(), bench.sent()), (2.0, vec![10, 11]));
}

#[test]
fn duplicates_of_the_same_window_cause_no_second_reduction() {
    // RFC 6582, section 3.2, step 2: after the time-out recover covers packets 0 to 9.
    let mut bench = Bench::start(Variant::NewReno, 10.0, |_| ());
    let now_ns = bench.time_out();
    bench.ack_to(now_ns + 100 * MS, 5);
    let (cwnd, ssthresh) = (bench.sender.cwnd(), bench.sender.ssthresh());
    for _ in 0..5 {
        bench.ack_to(now_ns + 101 * MS, 5);
    }
    assert_eq!(
        (bench.sender.cwnd(), bench.sender.ssthresh()),
        (cwnd, ssthresh)
    );
}

#[test]
fn the_time_out_follows_rfc_6298() {
    // Section 2: 1 s at first; after a first R: SRTT = R, RTTVAR = R/2, RTO = 3 R; then
    // RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, SRTT = 7/8 SRTT + 1/8 R', RTO = SRTT + 4 RTTVAR.
    let mut bench = Bench::start(Variant::NewReno, 1.0, |config| config.min_rto_ns = MS);
    assert_eq!(bench.sender.deadline(), Some(1_000 * MS));
    bench.ack_to(400 * MS, 1);
    assert_eq!(bench.sender.srtt_ns(&bench.config), 400 * MS);
    assert_eq!(bench.sender.deadline(), Some((400 + 1_200) * MS));
    bench.ack_to(400 * MS + 480 * MS, 2);
    // RTTVAR = 150 + 20 = 170, SRTT = 350 + 60 = 410, RTO = 410 + 680.
    assert_eq!(bench.sender.srtt_ns(&bench.config), 410 * MS);
    assert_eq!(bench.sender.deadline(), Some((880 + 1_090) * MS));
}

#[test]
fn the_time_out_keeps_its_least_value() {
    // RFC 6298, 2.4: less than 1 s is rounded up.
    let mut bench = Bench::start(Variant::NewReno, 1.0, |_| ());
    bench.ack_to(20 * MS, 1);
    assert_eq!(bench.sender.deadline(), Some(1_020 * MS));
}

#[test]
fn time_outs_double_up_to_the_greatest() {
    // RFC 6298, 5.5: 1, 2, 4, ... 32 s, then 60 s.
    let mut bench = Bench::start(Variant::NewReno, 1.0, |_| ());
    let mut waits_s = vec![];
    let mut now_ns = 0;
    for _ in 0..8 {
        let then_ns = bench.time_out();
        waits_s.push((then_ns - now_ns) / (1_000 * MS));
        now_ns = then_ns;
    }
    assert_eq!(waits_s, [1, 2, 4, 8, 16, 32, 60, 60]);
    assert_eq!(bench.sent(), [0; 9]);
    assert_eq!(bench.sender.timeouts(), 8);
}

#[test]
fn the_least_time_out_doubles_up_to_the_greatest_there_can_be() {
    let mut bench = Bench::start(Variant::NewReno, 1.0, |config| {
        config.tick_ns = 1000;
        config.min_rto_ns = 1000;
        config.initial_rto_ns = 1000;
        config.max_rto_ns = 1_000_000_000_000;
    });
    for _ in 0..40 {
        bench.time_out();
    }
    let (last_ns, due_ns) = (bench.time_out(), bench.sender.deadline().unwrap());
    assert_eq!(due_ns - last_ns, bench.config.max_rto_ns);
    bench.config.max_rto_ns += 1000;
    assert_eq!(
        bench.config.check().unwrap_err().to_string(),
        "tcp.max_rto_ns = 1000000001000 must lie between 1000 and 1000000000000 (ns)"
    );
}

#[test]
fn a_retransmitted_packet_gives_no_round_trip_time() {
    // Karn's algorithm (RFC 6298, section 3): ACK 1 may answer either copy; the time-out stays
    // doubled until packet 1, sent once, is acknowledged.
    let mut bench = Bench::start(Variant::NewReno, 1.0, |_| ());
    let now_ns = bench.time_out();
    bench.ack_to(now_ns + 100 * MS, 1);
    assert_eq!(bench.sender.srtt_ns(&bench.config), 0);
    assert_eq!(
        bench.sender.deadline(),
        Some(now_ns + 100 * MS + 2_000 * MS)
    );
    bench.ack_to(now_ns + 200 * MS, 2);
    assert_eq!(bench.sender.srtt_ns(&bench.config), 100 * MS);
    assert_eq!(
        bench.sender.deadline(),
        Some(now_ns + 200 * MS + 1_000 * MS)
    );
}

#[test]
fn a_time_out_halves_the_flight_once() {
    // RFC 5681, equation 4, and section 3.1: ssthresh = 20/2; the second time-out of packet 0
    // leaves it there. Packet 4 was sent again, but not because it timed out: its time-out halves
    // the packets then in flight, 4 to 8, which four ACKs of packets that had arrived released.
    let mut bench = Bench::start(Variant::NewReno, 20.0, |_| ());
    bench.time_out();
    assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (1.0, 10.0));
    let now_ns = bench.time_out();
    assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (1.0, 10.0));
    for next in 1..=4 {
        bench.ack_to(now_ns + 100 * MS, next);
    }
    bench.time_out();
    assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (1.0, 2.5));
}

#[test]
fn a_time_out_in_recovery_halves_the_window_and_not_all_that_flies() {
    // Packet 0 of 8 is lost, and so is its retransmission: cwnd = ssthresh = 4. SACK blocks up to
    // packet 39 release new data. When packet 0 times out, more than 40 packets are not
    // acknowledged; half of them would be more than the window ever was. RFC 5681, equation 4, is
    // an upper bound: 4/2.
    for variant in [Variant::NewReno, Variant::Sack] {
        let mut bench = Bench::start(variant, 8.0, |_| ());
        for end in 2..=40 {
            bench.sack(100 * MS, 0, 1, end);
        }
        assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (4.0, 4.0));
        assert!(bench.sent().last() > Some(&40), "{variant:?}");
        bench.time_out();
        assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (1.0, 2.0));
    }
}

#[test]
fn sack_fills_all_holes_within_a_round_trip() {
    // RFC 6675: packets 0, 3 and 6 of 10 are lost. The third duplicate leaves cwnd = ssthresh = 5;
    // limited transmit sent 10 and 11. With 1, 2 and 4 SACKed packet 0 is lost (three above) and 3
    // is not: pipe = 12 - 4 + 1 (0 again) = 9. Each further SACK reduces pipe by one; that of
    // packet 7 also makes 3 lost.
    let mut bench = Bench::start(Variant::Sack, 10.0, |_| ());
    bench.sent();
    bench.sack(100 * MS, 0, 1, 2);
    bench.sack(101 * MS, 0, 1, 3);
    assert_eq!(bench.sent(), [10, 11]);
    bench.sack(102 * MS, 0, 4, 5);
    assert_eq!((bench.sender.ssthresh(), bench.sent()), (5.0, vec![0]));
    bench.sack(103 * MS, 0, 4, 6); // pipe 8
    bench.sack(104 * MS, 0, 7, 8); // 3 lost as well: 6
    assert_eq!(bench.sent(), []);
    bench.sack(105 * MS, 0, 7, 9); // 5
    assert_eq!(bench.sent(), []);
    bench.sack(106 * MS, 0, 7, 10); // 6 lost: 3, room for two
    assert_eq!(bench.sent(), [3, 6]);
    bench.sack(107 * MS, 0, 7, 11);
    bench.sack(108 * MS, 0, 7, 12);
    assert_eq!(bench.sent(), [12, 13]);
    bench.ack_to(202 * MS, 12);
    assert_eq!(bench.sender.cwnd(), 5.0);
    assert_eq!(bench.sender.retransmissions(), 3);
    assert_eq!(bench.sent(), [14, 15, 16]);
}

#[test]
fn a_packet_sent_again_within_the_recovery_it_was_first_sent_in_gives_no_round_trip_time() {
    // RFC 6298, section 3. Packet 0 of 6 is lost, and lost again; limited transmit sends 6 and 7.
    // Packet 8, the first new packet that is timed, is lost too: with 9 to 11 SACKed it is sent
    // again, before 0 is acknowledged.
    let mut bench = Bench::start(Variant::Sack, 6.0, |_| ());
    for end in [2, 3, 4] {
        bench.sack(100 * MS, 0, 1, end);
    }
    bench.sack(110 * MS, 0, 1, 8); // pipe 1, cwnd 3
    bench.sent();
    bench.sack(300 * MS, 0, 9, 10); // pipe 2
    bench.sack(310 * MS, 0, 9, 11);
    bench.sack(320 * MS, 0, 9, 12);
    assert!(bench.sent().contains(&8));
    bench.ack_to(1000 * MS, 8);
    bench.ack_to(1010 * MS, 12);
    assert_eq!(bench.sender.srtt_ns(&bench.config), 0);
}

#[test]
fn a_window_of_data_reacts_once_to_marks_and_says_so_once() {
    // RFC 3168, section 6.1.2: the window is halved at the first echo; the echoes of packets sent
    // before that change nothing; the next new packet carries CWR. An ACK with an echo does not
    // open the window.
    let echo = |next| Ack {
        next,
        ece: true,
        ..Ack::default()
    };
    let mut bench = Bench::start(Variant::NewReno, 8.0, |config| config.ecn = true);
    assert!(
        bench
            .sent
            .drain(..)
            .all(|segment| segment.ecn.is_capable() && !segment.cwr)
    );
    bench.ack(100 * MS, echo(1));
    assert_eq!((bench.sender.cwnd(), bench.sender.ssthresh()), (4.0, 4.0));
    for next in 2..=8 {
        bench.ack(101 * MS, echo(next));
        assert_eq!(bench.sender.cwnd(), 4.0);
    }
    let cwr: Vec<bool> = bench.sent.iter().map(|segment| segment.cwr).collect();
    assert_eq!(cwr, [true, false, false, false]);
    bench.ack(200 * MS, echo(9));
    assert_eq!(bench.sender.cwnd(), 2.0);
}

#[test]
fn retransmissions_are_not_ecn_capable() {
    // RFC 3168, section 6.1.5.
    let mut bench = Bench::start(Variant::NewReno, 4.0, |config| config.ecn = true);
    bench.sent();
    bench.time_out();
    assert!(bench.sent[0].retransmitted && !bench.sent[0].ecn.is_capable());
}

#[test]
fn cubic_takes_three_tenths_off() {
    // RFC 9438, section 4.6: ssthresh = 0.7 times the flight.
    let mut bench = Bench::start(Variant::Sack, 20.0, |config| {
        config.congestion_control = CongestionControl::Cubic;
        config.limited_transmit = false;
    });
    for end in [2, 3, 4] {
        bench.sack(100 * MS, 0, 1, end);
    }
    assert_eq!((bench.sender.ssthresh(), bench.sender.cwnd()), (14.0, 14.0));
}

#[test]
fn an_ack_of_packets_never_sent_is_ignored() {
    let mut bench = Bench::start(Variant::Sack, 4.0, |_| ());
    bench.sent();
    bench.ack_to(100 * MS, 5);
    bench.sack(100 * MS, 0, 7, u32::MAX);
    assert_eq!((bench.sender.acknowledged(), bench.sent()), (0, vec![]));
}

/// Returns the ACKs with which a receiver answers a packet.
fn answers(receiver: &mut Receiver, config: &Config, now_ns: u64, segment: &Segment) -> Vec<Ack> {
    let mut acks = vec![];
    receiver.on_segment(config, now_ns, segment, &mut |ack| acks.push(ack));
    acks
}

fn data(seq: u32) -> Segment {
    Segment {
        seq,
        syn: false,
        retransmitted: false,
        ecn: Ecn::Ect0,
        cwr: false,
        push: false,
        ace: 0,
    }
}

#[test]
fn every_second_packet_in_order_is_acknowledged_at_once() {
    // RFC 5681, section 4.2.
    let config = Config::rfc(Variant::NewReno);
    let mut receiver = Receiver::new();
    assert_eq!(answers(&mut receiver, &config, 0, &data(0)), []);
    assert_eq!(receiver.deadline(), Some(100 * MS));
    assert_eq!(answers(&mut receiver, &config, MS, &data(1))[0].next, 2);
    assert_eq!(receiver.deadline(), None);
    assert_eq!(answers(&mut receiver, &config, 2 * MS, &data(2)), []);
    assert_eq!(receiver.on_timer(&config, 101 * MS), None);
    assert_eq!(receiver.on_timer(&config, 102 * MS).unwrap().next, 3);
}

#[test]
fn out_of_order_packets_and_those_that_fill_gaps_are_acknowledged_at_once() {
    // RFC 5681, section 4.2; the most recent run first (RFC 2018, section 4).
    let config = Config::rfc(Variant::Sack);
    let mut receiver = Receiver::new();
    let mut ack = |seq| {
        let ack = answers(&mut receiver, &config, 0, &data(seq))[0];
        let blocks: Vec<(u32, u32)> = ack
            .sack
            .iter()
            .filter(|block| !block.is_empty())
            .map(|block| (block.start, block.end))
            .collect();
        (ack.next, blocks)
    };
    assert_eq!(ack(2), (0, vec![(2, 3)]));
    assert_eq!(ack(6), (0, vec![(6, 7), (2, 3)]));
    assert_eq!(ack(4), (0, vec![(4, 5), (6, 7), (2, 3)]));
    assert_eq!(ack(8), (0, vec![(8, 9), (4, 5), (6, 7)]));
    assert_eq!(ack(3), (0, vec![(2, 5), (8, 9), (6, 7)]));
    assert_eq!(ack(0), (1, vec![(2, 5), (8, 9), (6, 7)]));
    assert_eq!(ack(1), (5, vec![(8, 9), (6, 7)]));
    assert_eq!(ack(5), (7, vec![(8, 9)]));
    assert_eq!(ack(7), (9, vec![]));
}

#[test]
fn a_mark_is_echoed_until_the_sender_answers() {
    // RFC 3168, section 6.1.3.
    let config = Config {
        delayed_ack_ns: None,
        ecn: true,
        ..Config::rfc(Variant::NewReno)
    };
    let mut receiver = Receiver::new();
    let mut echoes = |segment| answers(&mut receiver, &config, 0, &segment)[0].ece;
    assert!(!echoes(data(0)));
    assert!(echoes(Segment {
        ecn: Ecn::Ce,
        ..data(1)
    }));
    assert!(echoes(data(2)));
    assert!(!echoes(Segment {
        cwr: true,
        ..data(3)
    }));
    assert!(echoes(Segment {
        cwr: true,
        ecn: Ecn::Ce,
        ..data(4)
    }));
}

#[test]
fn growth_counts_packets_not_acks() {
    // RFC 5681, section 3.1; RFC 3465, section 2: every second packet is acknowledged. Slow start
    // still doubles the window, and stops at the threshold; then the window grows by a packet each
    // round trip.
    let mut bench = Bench::start(Variant::NewReno, 4.0, |config| {
        config.initial_ssthresh = 7.0
    });
    bench.ack_to(100 * MS, 2);
    assert_eq!(bench.sender.cwnd(), 6.0);
    bench.ack_to(100 * MS, 4);
    let beyond = 7.0 + 1.0 / 7.0;
    assert!((bench.sender.cwnd() - beyond).abs() < 1e-12);
    for next in [6, 8, 10, 11] {
        bench.ack_to(200 * MS, next);
    }
    assert!((bench.sender.cwnd() - beyond - 1.0).abs() < 0.1);
}

#[test]
fn after_a_time_out_an_ack_of_much_counts_for_one() {
    // RFC 3465, section 2.3: the ACK is for packets that arrived before.
    let mut bench = Bench::start(Variant::NewReno, 10.0, |_| ());
    bench.time_out();
    bench.ack_to(1_100 * MS, 9);
    assert_eq!(bench.sender.cwnd(), 2.0);
}

#[test]
fn a_receiver_that_thins_acks_waits_for_so_many_packets_or_for_its_time() {
    let config = Config {
        ack_every: 4,
        ..Config::rfc(Variant::Sack)
    };
    let mut receiver = Receiver::new();
    let mut arrive = |now_ms: u64, seq: u32| {
        let segment = Segment {
            seq,
            syn: false,
            retransmitted: false,
            ecn: Ecn::NotEct,
            cwr: false,
            push: false,
            ace: 0,
        };
        let mut acks = vec![];
        receiver.on_segment(&config, now_ms * MS, &segment, &mut |ack: Ack| {
            acks.push(ack.next)
        });
        (acks, receiver.deadline())
    };
    for seq in 0..3 {
        // the time counts from the first packet
        assert_eq!(arrive(u64::from(seq), seq), (vec![], Some(100 * MS)));
    }
    assert_eq!(arrive(3, 3), (vec![4], None));
    assert_eq!(arrive(4, 4), (vec![], Some(104 * MS)));
    // a gap is told at once
    assert_eq!(arrive(5, 6), (vec![5], None));
}
