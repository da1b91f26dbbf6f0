//! BBR on a path of 1000 packets per second and 100 ms: 100 packets fill it.

use super::{Bbr, CYCLE, Mode, State};
use crate::config::{MS, SECOND};
use crate::congestion::path::{Path, TokenBucket};
use crate::congestion::window::Congestion;
use crate::congestion::{AnyControl, CongestionControl};
use crate::sender::GREEDY;
use crate::timers::jiffies;

const PRODUCT: f64 = 100.0;
const RATE: f64 = 1000.0;

fn path() -> Path {
    Path::new(CongestionControl::Bbr, GREEDY, &[], |_| {})
}

impl Congestion {
    fn bbr(&self) -> &State {
        match &self.control {
            AnyControl::Bbr(Bbr(state)) => state,
            _ => panic!("another control"),
        }
    }
}

fn state(path: &Path) -> &State {
    path.sender.congestion.bbr()
}

/// Runs to a time; returns each change of the mode with its time, after what was before.
fn modes(path: &mut Path, before: &[(u64, Mode)], until_ns: u64) -> Vec<(u64, Mode)> {
    let mut modes = before.to_vec();
    path.watch(until_ns, |path| {
        let mode = state(path).mode;
        if mode != modes.last().unwrap().1 {
            modes.push((path.now_ns, mode));
        }
    });
    modes
}

#[test]
fn it_starts_drains_probes_for_bandwidth_and_every_ten_seconds_for_the_round_trip() {
    // Alone it empties the queue in each cycle, and so measures the shortest round trip again and
    // again. Every ten seconds the path gets a bit longer, so that it cannot.
    let mut path = path();
    let mut modes = vec![(0, Mode::Startup)];
    for until in [SECOND, 13 * SECOND, 26 * SECOND] {
        modes = self::modes(&mut path, &modes, until);
        path.delay_ns += 10_000;
    }
    let names: Vec<Mode> = modes.iter().map(|(_, mode)| *mode).collect();
    use Mode::{Drain, ProbeBw, ProbeRtt, Startup};
    let expected = [
        Startup, Drain, ProbeBw, ProbeRtt, ProbeBw, ProbeRtt, ProbeBw,
    ];
    assert_eq!(names, expected);
    let at = |place: usize| modes[place].0;
    // 10 packets double to 100 in four round trips; the full pipe is known three later, with a queue
    // of up to 1.9 products
    assert!((700 * MS..1700 * MS).contains(&at(1)), "{modes:?}");
    assert!(at(2) - at(1) < 500 * MS, "{modes:?}");
    // ten seconds after the last round trip that was the shortest
    assert!(
        (10 * SECOND..11 * SECOND + 200 * MS).contains(&at(3)),
        "{modes:?}"
    );
    let again = at(4) + 9900 * MS..23 * SECOND + 200 * MS;
    assert!(again.contains(&at(5)), "{modes:?}");
    // until 4 packets are in flight, 200 ms, and to the end of the round
    for place in [3, 5] {
        assert!(
            (200 * MS..550 * MS).contains(&(at(place + 1) - at(place))),
            "{modes:?}"
        );
    }
}

#[test]
fn startup_doubles_the_rate_in_each_round_trip() {
    let mut path = path();
    let mut rates = vec![];
    for round in 1..=4 {
        path.run(round * 100 * MS + 50 * MS);
        assert_eq!(state(&path).mode, Mode::Startup);
        rates.push(state(&path).pacing_rate);
    }
    // 2/ln 2 times the rate of delivery, less 1 %
    let gain = state(&path).pacing_gain;
    assert!((gain - 2.0 / 2_f64.ln()).abs() < 1.0 / 256.0);
    // the first window leaves at once, before the rate is known
    for pair in rates[1..].windows(2) {
        assert!((pair[1] / pair[0] - 2.0).abs() < 0.2, "{rates:?}");
    }
}

#[test]
fn in_steady_state_it_fills_the_link_with_a_small_queue() {
    let mut path = path();
    path.run(2 * SECOND);
    let (sent, mut largest, mut queue_ns, mut last) = (path.entered, 0, 0.0, 2 * SECOND);
    let mut queue = path.queue();
    path.watch(9 * SECOND, |path| {
        queue_ns += queue as f64 * (path.now_ns - last) as f64;
        (last, queue) = (path.now_ns, path.queue());
        largest = largest.max(path.sender.max - path.sender.una);
    });
    let sent = f64::from(path.entered - sent) / 7.0;
    assert!((sent / RATE - 1.0).abs() < 0.015, "{sent}");
    assert!((state(&path).largest_rate.get() / RATE - 1.0).abs() < 0.01);
    // a quarter of the product queues in one phase of eight and drains in the next: on average an
    // eighth of a quarter, and the bursts
    let mean = queue_ns / 7e9;
    assert!(mean < 0.1 * PRODUCT, "{mean}");
    // 1.25 products and what both ends hold
    assert!(f64::from(largest) < 1.4 * PRODUCT, "{largest}");
    // the window would allow two products, and three bursts
    let window = path.sender.cwnd();
    assert!(
        (2.0 * PRODUCT..2.0 * PRODUCT + 14.0).contains(&window),
        "{window}"
    );
}

#[test]
fn eight_phases_follow_each_other_and_ask_for_nothing_on_the_whole() {
    assert_eq!(CYCLE.iter().sum::<f64>() / 8.0, 1.0);
    let mut path = path();
    path.run(3 * SECOND);
    let mut phases = vec![];
    path.watch(6 * SECOND, |path| {
        let phase = state(path).cycle;
        if phases.last().is_none_or(|(_, last)| *last != phase) {
            phases.push((path.now_ns, phase));
        }
    });
    assert!(phases.len() > 16);
    for pair in phases.windows(2) {
        assert_eq!(pair[1].1, (pair[0].1 + 1) % 8);
    }
    for pair in phases[1..].windows(2) {
        let lasted_ns = pair[1].0 - pair[0].0;
        // the second ends as soon as the queue is gone; the first when 1.25 products are in flight
        let least = if pair[0].1 == 1 { 1 } else { 100 * MS };
        assert!((least..230 * MS).contains(&lasted_ns), "{pair:?}");
    }
}

#[test]
fn the_round_trip_is_probed_with_four_packets_in_flight() {
    let mut path = path();
    path.run(SECOND);
    path.delay_ns += 10_000;
    let mut low_ns = (u64::MAX, 0);
    path.watch(12 * SECOND, |path| {
        if state(path).mode == Mode::ProbeRtt && path.sender.max - path.sender.una <= 4 {
            low_ns.0 = low_ns.0.min(path.now_ns);
        } else if low_ns.1 == 0 && low_ns.0 < u64::MAX {
            low_ns.1 = path.now_ns;
        }
        if state(path).mode == Mode::ProbeRtt && state(path).pacing_rate > 0.0 {
            assert!(path.sender.cwnd() <= 4.0 || state(path).probe_rtt_until.is_none());
        }
    });
    assert!(low_ns.1 - low_ns.0 >= 200 * MS, "{low_ns:?}");
    assert_eq!(state(&path).min_rtt_ns, Some(100 * MS + 10_000));
    // its rates count for nothing
    assert!((state(&path).largest_rate.get() / RATE - 1.0).abs() < 0.01);
    assert!(path.sender.cwnd() >= 2.0 * PRODUCT);
}

#[test]
fn probing_the_round_trip_is_over_in_the_jiffy_after_200_ms() {
    for later_ms in 0..4 {
        let mut path = path();
        path.run(SECOND);
        path.delay_ns += later_ms * MS;
        let (mut begun_ns, mut over_ns) = (0, 0);
        path.watch(12 * SECOND, |path| {
            let waits = state(path).mode == Mode::ProbeRtt && state(path).probe_rtt_until.is_some();
            if waits && begun_ns == 0 {
                begun_ns = path.now_ns;
            } else if !waits && begun_ns > 0 && over_ns == 0 {
                over_ns = path.now_ns;
            }
        });
        // ACKs come in each millisecond of four, once a round trip
        let lasted = jiffies(over_ns) - jiffies(begun_ns);
        assert!(
            (51..80).contains(&lasted),
            "{later_ms} ms: {lasted} jiffies"
        );
    }
}

#[test]
fn an_equal_round_trip_does_not_put_off_its_probe() {
    // alone it measures the same one again in each cycle
    let mut path = path();
    let probed = |modes: &[(u64, Mode)]| {
        modes
            .iter()
            .filter(|(_, mode)| *mode == Mode::ProbeRtt)
            .count()
    };
    let modes = modes(&mut path, &[(0, Mode::Startup)], 26 * SECOND);
    assert_eq!(probed(&modes), 2, "{modes:?}");
}

#[test]
fn a_buffer_of_an_eighth_of_the_product_costs_packets_but_no_rate() {
    let mut path = path();
    path.limit = 12;
    path.run(5 * SECOND);
    let (entered, dropped) = (path.entered, path.dropped);
    path.run(9 * SECOND);
    let (entered, dropped) = (path.entered - entered, path.dropped - dropped);
    // in one phase of eight a quarter too much is sent, of which 12 packets fit into the buffer
    let ratio = f64::from(dropped) / f64::from(entered);
    assert!((0.002..0.05).contains(&ratio), "{ratio}");
    let arrived = f64::from(entered - dropped) / 4.0;
    assert!(arrived > 0.97 * RATE, "{arrived}");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_gives_the_window_back() {
    let mut path = path();
    path.run(4 * SECOND);
    let (before, next) = (path.sender.cwnd(), path.entered);
    path.lost = vec![next];
    let mut conserved = f64::INFINITY;
    path.watch(5 * SECOND, |path| {
        if state(path).conserves {
            conserved = conserved.min(path.sender.cwnd());
        }
    });
    // as many packets as are in flight: about one product and a bit
    assert!(
        (0.7 * PRODUCT..1.5 * PRODUCT).contains(&conserved),
        "{conserved}"
    );
    assert!((path.sender.cwnd() - before).abs() <= 4.0);
    assert_eq!(path.sender.timeouts(), 0);
}

#[test]
fn marks_change_nothing() {
    let run = |marks| {
        let mut path = Path::new(CongestionControl::Bbr, GREEDY, &[], |config| {
            config.ecn = true;
        });
        path.run(3 * SECOND);
        path.marks = marks;
        path.run(8 * SECOND);
        (path.entered, path.sender.cwnd())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_policer_is_found_and_its_rate_taken() {
    let mut path = path();
    path.service_ns = MS / 10;
    path.policer = Some(TokenBucket {
        packets_per_ns: 1e-6,
        tokens: 500.0,
        depth: 500.0,
        since_ns: 0,
    });
    let mut found_ns = None;
    path.watch(20 * SECOND, |path| {
        if state(path).policer.is_used() {
            found_ns.get_or_insert(path.now_ns);
        }
    });
    assert!(found_ns.is_some());
    // for 48 round trips hardly a packet is lost
    let mut path = self::path();
    path.service_ns = MS / 10;
    path.policer = Some(TokenBucket {
        packets_per_ns: 1e-6,
        tokens: 500.0,
        depth: 500.0,
        since_ns: 0,
    });
    path.run(found_ns.unwrap() + 500 * MS);
    let rate = state(&path).policer.rate();
    assert!((rate / RATE - 1.0).abs() < 0.15, "{rate}");
    let (entered, dropped) = (path.entered, path.dropped);
    path.run(found_ns.unwrap() + 3 * SECOND);
    let ratio = f64::from(path.dropped - dropped) / f64::from(path.entered - entered);
    assert!(ratio < 0.1, "{ratio}");
}

#[test]
fn after_a_pause_it_goes_on_at_the_rate_of_the_path() {
    let mut path = Path::new(CongestionControl::Bbr, 3000, &[], |_| {});
    path.run(8 * SECOND);
    assert!(path.sender.is_done());
    let window = path.sender.cwnd();
    path.drive(|sender, config, now, sent| {
        sender.resume(config, now, 300, 4 * SECOND, &mut |segment| {
            sent.push(segment)
        });
    });
    // no smaller window, and no burst
    assert_eq!(path.sender.cwnd(), window);
    assert!(path.queue() <= 2);
    let mut queue = 0;
    path.watch(8 * SECOND + 99 * MS, |path| queue = queue.max(path.queue()));
    assert!(queue <= 2, "{queue}");
    assert!((state(&path).pacing_rate / RATE - 0.99).abs() < 0.01);
    path.run(12 * SECOND);
    assert!(path.sender.is_done());
}

#[test]
fn a_time_out_leaves_one_packet_and_the_estimates() {
    let mut path = path();
    path.run(4 * SECOND);
    let next = path.entered;
    // all that the window of 210 packets lets go, the probe, and the first retransmission
    path.lost = (next..next + 213).collect();
    let mut least = f64::INFINITY;
    path.watch(20 * SECOND, |path| least = least.min(path.sender.cwnd()));
    assert!(path.sender.timeouts() > 0);
    assert!(least <= 4.0);
    assert!((state(&path).largest_rate.get() / RATE - 1.0).abs() < 0.02);
    assert!(path.sender.cwnd() >= 2.0 * PRODUCT);
}
