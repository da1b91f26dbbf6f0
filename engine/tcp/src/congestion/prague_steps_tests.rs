//! Tests of the steps in which Prague's window follows its fraction.

use super::super::tests::{ack, independent};
use super::super::{Of, State, Version, Window};
use crate::config::{Config, MS};
use crate::congestion::prague_2020::In2020;
use crate::congestion::prague_2021::In2021;
use crate::congestion::prague_2024::In2024;
use crate::congestion::{CongestionControl, Control, Event, InFlight, Sample};
use crate::sender::Phase;

/// A flow in slow start, with a window of 20 packets and no mark yet.
fn starting<V: Version>() -> (State<V>, Window) {
    let (mut state, mut window) = independent::<V>();
    (state.alpha, window.ssthresh) = (None, f64::INFINITY);
    (state, window)
}

/// Window, fraction, threshold after an ACK of two packets, of which so many are marked.
fn after<V: Version>(state: &mut State<V>, window: &mut Window, ce: u32) -> (f64, f64, f64) {
    state.answer_marks(window, &ack(1100, 121, ce));
    state.follow(window, 2 - ce);
    (window.cwnd, state.window, window.ssthresh)
}

#[test]
fn slow_start_ends_with_a_step_down() {
    // half of the window is to go, but the other packet was not marked
    let (mut state, mut window) = starting::<In2020>();
    let never = f64::INFINITY;
    assert_eq!(after(&mut state, &mut window, 1), (21.0, 11.0, never));
    assert_eq!(after(&mut state, &mut window, 2), (20.0, 11.0, 20.0));
    // that of 2024 forgets the fraction: only when the next round begins does slow start end
    let (mut state, mut window) = starting::<In2024>();
    assert_eq!(after(&mut state, &mut window, 1), (21.0, 21.0, never));
    assert_eq!(after(&mut state, &mut window, 2), (21.0, 21.0, never));
    state.cwr_end = 120;
    assert_eq!(after(&mut state, &mut window, 2), (20.0, 10.5, 20.0));
}

#[test]
fn the_window_moves_by_a_packet_towards_its_fraction() {
    let step = |fraction, cwnd| {
        let (mut state, mut window) = independent::<In2024>();
        (state.window, window.cwnd) = (fraction, cwnd);
        state.follow(&mut window, 0);
        (window.cwnd, window.ssthresh)
    };
    for (fraction, moved) in [
        (20.1, (21.0, 10.0)),
        (19.1, (20.0, 10.0)),
        (5.0, (19.0, 19.0)),
    ] {
        assert_eq!(step(fraction, 20.0), moved, "{fraction}");
    }
    assert_eq!(step(0.5, 2.0), (2.0, 10.0));
}

#[test]
fn that_of_2020_moves_when_the_fraction_carries_a_packet() {
    for (fraction, moved) in [
        (20.9, (20.0, 10.0)),
        (21.0, (21.0, 10.0)),
        (19.1, (20.0, 10.0)),
        (19.0, (19.0, 19.0)),
    ] {
        let (mut state, mut window) = independent::<In2020>();
        state.window = fraction;
        state.follow(&mut window, 0);
        assert_eq!((window.cwnd, window.ssthresh), moved, "{fraction}");
    }
}

fn time_out(used: Option<f64>) -> Event {
    let (in_flight, lost) = (0, 0);
    Event::TimeOut {
        used,
        in_flight,
        lost,
    }
}

/// Window, fraction, threshold after each event, and after an ACK that follows it.
fn with_events<V: Version>(events: &[Event]) -> Vec<(f64, f64, f64)> {
    let config = Config::rfc(crate::Variant::Rack).with(CongestionControl::Prague2020);
    let (state, mut window) = independent::<V>();
    window.more = Some(Box::default());
    let mut prague = Of(Box::new(state));
    let mut found = vec![];
    for event in events {
        prague.on_event(&mut window, &config, *event);
        found.push((window.cwnd, prague.0.window, window.ssthresh));
        prague.0.follow(&mut window, 0);
        found.push((window.cwnd, prague.0.window, window.ssthresh));
    }
    found
}

#[test]
fn a_time_out_leaves_the_threshold() {
    let found = with_events::<In2024>(&[time_out(Some(20.0)), Event::SpuriousTimeOut]);
    assert_eq!(found[..2], [(1.0, 10.0, 10.0), (2.0, 10.0, 10.0)]);
    assert_eq!(found[2], (20.0, 20.0, 15.0));
    // that of 2020 is left with two packets, as the carry of the larger window is still to go
    let found = with_events::<In2020>(&[time_out(Some(20.0))]);
    assert_eq!(found, [(1.0, -9.0, 10.0), (2.0, 2.0, 2.0)]);
}

#[test]
fn in_the_round_of_a_mark_a_time_out_takes_nothing_more() {
    let config = Config::rfc(crate::Variant::Rack).with(CongestionControl::Prague2020);
    let (mut state, mut window) = independent::<In2020>();
    window.more = Some(Box::default());
    state.acked = 100;
    let mut prague = Of(Box::new(state));
    prague.on_event(&mut window, &config, time_out(Some(20.0)));
    assert!(!prague.0.recovers);
    assert_eq!(
        (window.cwnd, prague.0.window, window.ssthresh),
        (1.0, 1.0, 10.0)
    );
}

#[test]
fn nothing_grows_from_a_loss_until_the_state_is_open() {
    let config = Config::rfc(crate::Variant::Rack).with(CongestionControl::Prague2020);
    let (state, mut window) = independent::<In2020>();
    let mut prague = Of(Box::new(state));
    let (used, begins) = (Some(20.0), true);
    prague.on_event(&mut window, &config, Event::Loss { used, begins });
    assert_eq!(prague.0.window, 10.0);
    let mut fraction_after = |phase, ce| {
        let sample = Sample {
            phase,
            delivered: 2,
            flight: Some(InFlight {
                before: 20,
                ..InFlight::default()
            }),
            ..ack(1100, 121, ce)
        };
        prague.on_ack(&mut window, &config, &sample, None);
        prague.0.window
    };
    assert_eq!(fraction_after(Phase::Recovery, 0), 10.0);
    // the ACK that ends recovery has a mark, which takes half of the estimate, and a packet without one
    let estimate = 0.5 - 0.5 / 16.0;
    let left = 10.0 - 19.0 * estimate / 2.0 + 1.0 / 19.0;
    assert_eq!(fraction_after(Phase::Open, 1), left);
}

#[test]
fn a_loss_that_a_probe_has_repaired_counts_as_a_mark() {
    let config = Config::rfc(crate::Variant::Rack).with(CongestionControl::Prague2020);
    let after = |acked, now_ms| {
        let (mut state, mut window) = independent::<In2021>();
        state.acked = acked;
        let mut prague = Of(Box::new(state));
        let (used, begins) = (Some(20.0), false);
        prague.on_event(&mut window, &config, Event::Loss { used, begins });
        prague.0.answer_repair(&mut window, now_ms * MS);
        (prague.0.window, window.ssthresh, prague.0.reduced_ns / MS)
    };
    assert_eq!(after(101, 1030), (15.0, 10.0, 1030));
    // not in the round of a mark, nor within a virtual round trip of the last reduction
    assert_eq!(after(100, 1030), (20.0, 10.0, 1000));
    assert_eq!(after(101, 1020), (20.0, 10.0, 1000));
}

#[test]
fn after_an_idle_time_what_marks_have_taken_is_still_to_go() {
    let (mut state, mut window) = independent::<In2020>();
    state.window = 15.0;
    state.restart(&mut window, 10.0);
    assert_eq!((window.cwnd, state.window), (10.0, 5.0));
}

#[test]
fn that_of_2021_becomes_independent_after_500_rounds() {
    let (mut state, window) = independent::<In2021>();
    assert_eq!(state.rounds, 500);
    assert_eq!(state.increase(&window), 0.8 * 0.8);
    state.rounds = 499;
    assert_eq!(state.increase(&window), 1.0);
    assert_eq!(independent::<In2020>().0.increase(&window), 1.0);
}
