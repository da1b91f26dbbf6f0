//! BBR version 3 on a path of 1000 packets per second and 100 ms: 100 packets fill it.

use super::{Bbr3, Cycle, Mode, State};
use crate::config::{MS, SECOND};
use crate::congestion::path::Path;
use crate::congestion::{AnyControl, CongestionControl};
use crate::sender::GREEDY;

const PRODUCT: f64 = 100.0;
const RATE: f64 = 1000.0;

fn path() -> Path {
    Path::new(CongestionControl::Bbr3, GREEDY, &[], |_| {})
}

fn state(path: &Path) -> &State {
    match &path.sender.congestion.control {
        AnyControl::Bbr3(Bbr3(state)) => state,
        _ => panic!("another control"),
    }
}

/// Runs to a time; returns each change of the mode with its time.
fn modes(path: &mut Path, until_ns: u64) -> Vec<(u64, Mode)> {
    let mut modes: Vec<(u64, Mode)> = vec![];
    path.watch(until_ns, |path| {
        let mode = state(path).mode;
        if modes.last().is_none_or(|(_, last)| *last != mode) {
            modes.push((path.now_ns, mode));
        }
    });
    modes
}

#[test]
fn it_starts_drains_and_cycles_through_the_phases_in_their_order() {
    use Cycle::{Cruise, Down, Refill, Up};
    let mut path = path();
    let modes = modes(&mut path, 4900 * MS);
    let names: Vec<Mode> = modes.iter().map(|(_, mode)| *mode).collect();
    assert_eq!(names[..2], [Mode::Startup, Mode::Drain]);
    // where DRAIN ends there is nothing left for DOWN to do
    let cycle = [Cruise, Refill, Up, Down].map(Mode::ProbeBw);
    for (place, mode) in names[2..].iter().enumerate() {
        assert_eq!(*mode, cycle[place % 4], "{names:?}");
    }
    assert!(names.len() > 6, "{names:?}");
    // it waits for 2 to 3 s; 62 to 63 rounds would be longer here
    let [cruise, refill, up] = [2, 3, 4].map(|place| modes[place].0);
    assert!(
        (2000 * MS..3200 * MS).contains(&(refill - cruise)),
        "{modes:?}"
    );
    // REFILL lasts a round trip
    assert!((100 * MS..260 * MS).contains(&(up - refill)), "{modes:?}");
}

#[test]
fn alone_it_fills_the_link_with_a_small_queue() {
    let mut path = path();
    path.run(2 * SECOND);
    let (sent, mut queue_ns, mut last) = (path.entered, 0.0, 2 * SECOND);
    let mut queue = path.queue();
    path.watch(20 * SECOND, |path| {
        queue_ns += queue as f64 * (path.now_ns - last) as f64;
        (last, queue) = (path.now_ns, path.queue());
    });
    let sent = f64::from(path.entered - sent) / 18.0;
    // PROBE_RTT takes half of 200 to 400 ms in 5 s, pacing 1 %
    assert!((0.94..1.005).contains(&(sent / RATE)), "{sent}");
    assert!(queue_ns / 18e9 < 0.25 * PRODUCT, "{}", queue_ns / 18e9);
    assert!((state(&path).bounds.max_rate() / RATE - 1.0).abs() < 0.02);
}

#[test]
fn every_five_seconds_half_a_product_is_in_flight() {
    let mut path = path();
    path.run(SECOND);
    // it cannot measure a shorter round trip any more
    path.delay_ns += 10_000;
    let mut least = u32::MAX;
    let mut begins = vec![];
    path.watch(14 * SECOND, |path| {
        let probes = state(path).mode == Mode::ProbeRtt;
        if probes {
            least = least.min(path.sender.max - path.sender.una);
        }
        if probes && begins.last().is_none_or(|last| path.now_ns - last > SECOND) {
            begins.push(path.now_ns);
        }
    });
    assert!(begins.len() >= 2, "{begins:?}");
    assert!(
        (5 * SECOND..6 * SECOND).contains(&(begins[1] - begins[0])),
        "{begins:?}"
    );
    assert!(
        (0.4 * PRODUCT..0.6 * PRODUCT).contains(&f64::from(least)),
        "{least}"
    );
    assert_eq!(state(&path).min_rtt_ns, Some(100 * MS + 10_000));
}

#[test]
fn a_small_buffer_bounds_the_flight_and_losses_stay_few() {
    let mut path = path();
    path.limit = 30;
    path.run(10 * SECOND);
    let (entered, dropped) = (path.entered, path.dropped);
    path.run(40 * SECOND);
    let (entered, dropped) = (path.entered - entered, path.dropped - dropped);
    // the pipe and the buffer
    let high = state(&path).bounds.in_flight_high;
    assert!((0.7 * PRODUCT..1.4 * PRODUCT).contains(&high), "{high}");
    let ratio = f64::from(dropped) / f64::from(entered);
    assert!(ratio < 0.01, "{ratio}");
    let arrived = f64::from(entered - dropped) / 30.0;
    assert!(arrived > 0.85 * RATE, "{arrived}");
}

#[test]
fn a_loss_beside_a_probe_cuts_the_lower_bounds_and_the_next_probe_lifts_them() {
    let mut path = path();
    path.run(2 * SECOND);
    assert!(!state(&path).is_probing());
    let window = path.sender.cwnd();
    path.lost = vec![path.entered];
    path.run(2600 * MS);
    let low = state(&path).bounds.in_flight_low;
    assert!((0.69 * window..window).contains(&low), "{low} of {window}");
    assert!(path.sender.cwnd() <= low);
    path.watch(6 * SECOND, |path| {
        if state(path).mode == Mode::ProbeBw(Cycle::Up) {
            assert!(state(path).bounds.in_flight_low.is_infinite());
        }
    });
    assert_eq!(path.sender.timeouts(), 0);
}

#[test]
fn one_loss_in_a_hundred_does_not_stop_it() {
    // 1 % is below the 2 % that count as too much
    let mut path = path();
    path.lost = (0..60_000).step_by(100).collect();
    path.run(30 * SECOND);
    let sent = f64::from(path.entered - path.dropped) / 30.0;
    assert!(sent > 0.6 * RATE, "{sent}");
}

#[test]
fn marks_count_only_with_short_round_trips() {
    let run = |delay_ns, marks| {
        let mut path = Path::new(CongestionControl::Bbr3, GREEDY, &[], |config| {
            (config.ecn, config.accurate_ecn) = (true, true);
        });
        path.delay_ns = delay_ns;
        path.run(2 * SECOND);
        path.marks = marks;
        path.run(8 * SECOND);
        (path.entered, state(&path).marked_share)
    };
    assert_eq!(run(99 * MS, true).0, run(99 * MS, false).0);
    let (marked, share) = run(2 * MS, true);
    assert!(share > 0.5, "{share}");
    assert!(marked < run(2 * MS, false).0);
}

#[test]
fn a_time_out_leaves_one_packet_and_the_estimates() {
    let mut path = path();
    path.run(2 * SECOND);
    // all that the window lets go, and the probe
    let (next, window) = (path.entered, path.sender.cwnd() as u32);
    path.lost = (next..next + window + 1).collect();
    let mut least = f64::INFINITY;
    path.watch(15 * SECOND, |path| least = least.min(path.sender.cwnd()));
    assert!(path.sender.timeouts() > 0);
    assert!(least <= 4.0, "{least}");
    assert!((state(&path).bounds.max_rate() / RATE - 1.0).abs() < 0.05);
    let before = path.entered;
    path.run(25 * SECOND);
    let sent = f64::from(path.entered - before) / 10.0;
    assert!(sent > 0.9 * RATE, "{sent}");
}
