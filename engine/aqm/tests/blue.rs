//! Compares BLUE with the two rules of its paper in floating point.

use sluice_aqm::{Aqm, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED, Told},
    number,
};

/// Feng et al. 1999, figure 2.
struct Model {
    d1: f64,
    d2: f64,
    freeze_time: f64,
    last_update: f64,
    p: f64,
}

impl Model {
    fn arrive(&mut self, view: &View) {
        let now = view.now_ns as f64 / 1e9;
        let full = view.full == 1;
        if (full || view.idle == 1) && now - self.last_update > self.freeze_time {
            self.p += if full { self.d1 } else { -self.d2 };
            self.p = self.p.clamp(0.0, 1.0);
            self.last_update = now;
        }
    }
}

fn follow(link: &Link, d1: f64, d2: f64, freeze_time: f64) {
    let given = [
        ("d1", number(d1)),
        ("d2", number(d2)),
        ("freeze_time", number(freeze_time)),
    ];
    let mut model = Model {
        d1,
        d2,
        freeze_time,
        last_update: 0.0,
        p: 0.0,
    };
    let mut told = Told::default();
    link.drive(
        &configured("blue", &given),
        60_000,
        |event, view, verdict, running| {
            if event == Event::Arrive {
                model.arrive(view);
                let off = running.probability().unwrap() - model.p;
                // each change is rounded once
                assert!(off.abs() < 1e-6, "{off} off {}", model.p);
                told.chance(view, verdict, model.p, 1e-6);
            }
        },
    );
    told.assert_telling();
}

#[test]
fn blue_follows_the_oracle() {
    follow(&LINK, 0.02, 0.002, 0.01);
    follow(&LINK, 0.1, 0.02, 0.1);
    follow(&MIXED, 0.02, 0.002, 0.01);
}

#[test]
fn two_changes_are_more_than_the_freeze_time_apart() {
    let mut blue = configured("blue", &[]).start();
    let mut arrive = |now_ns: u64, idle: bool| {
        blue.arrive(&View {
            now_ns,
            idle: idle.into(),
            full: (!idle).into(),
            random: u64::MAX,
            ..View::default()
        });
        blue.probability().unwrap()
    };
    let ms = 1_000_000;
    for (now_ns, idle, expected) in [
        (100 * ms, false, 0.0),
        (101 * ms, false, 0.0025),
        (201 * ms, false, 0.0025),
        (202 * ms, false, 0.005),
        (302 * ms, true, 0.005),
        (303 * ms, true, 0.00475),
        (404 * ms, true, 0.0045),
    ] {
        let p = arrive(now_ns, idle);
        assert!((p - expected).abs() < 1e-9, "{now_ns}: {p}");
    }
}
