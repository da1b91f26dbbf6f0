//! Whatever is lost or marked, every transfer ends.

use crate::channel::{Channel, Event};
use proptest::prelude::*;
use sluice_tcp::{Ack, Config, CongestionControl, Receiver, Sender, Variant};

const VARIANTS: [Variant; 5] = [
    Variant::Tahoe,
    Variant::Reno,
    Variant::NewReno,
    Variant::Sack,
    Variant::Rack,
];

/// An hour: time for dozens of time-outs in a row.
const UNTIL_NS: u64 = 3_600_000_000_000;

fn lists() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0u32..300, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_transfer_ends(
        variant in prop::sample::select(&VARIANTS[..]),
        congestion_control in prop::sample::select(CongestionControl::ALL),
        like_ns2 in any::<bool>(),
        delayed in any::<bool>(),
        ecn in any::<bool>(),
        receiver_window in 1u32..100,
        packets in 0u32..200,
        (data_lost, acks_lost, data_marked) in (lists(), lists(), lists()),
    ) {
        let mut config = if like_ns2 {
            Config::ns2(variant, receiver_window)
        } else {
            Config { receiver_window, ..Config::rfc(variant) }
        };
        config.delayed_ack_ns = delayed.then_some(100_000_000);
        config.ecn = ecn;
        let config = config.with(congestion_control);
        let channel = Channel {
            rate_bps: 1_000_000,
            delay_ns: 10_000_000,
            data_bytes: 500,
            data_lost,
            data_marked,
            mark_above_ns: None,
            acks_lost,
        };
        let sender = Sender::new(&config, packets, 0);
        let events = crate::channel::run(&channel, &config, sender, UNTIL_NS);
        let last_ns = events.iter().map(|event| match *event {
            Event::Send { time_ns, .. } | Event::Window { time_ns, .. } => time_ns,
        }).max();
        prop_assert!(last_ns < Some(UNTIL_NS - 120_000_000_000), "stalled");
        let last = packets + u32::from(config.syn);
        let sent: Vec<u32> = events.iter().filter_map(|event| match *event {
            Event::Send { seq, .. } => Some(seq),
            Event::Window { .. } => None,
        }).collect();
        for seq in 0..last {
            prop_assert!(sent.contains(&seq), "{seq} was never sent");
        }
        prop_assert!(sent.iter().all(|seq| *seq < last), "more was sent than there is");
    }
}

#[test]
fn two_endpoints_are_small() {
    assert!(size_of::<Sender>() + size_of::<Receiver>() <= 400);
}

#[test]
fn after_a_long_pause_the_window_starts_again() {
    let config = Config::rfc(Variant::NewReno);
    let seconds = |seconds: u64| seconds * 1_000_000_000;
    // 40 packets, each acknowledged 100 ms later: slow start leads to a window of 50
    let mut sender = Sender::new(&config, 40, 0);
    let mut sent = vec![];
    sender.start(&config, 0, &mut |segment| sent.push(segment.seq));
    let mut next = 0;
    while !sender.is_done() {
        next += 1;
        let ack = Ack {
            next,
            ..Ack::default()
        };
        sender.on_ack(&config, seconds(1) / 10, &ack, &mut |segment| {
            sent.push(segment.seq);
        });
    }
    assert_eq!((sender.cwnd(), sender.deadline()), (50.0, None));
    for (idle_ns, burst) in [(seconds(1) / 2, 50), (seconds(3), 10)] {
        let (mut sender, mut again) = (sender.clone(), vec![]);
        sender.resume(&config, seconds(5), 60, idle_ns, &mut |segment| {
            again.push(segment.seq);
        });
        assert_eq!(again, (40..40 + burst).collect::<Vec<u32>>());
        assert!(sender.deadline().is_some() && !sender.is_done());
    }
}
