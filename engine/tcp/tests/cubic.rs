//! CUBIC's window in time against that of Linux 2.6.22 in ns-2.35; `ns2/README.md` says how
//! `ns2/cubic.txt` was made.

use crate::channel::{Channel, Event};
use sluice_tcp::{Config, CongestionControl, GREEDY, Sender, Variant};

/// Relative tolerance: ns-2 counts whole packets and jiffies, ours counts fractions of both.
const APART: f64 = 0.025;

#[test]
fn the_window_follows_that_of_linux() {
    let config = Config {
        syn: false,
        initial_ssthresh: f64::INFINITY,
        congestion_control: CongestionControl::Cubic,
        ..Config::ns2(Variant::Sack, 100_000)
    };
    let channel = Channel {
        rate_bps: 100_000_000,
        delay_ns: 50_000_000,
        data_bytes: 500,
        data_lost: vec![1_000, 30_000],
        data_marked: vec![],
        mark_above_ns: None,
        acks_lost: vec![],
    };
    let sender = Sender::new(&config, GREEDY, 0);
    let ours = crate::channel::run(&channel, &config, sender, 30_000_000_000);
    let mut windows = ours.iter().filter_map(|event| match *event {
        Event::Window { time_ns, cwnd, .. } => Some((time_ns, cwnd)),
        Event::Send { .. } => None,
    });
    let mut lines = 0;
    for line in include_str!("ns2/cubic.txt").lines().skip(1) {
        let (time_s, theirs) = line.split_once(' ').unwrap();
        let (time_s, theirs): (f64, f64) = (time_s.parse().unwrap(), theirs.parse().unwrap());
        let (_, cwnd) = windows
            .find(|(time_ns, _)| *time_ns as f64 >= time_s * 1e9)
            .unwrap();
        assert!(
            (cwnd / theirs - 1.0).abs() < APART,
            "at {time_s} s: {cwnd}, in ns-2 {theirs}"
        );
        lines += 1;
    }
    assert_eq!(lines, 29);
}
