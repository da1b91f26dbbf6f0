//! Compares REM with a floating-point model, and with LRED's equations 38-40.

use sluice_aqm::{Aqm, Value, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED, Told, in_unit},
    number, value, word,
};

#[derive(Clone, Copy, PartialEq)]
enum Congestion {
    Queue,
    Rate,
}

/// Athuraliya et al. 2001, as in Wang et al. 2007 (LRED), equations 35-37, and as in ns-2.
struct Model {
    congestion: Congestion,
    q_ref: f64,
    gamma: f64,
    alpha: f64,
    phi: f64,
    w: f64,
    interval: f64,
    mean_packet_bytes: f64,
    q_old: f64,
    arrived: f64,
    rate: f64,
    price: f64,
}

impl Model {
    fn tick(&mut self, q: f64, rate_bps: u64) {
        let capacity = rate_bps as f64 / 8.0 / self.mean_packet_bytes * self.interval;
        self.rate += self.w * (self.arrived - self.rate);
        self.arrived = 0.0;
        self.price += self.gamma
            * match self.congestion {
                Congestion::Queue => q - (1.0 - self.alpha) * self.q_old - self.alpha * self.q_ref,
                Congestion::Rate => self.rate + self.alpha * (q - self.q_ref) - capacity,
            };
        self.price = self.price.max(0.0);
        self.q_old = q;
    }

    fn probability(&self) -> f64 {
        1.0 - self.phi.powf(-self.price)
    }
}

fn follow(link: &Link, congestion: Congestion, unit: &str, numbers: &[(&'static str, f64)]) {
    let mut values: Vec<(&str, Value)> = numbers.iter().map(|(n, v)| (*n, number(*v))).collect();
    values.push(("unit", word(unit)));
    if congestion == Congestion::Rate {
        values.push(("congestion", word("rate")));
    }
    let configured = configured("rem", &values);
    let of = |name| value(&configured, name);
    let mut model = Model {
        congestion,
        q_ref: of("q_ref"),
        gamma: of("gamma"),
        alpha: of("alpha"),
        phi: of("phi"),
        w: of("w"),
        interval: of("sampling_interval"),
        mean_packet_bytes: of("mean_packet_bytes"),
        q_old: 0.0,
        arrived: 0.0,
        rate: 0.0,
        price: 0.0,
    };
    // phi and its logarithm have a resolution of 2^-32: for ln phi = 0.001 a relative error of a
    // few parts in 10^7; d p = y e^-y d ln phi / ln phi is at most 0.37 of it
    let slack = 3e-7;
    let mut told = Told::default();
    link.drive(&configured, 60_000, |event, view, verdict, running| {
        let (q, weight) = in_unit(view, unit, model.mean_packet_bytes);
        match event {
            Event::Tick => model.tick(q, view.rate_bps),
            Event::Arrive => {
                told.chance(view, verdict, model.probability() * weight, 3.0 * slack);
                model.arrived += weight;
            }
            _ => {}
        }
        let (p, expected) = (running.probability().unwrap(), model.probability());
        assert!((p - expected).abs() < slack, "{p}, not {expected}");
    });
    told.assert_telling();
}

#[test]
fn rem_on_the_queue_follows_the_oracle() {
    let queue = Congestion::Queue;
    follow(&LINK, queue, "packets", &[("gamma", 0.05), ("q_ref", 20.0)]);
    follow(&LINK, queue, "packets", &[("gamma", 1.0), ("q_ref", 20.0)]);
    follow(&MIXED, queue, "packets", &[("gamma", 0.1), ("alpha", 0.2)]);
    follow(&MIXED, queue, "bytes", &[("gamma", 0.1), ("phi", 1.003)]);
}

#[test]
fn rem_on_the_rate_follows_the_oracle() {
    let (rate, gamma) = (Congestion::Rate, ("gamma", 1.0));
    let ns2 = [("q_ref", 20.0), ("sampling_interval", 0.01)];
    follow(&LINK, rate, "packets", &[&ns2[..], &[gamma]].concat());
    follow(
        &MIXED,
        rate,
        "packets",
        &[gamma, ("mean_packet_bytes", 680.0)],
    );
    follow(&MIXED, rate, "bytes", &[gamma, ("w", 0.2)]);
}

/// Wang et al. 2007 (LRED), equations (38)-(40): with a full buffer u(k) = k gamma alpha
/// (Q - q_0), plus the step gamma (1 - alpha) Q when the buffer fills; to first order, p is
/// u ln phi.
#[test]
fn a_full_buffer_raises_the_price_in_a_straight_line() {
    let mut running = configured("rem", &[]).start();
    let full = View {
        queue_packets: 200,
        ..View::default()
    };
    for k in 1..=10_000 {
        running.tick(&full);
        let price = 0.001 * (0.9 * 200.0 + f64::from(k) * 0.1 * 100.0);
        let p = running.probability().unwrap();
        assert!((p - 1.0 + 1.001_f64.powf(-price)).abs() < 3e-7, "{k}: {p}");
        let first_order = price * 1.001_f64.ln();
        assert!((p - first_order).abs() < first_order * first_order / 2.0 + 3e-7);
    }
}

#[test]
fn the_price_does_not_fall_below_nothing() {
    let mut running = configured("rem", &[]).start();
    for _ in 0..1000 {
        running.tick(&View::default());
    }
    let view = View {
        queue_packets: 200,
        ..View::default()
    };
    running.tick(&view);
    let price = 0.001 * (200.0 - 0.1 * 100.0);
    let expected = 1.0 - 1.001_f64.powf(-price);
    assert!((running.probability().unwrap() - expected).abs() < 1e-9);
}
