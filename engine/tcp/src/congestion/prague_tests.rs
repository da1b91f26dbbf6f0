//! Tests of Prague.

use super::{Of, State, Today, Version};
use crate::config::{Config, MS, SECOND, Variant};
use crate::congestion::path::Path;
use crate::congestion::prague_2020::In2020;
use crate::congestion::prague_2024::In2024;
use crate::congestion::window::Congestion;
use crate::congestion::{AnyControl, CongestionControl, Control, Event, Sample, Window};
use crate::sender::{GREEDY, Phase};

fn path(rtt_ms: u64, mark_every: u32) -> Path {
    path_of(CongestionControl::Prague, rtt_ms, mark_every)
}

fn path_of(control: CongestionControl, rtt_ms: u64, mark_every: u32) -> Path {
    let mut path = Path::new(control, GREEDY, &[], |_| {});
    path.service_ns = MS / 100;
    path.delay_ns = rtt_ms * MS - path.service_ns;
    path.mark_every = Some(mark_every);
    path
}

fn window(congestion: &Congestion) -> f64 {
    match &congestion.control {
        AnyControl::Prague(Of(state)) => state.window,
        AnyControl::Prague2020(Of(state)) => state.window,
        AnyControl::Prague2021(Of(state)) => state.window,
        _ => panic!("another control"),
    }
}

/// Mean window from `from_s` to `to_s`, packets.
fn mean_window(path: &mut Path, from_s: u64, to_s: u64) -> f64 {
    path.run(from_s * SECOND);
    let (mut sum, mut last_ns, mut present) = (0.0, path.now_ns, 0.0);
    path.watch(to_s * SECOND, |path| {
        sum += present * (path.now_ns - last_ns) as f64;
        (present, last_ns) = (window(&path.sender.congestion), path.now_ns);
    });
    sum / ((to_s - from_s) * SECOND) as f64
}

#[test]
fn the_window_balances_growth_with_half_the_marked_share() {
    // By chance every packet is marked with probability p. The window is reduced by W p / 2 with
    // the first mark that comes a round trip, W packets, after the last reduction: W + 1/p
    // packets later. In this time it grows by 1 - p for each W. So x = W p solves
    // x^2 / 2 = (1 - p)(x + 1).
    for every in [10, 20, 50] {
        let p = 1.0 / f64::from(every);
        let rest = 1.0 - p;
        let expected = (rest + (rest * rest + 2.0 * rest).sqrt()) / p;
        let mean = mean_window(&mut path(100, every), 60, 400);
        assert!(
            (mean / expected - 1.0).abs() < 0.08,
            "{every}: {mean} {expected}"
        );
    }
}

#[test]
fn below_25_ms_the_rate_does_not_depend_on_the_round_trip() {
    let rate = |rtt_ms: u64| mean_window(&mut path(rtt_ms, 40), 40, 100) / rtt_ms as f64;
    let at_target = rate(25);
    for rtt_ms in [10, 15] {
        let ratio = rate(rtt_ms) / at_target;
        assert!((ratio - 1.0).abs() < 0.15, "{rtt_ms} ms: {ratio}");
    }
    // above it does
    assert!((rate(100) / at_target - 0.25).abs() < 0.04);
}

#[test]
fn that_of_2020_has_the_same_window_at_all_round_trips() {
    let window = |rtt_ms| {
        let mut path = path_of(CongestionControl::Prague2020, rtt_ms, 40);
        mean_window(&mut path, 40, 100)
    };
    let at_100 = window(100);
    for rtt_ms in [10, 25] {
        let ratio = window(rtt_ms) / at_100;
        assert!((ratio - 1.0).abs() < 0.05, "{rtt_ms} ms: {ratio}");
    }
    // where round trips are longer, that of 2021 does the same
    let mut path = path_of(CongestionControl::Prague2021, 100, 40);
    assert_eq!(mean_window(&mut path, 40, 100), at_100);
}

#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let mut path = path(100, u32::MAX);
    path.run(450 * MS);
    path.mark_every = Some(1);
    let mut before = 0.0;
    path.watch(600 * MS, |path| {
        if path.sender.ssthresh().is_infinite() {
            before = window(&path.sender.congestion);
        }
    });
    let after = path.sender.ssthresh();
    assert!(before > 100.0);
    assert!((after / before - 0.5).abs() < 0.01, "{before} {after}");
}

/// A flow of 20 packets over 20 ms, whose round trips count as 25 ms, 30 ms after a reduction.
pub(super) fn independent<V: Version>() -> (State<V>, Window) {
    let state = State {
        window: 20.0,
        alpha: Some(0.5),
        rounds: V::ROUNDS_BEFORE,
        acked: 101,
        cwr_end: 100,
        reduced_ns: 1000 * MS,
        estimated_ns: 1000 * MS,
        round_end: 120,
        srtt_ns: 20 * MS,
        ..State::default()
    };
    let (cwnd, ssthresh) = (20.0, 10.0);
    let window = Window {
        cwnd,
        ssthresh,
        more: None,
    };
    (state, window)
}

pub(super) fn ack(now_ms: u64, next: u32, ce: u32) -> Sample {
    let ack = Sample::of_one(now_ms * MS, 20 * MS, true);
    Sample {
        next,
        sent: next + 20,
        ce,
        ..ack
    }
}

#[test]
fn a_mark_soon_after_a_reduction_lets_its_round_go_by() {
    let (mut state, mut window) = independent::<Today>();
    for (now_ms, next, phase, left) in [
        // CWR of the last reduction goes on
        (1030, 100, Phase::Open, 20.0),
        // it begins anew, 20 ms after the reduction, and lasts up to packet 121
        (1020, 101, Phase::Open, 20.0),
        (1040, 121, Phase::Open, 20.0),
        (1041, 122, Phase::Recovery, 20.0),
        (1041, 122, Phase::Open, 15.0),
    ] {
        state.answer_marks(
            &mut window,
            &Sample {
                phase,
                ..ack(now_ms, next, 1)
            },
        );
        assert_eq!(state.window, left, "{now_ms} {next}");
    }
    assert_eq!((state.cwr_end, state.reduced_ns), (142, 1041 * MS));
}

#[test]
fn a_round_of_the_estimate_lasts_25_ms() {
    let (mut state, window) = independent::<Today>();
    for (now_ms, next, counted) in [(1020, 120, 1), (1024, 124, 2), (1025, 125, 0)] {
        state.estimate(&window, &ack(now_ms, next, 0));
        assert_eq!(state.delivered, counted, "{now_ms}");
    }
    assert_eq!(state.alpha, Some(0.5 * 15.0 / 16.0));
    assert_eq!(state.round_end, 145);
    // the next one ends with all that was sent by then
    state.estimate(&window, &ack(1051, 144, 0));
    assert_eq!(state.delivered, 1);
    state.estimate(&window, &ack(1051, 145, 0));
    assert_eq!(state.delivered, 0);
}

#[test]
fn whole_packets_are_paced() {
    let (mut state, window) = independent::<Today>();
    for (packets, in_flight, paced) in [(20.9, 3, 20.0), (2.3, 3, 3.0)] {
        (state.window, state.in_flight) = (packets, in_flight);
        assert_eq!(state.rate(&window, 20 * MS), paced * 50.0);
    }
    // older versions pace the window
    let (mut state, window) = independent::<In2020>();
    for (in_flight, paced) in [(3, 20.0), (23, 23.0)] {
        (state.window, state.in_flight) = (2.5, in_flight);
        assert_eq!(state.rate(&window, 20 * MS), paced * 50.0);
    }
}

/// How much faster packets leave than whole ones at the rate.
fn over_rate<V: Version>(config: &Config) -> f64 {
    let (state, window) = independent::<V>();
    let rate = state.rate(&window, 20 * MS);
    let paced = Of(Box::new(state)).pacing_rate(&window, config, 0, 20 * MS);
    paced.unwrap() / rate
}

#[test]
fn pacing_counts_payload_which_an_option_makes_smaller_today() {
    let configs = [Config::linux(Variant::Rack), Config::rfc(Variant::Rack)];
    let found = configs.map(|config| [over_rate::<Today>(&config), over_rate::<In2020>(&config)]);
    let expected = [[1436.0, 1448.0], [1448.0, 1448.0]];
    for (found, payload) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found * payload - 1500.0).abs() < 1e-6, "{found} {payload}");
    }
}

#[test]
fn it_asks_for_what_it_needs() {
    let config = Config::rfc(Variant::Rack).with(CongestionControl::Prague);
    assert!(config.ecn && config.accurate_ecn && config.pacing);
    config.check().unwrap();
}

#[test]
fn that_of_2024_starts_its_estimate_at_one_and_sends_pairs() {
    let (mut today, mut window) = independent::<Today>();
    let (mut in_2024, mut other) = independent::<In2024>();
    (today.alpha, in_2024.alpha) = (None, None);
    today.answer_marks(&mut window, &ack(1100, 121, 1));
    in_2024.answer_marks(&mut other, &ack(1100, 121, 1));
    assert_eq!((today.window, today.alpha), (10.0, Some(0.0)));
    assert_eq!((in_2024.window, in_2024.alpha), (10.0, Some(1.0)));
    // and lets two packets leave together, however slow it is
    assert_eq!(Of(Box::new(today)).burst(), 1);
    assert_eq!(Of(Box::new(in_2024)).burst(), 2);
}

/// Mean rate of a flow over 10 ms of which every second packet is marked, packets per second.
fn rate_of_small_windows(control: CongestionControl) -> f64 {
    let mut path = path_of(control, 10, 2);
    path.run(40 * SECOND);
    let before = path.entered;
    path.run(100 * SECOND);
    f64::from(path.entered - before) / 60.0
}

#[test]
fn small_windows_of_2024_follow_from_a_rate() {
    // Two packets in 10 ms are the least window. By the rate, half of the packets let it grow by a
    // packet in 25 ms squared, and each 25 ms, or the round after, the marks of the other half take
    // a quarter: it ends between 1/p - 1 = 1 and four packets in 25 ms.
    let least = 2.0 / 10e-3;
    let today = rate_of_small_windows(CongestionControl::Prague);
    let in_2024 = rate_of_small_windows(CongestionControl::Prague2024);
    assert!((today / least - 1.0).abs() < 0.05, "{today}");
    assert!((1.0..4.0).contains(&(in_2024 * 25e-3)), "{in_2024}");
}

#[test]
fn a_spurious_time_out_takes_nothing_of_the_rate_of_small_windows() {
    let (mut state, mut window) = independent::<In2024>();
    (state.window, window.cwnd, window.ssthresh) = (3.0, 3.0, 2.0);
    // the window is small from this ACK on: 3 packets in 20 ms,
    state.set_rate(&window, 1030 * MS);
    state.set_rate(&window, 1030 * MS);
    let before = state.rate;
    // of which the second half of a round takes 1/32
    assert_eq!(before, 150.0 * 31.0 / 32.0);
    let mut prague = Of(Box::new(state));
    let config = crate::Config::rfc(crate::Variant::Rack).with(CongestionControl::Prague2024);
    let mut rate_after = |event| {
        prague.on_event(&mut window, &config, event);
        prague.0.set_rate(&window, 1030 * MS);
        prague.0.rate
    };
    let time_out = Event::TimeOut {
        used: Some(3.0),
        in_flight: 1,
        lost: 0,
    };
    assert_eq!(rate_after(time_out), before / 2.0);
    assert_eq!(rate_after(Event::SpuriousTimeOut), before);
}
