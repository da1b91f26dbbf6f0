//! Pacing: packets leave one by one, at twice the window per round trip in early slow start and at
//! 1.2 windows beyond (Linux: `tcp_update_pacing_rate`), to the nanosecond.

use crate::channel::{Channel, Event, run};
use proptest::prelude::*;
use sluice_tcp::{Ack, Config, CongestionControl, GREEDY, Segment, Sender, Variant};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
const PACED: [Variant; 5] = [
    Variant::Tahoe,
    Variant::Reno,
    Variant::NewReno,
    Variant::Sack,
    Variant::Rack,
];

/// 12,000 packets of 1250 bytes in a second, a round trip of 100 ms.
fn channel() -> Channel {
    Channel {
        rate_bps: 120_000_000,
        delay_ns: 50 * MS,
        data_bytes: 1250,
        data_lost: vec![],
        data_marked: vec![],
        mark_above_ns: None,
        acks_lost: vec![],
    }
}

fn paced(variant: Variant) -> Config {
    Config {
        pacing: true,
        delayed_ack_ns: None,
        ..Config::rfc(variant)
    }
}

/// Returns when each packet was sent, ns, with its number.
fn sent(events: &[Event]) -> Vec<(u64, u32)> {
    let times = events.iter().filter_map(|event| match event {
        Event::Send { time_ns, seq } => Some((*time_ns, *seq)),
        Event::Window { .. } => None,
    });
    times.collect()
}

/// A sender whose ACKs and releases come from the test.
struct Hands {
    config: Config,
    sender: Sender,
    sent: Vec<(u64, u32)>,
    release_ns: Option<u64>,
}

impl Hands {
    fn new(config: Config) -> Self {
        let sender = Sender::new(&config, GREEDY, 0);
        let mut hands = Self {
            config,
            sender,
            sent: vec![],
            release_ns: None,
        };
        hands.call(0, |sender, config, mut send| {
            sender.start(config, 0, &mut send);
        });
        hands
    }

    fn call(
        &mut self,
        now_ns: u64,
        of: impl FnOnce(&mut Sender, &Config, &mut dyn FnMut(Segment)),
    ) {
        let sent = &mut self.sent;
        of(&mut self.sender, &self.config, &mut |segment| {
            sent.push((now_ns, segment.seq));
        });
        if let Some(release_ns) = self.sender.take_release() {
            assert!(self.release_ns.is_none() && release_ns > now_ns);
            self.release_ns = Some(release_ns);
        }
    }

    fn ack(&mut self, now_ns: u64, next: u32) {
        self.call(now_ns, |sender, config, mut send| {
            let ack = Ack {
                next,
                ..Ack::default()
            };
            sender.on_ack(config, now_ns, &ack, &mut send);
        });
    }

    /// Serves releases until none is due before `until_ns`.
    fn release(&mut self, until_ns: u64) {
        while let Some(now_ns) = self.release_ns.filter(|at| *at <= until_ns) {
            self.release_ns = None;
            self.call(now_ns, |sender, config, mut send| {
                sender.on_release(config, now_ns, &mut send);
            });
        }
    }

    fn take(&mut self) -> Vec<(u64, u32)> {
        std::mem::take(&mut self.sent)
    }
}

#[test]
fn packets_leave_at_the_rate_of_the_window_to_the_nanosecond() {
    for variant in PACED {
        // before the first round trip is known there is no rate
        let mut hands = Hands::new(paced(variant));
        let first: Vec<_> = (0..10).map(|seq| (0, seq)).collect();
        assert_eq!(hands.take(), first);
        // the ACK of five packets opens the window to 15 in slow start, of which 5 are in flight;
        // 30 packets leave in a round trip of 100 ms
        hands.ack(100 * MS, 5);
        hands.release(105 * MS);
        let gap = 3_333_333;
        assert_eq!(hands.take(), [(100 * MS, 10), (100 * MS + gap, 11)]);
        // until the next ACK the rate stays, then it follows the window of 20
        hands.ack(105 * MS, 10);
        hands.release(113 * MS);
        let third = 100 * MS + 2 * gap;
        let later = [third, third + 2_500_000, third + 5_000_000];
        let times: Vec<u64> = hands.take().iter().map(|(at_ns, _)| *at_ns).collect();
        assert_eq!(times, later);
    }
}

#[test]
fn beyond_half_the_threshold_the_rate_is_lower() {
    let mut hands = Hands::new(Config {
        initial_ssthresh: 24.0,
        ..paced(Variant::Rack)
    });
    hands.take();
    // a window of 12 is not below half the threshold of 24: 1.2 · 12 packets in 100 ms
    hands.ack(100 * MS, 2);
    hands.release(110 * MS);
    assert_eq!(hands.take(), [(100 * MS, 10), (100 * MS + 6_944_444, 11)]);
}

#[test]
fn what_the_window_does_not_allow_waits_for_an_ack() {
    let mut hands = Hands::new(paced(Variant::Rack));
    hands.take();
    hands.ack(100 * MS, 1);
    hands.release(10 * SECOND);
    // one packet arrived, so two more may be in flight
    assert_eq!(hands.take().len(), 2);
    assert_eq!(hands.release_ns, None);
    // after a long silence the next packet leaves at once, and no credit is left for a burst
    hands.ack(200 * MS, 2);
    let sent = hands.take();
    assert_eq!(sent, [(200 * MS, 12)]);
}

#[test]
fn one_flow_on_an_empty_link_has_its_closed_form_throughput() {
    // 60 packets in flight at most: 60 packets in a round trip of 100 ms and one transmission
    for control in [CongestionControl::Reno, CongestionControl::Cubic] {
        let config = Config {
            congestion_control: control,
            receiver_window: 60,
            initial_ssthresh: 60.0,
            ..paced(Variant::Rack)
        };
        let events = run(
            &channel(),
            &config,
            Sender::new(&config, GREEDY, 0),
            20 * SECOND,
        );
        let sent = sent(&events);
        let (from, to) = (10 * SECOND, 19 * SECOND);
        let during = sent.iter().filter(|(at_ns, _)| (from..to).contains(at_ns));
        let round_trip_s = 0.1 + (1250.0 + 40.0) * 8.0 / 120e6;
        let expected = 60.0 / round_trip_s * 9.0;
        let count = during.count() as f64;
        assert!((count / expected - 1.0).abs() < 0.01, "{count} {expected}");
    }
}

#[test]
fn no_two_packets_leave_closer_than_the_rate_allows() {
    for control in [CongestionControl::Reno, CongestionControl::Cubic] {
        let config = Config {
            congestion_control: control,
            initial_ssthresh: 40.0,
            ..paced(Variant::Rack)
        };
        let events = run(
            &channel(),
            &config,
            Sender::new(&config, 2000, 0),
            20 * SECOND,
        );
        // Windows are noted after each step. With a round trip of 100 ms, a rate of twice the
        // largest window so far bounds all gaps from below.
        let (mut largest, mut last_ns) = (0.0_f64, None);
        for event in &events {
            match event {
                Event::Window { cwnd, .. } => largest = largest.max(*cwnd),
                Event::Send { time_ns, .. } => {
                    if let Some(last_ns) = last_ns.filter(|_| *time_ns > 0) {
                        let gap = (time_ns - last_ns) as f64;
                        let ratio = if largest < 20.0 { 2.0 } else { 1.2 };
                        let next = largest + 1.0;
                        assert!(gap >= 100e6 / (ratio * next) - 1.0, "{gap} {largest}");
                    }
                    last_ns = (*time_ns > 0).then_some(*time_ns);
                }
            }
        }
        assert_eq!(sent(&events).len(), 2000);
    }
}

#[test]
fn a_time_out_does_not_wait_for_the_rate_and_recovery_goes_on() {
    for variant in PACED {
        // all of the second window is lost
        let lossy = Channel {
            data_lost: (10..30).collect(),
            ..channel()
        };
        let config = paced(variant);
        let sender = Sender::new(&config, 500, 0);
        let events = run(&lossy, &config, sender, 60 * SECOND);
        let sent = sent(&events);
        let again = sent
            .iter()
            .enumerate()
            .find(|(place, (_, seq))| sent[..*place].iter().any(|(_, other)| other == seq))
            .unwrap();
        assert!(again.1.0 < 3 * SECOND, "{variant:?}: {again:?}");
        let last = sent.iter().map(|(_, seq)| *seq).max();
        assert_eq!(last, Some(499), "{variant:?}");
        assert!(sent.last().unwrap().0 < 30 * SECOND, "{variant:?}");
    }
}

#[test]
fn a_paced_start_loses_nothing_where_bursts_do() {
    // 1200 packets per second and 100 ms: 120 packets in flight fill the link. The largest queue
    // shows in the round-trip time. Twice the window per round trip comes in; only beyond half the
    // bandwidth-delay product a queue builds up.
    let slow = Channel {
        rate_bps: 12_000_000,
        ..channel()
    };
    let queue = |pacing| {
        let config = Config {
            pacing,
            ..paced(Variant::Rack)
        };
        let sender = Sender::new(&config, GREEDY, 0);
        let events = run(&slow, &config, sender, 290 * MS);
        // the link's queue, from the times at which packets were sent
        let (mut free_ns, mut longest) = (0, 0);
        for (at_ns, _) in sent(&events).into_iter().filter(|(at_ns, _)| *at_ns > 0) {
            free_ns = at_ns.max(free_ns) + 833_333;
            longest = longest.max((free_ns - at_ns) / 833_333);
        }
        longest
    };
    // windows of 20, then 40 packets: a burst of two for each ACK, which come a transmission apart
    assert!(queue(false) >= 20, "{}", queue(false));
    assert!(queue(true) <= 2, "{}", queue(true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_transfer_ends_whatever_is_lost(
        variant in prop::sample::select(&PACED[..]),
        control in prop::sample::select(&[CongestionControl::Reno, CongestionControl::Cubic][..]),
        linux in any::<bool>(),
        packets in 1_u32..200,
        data_lost in prop::collection::vec(0_u32..250, 0..40),
        acks_lost in prop::collection::vec(0_u32..250, 0..40),
    ) {
        let base = if linux { Config::linux(variant) } else { Config::rfc(variant) };
        let config = Config {
            pacing: true,
            congestion_control: if linux { control.in_linux() } else { control },
            ..base
        };
        let lossy = Channel { data_lost, acks_lost, ..channel() };
        let sender = Sender::new(&config, packets, 0);
        let events = run(&lossy, &config, sender, 3000 * SECOND);
        let last = events.iter().map(|event| match event {
            Event::Send { time_ns, .. } | Event::Window { time_ns, .. } => *time_ns,
        });
        prop_assert!(last.max().unwrap() < 2900 * SECOND);
    }
}
