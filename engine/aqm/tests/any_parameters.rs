//! Every AQM with any parameters within their ranges, and with views that no world should make:
//! it does not crash, and its probability lies within [0, 1].

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use sluice_aqm::{Aqm, Class, Configured, Param, Running, Scale, Value, View};

use crate::common::link::{Event, LINK, Link, MIXED};

/// Draws a value within the range; in one of three draws, an end of the range.
fn any_value(param: &Param, random: &mut StdRng) -> Value {
    // ticks closer than this would only make the test slow
    let least = match param.scale {
        Scale::Seconds => param.least.max(1e-3),
        _ => param.least,
    };
    let number = match random.random_range(0..6) {
        0 => least,
        1 => param.greatest,
        2 => param.initial,
        3 => random.random_range(least..=param.greatest),
        // for positive numbers, all magnitudes are equally likely
        _ => {
            let low = least.max(1e-9).min(param.greatest);
            let share: f64 = random.random();
            (low * (param.greatest / low).powf(share)).clamp(least, param.greatest)
        }
    };
    match param.scale {
        Scale::Switch | Scale::Choice(_) => param.show(number.round()),
        Scale::Count | Scale::Bytes | Scale::Rate => Value::Number(number.round()),
        _ => Value::Number(number),
    }
}

/// Draws a configuration of the class; `None` if it breaks a rule.
fn any(class: &'static Class, random: &mut StdRng) -> Option<Configured> {
    let given: Vec<(String, Value)> = class
        .params
        .iter()
        .map(|param| (param.name.clone(), any_value(param, random)))
        .collect();
    Configured::new(class, &given).ok()
}

fn assert_sane(running: &Running, configured: &Configured) {
    let p = running.probability().unwrap_or(0.0);
    assert!((0.0..=1.0).contains(&p), "p = {p}: {configured:?}");
    let average = running.average().unwrap_or(0.0);
    assert!(
        (0.0..=2_f64.powi(31)).contains(&average),
        "{average}: {configured:?}"
    );
}

/// Calls `check` with each valid configuration of 60 draws for each AQM, and with the random
/// numbers.
fn each(mut check: impl FnMut(Configured, &mut StdRng)) {
    for class in sluice_aqm::all() {
        let mut random = StdRng::seed_from_u64(11);
        let mut tried = 0;
        for _ in 0..60 {
            if let Some(configured) = any(class, &mut random) {
                check(configured, &mut random);
                tried += 1;
            }
        }
        assert!(tried >= 5, "{}: the rules refused nearly all", class.name);
    }
}

#[test]
fn any_parameters_give_probabilities() {
    each(|configured, random| {
        let link = if random.random() { LINK } else { MIXED };
        let link = Link {
            seed: random.random(),
            ..link
        };
        link.drive(&configured, 300, |_, _, _, running| {
            assert_sane(running, &configured)
        });
    });
}

#[test]
fn any_view_gives_probabilities() {
    let edges = [0, 1, 1 << 31, u64::from(u32::MAX), 1 << 62, u64::MAX];
    each(|configured, random| {
        let mut running = configured.start();
        for _ in 0..300 {
            let mut edge = || match random.random_range(0..3) {
                0 => random.next_u64(),
                1 => u64::from(random.next_u32() >> 12),
                _ => edges[random.random_range(0..edges.len())],
            };
            let view = View {
                now_ns: edge(),
                idle_since_ns: edge(),
                sojourn_ns: edge(),
                rate_bps: edge(),
                random: edge(),
                queue_bytes: edge(),
                // an average holds queues below 2^30 only
                queue_packets: edge() as u32 >> 2,
                limit_packets: edge() as u32,
                packet_bytes: edge() as u32,
                flow_hash: edge() as u32,
                idle: (edge() % 2) as u8,
                ecn_capable: (edge() % 2) as u8,
                full: (edge() % 2) as u8,
                ..View::default()
            };
            for event in [
                Event::Tick,
                Event::Arrive,
                Event::Join,
                Event::Depart,
                Event::Leave,
            ] {
                match event {
                    Event::Tick => running.tick(&view),
                    Event::Arrive => drop(running.arrive(&view)),
                    Event::Join => running.occupancy(&view, 1),
                    Event::Depart => drop(running.depart(&view)),
                    Event::Leave => running.occupancy(&view, -1),
                }
                assert_sane(&running, &configured);
            }
        }
    });
}
