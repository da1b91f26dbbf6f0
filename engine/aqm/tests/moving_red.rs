//! Compares how ARED and S-RED change max_p with their papers in floating point. Their average is
//! RED's, which `oracle` tests.

use sluice_aqm::{Aqm, Configured, Value, View};

use crate::common::{
    class, configured, given,
    link::{Event, LINK, Link, MIXED, Told},
    number, value, word,
};

/// The gentle or the linear drop function with the present max_p.
fn drop_function(average: f64, min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> f64 {
    if average < min_th {
        0.0
    } else if average < max_th {
        max_p * (average - min_th) / (max_th - min_th)
    } else if gentle && average < 2.0 * max_th {
        max_p + (1.0 - max_p) * (average - max_th) / max_th
    } else {
        1.0
    }
}

/// Thresholds and weights that make the average move through all ranges of the drop function.
const LIVELY: [(&str, f64); 3] = [("min_th", 20.0), ("max_th", 80.0), ("w", 0.02)];

fn lively(aqm: &str, extra: &[(&'static str, f64)]) -> Configured {
    let numbers = LIVELY.iter().chain(extra);
    let mut values: Vec<(&str, Value)> = numbers.map(|(n, v)| (*n, number(*v))).collect();
    values.push(("spacing", word("independent")));
    configured(aqm, &values)
}

/// Drives the link and returns max_p after each event; `adapt` gets an event, the average and the
/// old max_p, and returns the new one.
fn follow(
    link: &Link,
    configured: &Configured,
    gentle: bool,
    mut adapt: impl FnMut(Event, f64, f64) -> f64,
) -> Vec<f64> {
    let [min_th, max_th, start] = ["min_th", "max_th", "max_p"].map(|n| value(configured, n));
    let (mut max_p, mut told) = (start, Told::default());
    let mut seen = Vec::new();
    link.drive(configured, 60_000, |event, view, verdict, running| {
        let average = running.average().unwrap();
        max_p = adapt(event, average, max_p);
        seen.push(max_p);
        if event == Event::Arrive {
            let p = drop_function(average, min_th, max_th, max_p, gentle);
            let off = running.probability().unwrap() - p;
            assert!(
                off.abs() < 1e-7,
                "{off} off {p} at {average}, max_p {max_p}"
            );
            if p < 1.0 {
                told.chance(view, verdict, p, 1e-7);
            }
        }
    });
    told.assert_telling();
    seen
}

/// Floyd et al. 2001, figure 2.
fn follow_ared(link: &Link, extra: &[(&'static str, f64)]) {
    let ared = lively("ared", extra);
    let of = |name| value(&ared, name);
    let (low, high) = (20.0 + 0.4 * 60.0, 20.0 + 0.6 * 60.0);
    let seen = follow(link, &ared, true, |event, average, max_p| {
        if event != Event::Tick {
            max_p
        } else if average > high && max_p <= of("max_p_greatest") {
            max_p + of("increment").min(max_p / 4.0)
        } else if average < low && max_p >= of("max_p_least") {
            max_p * of("decrease")
        } else {
            max_p
        }
    });
    let greatest = seen.iter().fold(0.0_f64, |a, b| a.max(*b));
    let least = seen.iter().fold(1.0_f64, |a, b| a.min(*b));
    assert!(
        least < 0.05 && greatest > 0.11,
        "max_p moved within {least}..{greatest}"
    );
}

#[test]
fn ared_follows_the_oracle() {
    follow_ared(&LINK, &[("interval", 0.05)]);
    follow_ared(
        &LINK,
        &[
            ("interval", 0.02),
            ("decrease", 0.5),
            ("max_p_greatest", 0.9),
        ],
    );
    follow_ared(&MIXED, &[("interval", 0.05), ("increment", 0.05)]);
}

/// Feng et al. 1999, figure 3.
fn follow_s_red(link: &Link, alpha: f64, beta: f64) {
    #[derive(PartialEq)]
    enum Status {
        Below,
        Between,
        Above,
    }
    let s_red = lively("self_configuring_red", &[("alpha", alpha), ("beta", beta)]);
    let mut status = Status::Below;
    let seen = follow(link, &s_red, false, |event, average, max_p| {
        if event != Event::Arrive {
            max_p
        } else if average > 20.0 && average < 80.0 {
            status = Status::Between;
            max_p
        } else if average < 20.0 && status != Status::Below {
            status = Status::Below;
            (max_p / alpha).max(2.0_f64.powi(-20))
        } else if average > 80.0 && status != Status::Above {
            status = Status::Above;
            (max_p * beta).min(1.0)
        } else {
            max_p
        }
    });
    let changes = seen.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 20, "{changes}");
}

#[test]
fn self_configuring_red_follows_the_oracle() {
    follow_s_red(&LINK, 3.0, 2.0);
    follow_s_red(&MIXED, 1.5, 4.0);
}

/// Under a load that needs p = 0.1, max_p settles where an average in the target range gives it.
#[test]
fn ared_brings_the_average_into_the_target_range() {
    let mut ared = lively("ared", &[]).start();
    let mut queue = 0.0_f64;
    for step in 0..200_000_u32 {
        let view = View {
            queue_packets: queue as u32,
            limit_packets: 1000,
            random: u64::MAX,
            ..View::default()
        };
        ared.arrive(&view);
        // a fluid whose rate falls as p rises; in equilibrium at p = 0.1
        queue = (queue + 10.0 * (0.1 - ared.probability().unwrap())).max(0.0);
        if step % 500 == 0 {
            ared.tick(&view);
        }
    }
    let average = ared.average().unwrap();
    assert!((44.0..=56.0).contains(&average), "{average}");
}

/// Floyd et al. 2001, section 5: 10 Mb/s and 500 bytes give C = 2500; min_th is then 125 packets
/// for 100 ms.
#[test]
fn automatic_thresholds_follow_the_capacity() {
    let automatic = |capacity: f64, delay: f64| {
        let values = [
            ("thresholds", word("automatic")),
            ("capacity", number(capacity)),
            ("target_delay", number(delay)),
        ];
        configured("ared", &values).start()
    };
    for (capacity, delay, min_th) in [
        (2500.0, 0.1, 125.0),
        (2500.0, 0.001, 5.0),
        (1e6, 0.005, 2500.0),
    ] {
        let mut ared = automatic(capacity, delay);
        let view = View {
            queue_packets: 1_000_000,
            limit_packets: u32::MAX,
            random: u64::MAX,
            ..View::default()
        };
        ared.arrive(&view);
        let w = ared.average().unwrap() / 1e6;
        let expected: f64 = 1.0 - (-1.0 / capacity).exp();
        assert!((w / expected - 1.0).abs() < 3e-4, "w = {w}, not {expected}");
        while ared.average().unwrap() < 5.0 * min_th {
            ared.arrive(&view);
            let p = drop_function(ared.average().unwrap(), min_th, 3.0 * min_th, 0.1, true);
            assert!((ared.probability().unwrap() - p).abs() < 1e-7);
        }
    }
    let values = [
        ("thresholds", word("automatic")),
        ("capacity", number(1e8)),
        ("target_delay", number(1.0)),
    ];
    let error = Configured::new(class("ared"), &given(&values)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "ared.capacity = 100000000 is too high for target_delay: \
         min_th must not exceed 1000000 packets"
    );
}

/// max_p was moved far from one initial value, and a reload gives it another: it stays within
/// [2^-20, 1].
#[test]
fn max_p_stays_a_probability_under_another_initial_value() {
    let with = |aqm: &str, max_p: f64| {
        let values = [
            ("min_th", number(20.0)),
            ("max_th", number(80.0)),
            ("w", number(1.0)),
            ("max_p", number(max_p)),
        ];
        configured(aqm, &values)
    };
    let least = 2.0_f64.powi(-20);
    for (aqm, from, lengths, to, expected) in [
        // down to just below max_p_least, 0.01
        ("ared", 0.1, [0, 0], 0.05, least),
        ("ared", 0.01, [70, 70], 0.9, 1.0),
        ("self_configuring_red", 0.1, [50, 0], 0.01, least),
        ("self_configuring_red", 0.01, [50, 100], 1.0, 1.0),
    ] {
        let mut running = with(aqm, from).start();
        let view = |queue_packets| View {
            queue_packets,
            limit_packets: 1000,
            random: u64::MAX,
            ..View::default()
        };
        for _ in 0..100 {
            for packets in lengths {
                running.arrive(&view(packets));
                running.tick(&view(packets));
            }
        }
        assert!(running.retune(&with(aqm, to)));
        running.arrive(&view(50));
        let max_p = 2.0 * running.probability().unwrap();
        assert!(
            (max_p - expected).abs() < 1e-9,
            "{aqm} from {from} to {to}: {max_p}"
        );
    }
}
