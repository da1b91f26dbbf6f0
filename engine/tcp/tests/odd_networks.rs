//! Odd networks: round trips from 1 us to 10 s, rates from 10 kbit/s to 10 Gbit/s, windows of one
//! packet, all ACKs lost for a second, marks on everything, clocks at the ends of 32 bits. Every
//! transfer ends, and no rate or window is absurd. `SLUICE_FUZZ` says how many are tried.

use crate::channel::{Channel, Event};
use proptest::prelude::*;
use sluice_tcp::{Config, CongestionControl, Sender, Variant};

/// Dozens of time-outs in a row, with round trips of 10 s.
const UNTIL_NS: u64 = 100_000_000_000_000;

/// Times shortly before 2^32 ns, us and ms.
const STARTS_NS: [u64; 4] = [
    0,
    (1 << 32) - 20_000_000,
    ((1 << 32) - 20_000) * 1000,
    ((1 << 32) - 20) * 1_000_000,
];

fn cases() -> u32 {
    let given = std::env::var("SLUICE_FUZZ").ok();
    given.map_or(600, |cases| cases.parse().expect("SLUICE_FUZZ is a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn every_transfer_ends(
        control in prop::sample::select(CongestionControl::ALL),
        (linux, pacing, delayed, ecn) in any::<(bool, bool, bool, bool)>(),
        (receiver_window, initial_window) in (1_u32..40, 1_u32..20),
        packets in 1_u32..300,
        // powers of ten, from the least to the largest
        (rate, delay) in (4.0_f64..10.0, 2.7_f64..9.7),
        (first_lost, lost) in (0_u32..300, 0_u32..40),
        data_lost in prop::collection::vec(0_u32..300, 0..40),
        mark_above in prop::option::of(Just(0_u64)),
        start_ns in prop::sample::select(STARTS_NS.as_slice()),
        silent_from_ns in prop::option::of(0_u64..2_000_000_000),
        ack_every in 1_u8..20,
    ) {
        let base = if linux {
            Config::linux(Variant::Rack)
        } else {
            Config::rfc(Variant::Rack)
        };
        let config = Config {
            pacing,
            ecn,
            receiver_window,
            initial_window: f64::from(initial_window),
            ack_every,
            delayed_ack_ns: if delayed { base.delayed_ack_ns } else { None },
            ..base
        };
        let config = config.with(if linux { control.in_linux() } else { control });
        config.check().unwrap();
        let channel = Channel {
            rate_bps: 10_f64.powf(rate) as u64,
            delay_ns: 10_f64.powf(delay) as u64,
            data_bytes: 1500,
            data_lost,
            data_marked: vec![],
            mark_above_ns: mark_above,
            acks_lost: (first_lost..first_lost + lost).collect(),
        };
        let sender = Sender::new(&config, packets, 0);
        let silent_ns = silent_from_ns.map_or(0..0, |from_ns| {
            start_ns + from_ns..start_ns + from_ns + 1_000_000_000
        });
        let until_ns = start_ns + UNTIL_NS;
        let events =
            crate::channel::run_from(start_ns, silent_ns, &channel, &config, sender, until_ns);
        let (mut last_ns, mut sent) = (0, 0);
        for event in &events {
            match *event {
                Event::Send { time_ns, .. } => (last_ns, sent) = (time_ns, sent + 1),
                Event::Window { time_ns, cwnd, .. } => {
                    prop_assert!(cwnd > 0.0 && cwnd < 1e7, "{cwnd}");
                    last_ns = last_ns.max(time_ns);
                }
            }
        }
        prop_assert!(last_ns < until_ns - 1_000_000_000_000, "stalled");
        prop_assert!(sent < 100 * packets + 10_000, "{sent}");
    }
}
