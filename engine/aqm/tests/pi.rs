//! Compares PI with a floating-point model, the numbers of its paper, and LRED's equations 33-34.

use sluice_aqm::{Aqm, Configured, Running, Value, View};

use crate::common::{
    class, configured, given,
    link::{Event, LINK, Link, MIXED, Told, in_unit},
    number, value, word,
};

/// p(k) = p(k-1) + a (q(k) - q_ref) - b (q(k-1) - q_ref), Hollot et al. 2001.
struct Model {
    a: f64,
    b: f64,
    q_ref: f64,
    q_old: f64,
    p: f64,
}

impl Model {
    fn tick(&mut self, q: f64) {
        self.p += self.a * (q - self.q_ref) - self.b * (self.q_old - self.q_ref);
        self.p = self.p.clamp(0.0, 1.0);
        self.q_old = q;
    }
}

fn follow(link: &Link, unit: &str, a: f64, b: f64, q_ref: f64) {
    let configured = configured(
        "pi",
        &[
            ("a", number(a)),
            ("b", number(b)),
            ("q_ref", number(q_ref)),
            ("unit", word(unit)),
        ],
    );
    let mean = value(&configured, "mean_packet_bytes");
    let (q_old, p) = (0.0, 0.0);
    let mut model = Model {
        a,
        b,
        q_ref,
        q_old,
        p,
    };
    let mut told = Told::default();
    link.drive(&configured, 60_000, |event, view, verdict, running| {
        let (q, weight) = in_unit(view, unit, mean);
        match event {
            Event::Tick => model.tick(q),
            Event::Arrive => told.chance(view, verdict, model.p * weight, 1e-8),
            _ => {}
        }
        let off = running.probability().unwrap() - model.p;
        assert!(off.abs() < 1e-9, "{off} off {}", model.p);
    });
    told.assert_telling();
}

#[test]
fn pi_follows_the_oracle() {
    follow(&LINK, "packets", 1.822e-3, 1.816e-3, 100.0);
    follow(&LINK, "packets", 2e-2, 1.9e-2, 20.0);
    follow(&MIXED, "packets", 1.822e-3, 1.816e-3, 50.0);
    follow(&MIXED, "bytes", 1.822e-3, 1.816e-3, 50.0);
}

fn tick(running: &mut Running, queue_packets: u32) -> f64 {
    let view = View {
        queue_packets,
        ..View::default()
    };
    running.tick(&view);
    running.probability().unwrap()
}

/// Returns a and b as measured: with q_ref = 0 and a queue of q packets, p(1) = a q and
/// p(2) - p(1) = (a - b) q.
fn coefficients(pi: &Configured, queue: u32) -> (f64, f64) {
    let mut running = pi.start();
    let [first, second] = [(); 2].map(|()| tick(&mut running, queue) / f64::from(queue));
    (first, first - (second - first))
}

fn designed(n_min: f64, r_max: f64, capacity: f64, interval: f64) -> Configured {
    configured(
        "pi",
        &[
            ("coefficients", word("designed")),
            ("q_ref", number(0.0)),
            ("n_min", number(n_min)),
            ("r_max", number(r_max)),
            ("capacity", number(capacity)),
            ("sampling_interval", number(interval)),
        ],
    )
}

/// Hollot et al. 2001, section IV: N- = 60, C = 3750, R+ = 0.2 + 175/3750, 160 Hz give
/// K = 9.64e-6 and z = 0.53; with this rounded z, a = 1.822e-5 and b = 1.816e-5.
#[test]
fn the_design_rule_gives_the_papers_example() {
    let pi = designed(60.0, 0.2 + 175.0 / 3750.0, 3750.0, 1.0 / 160.0);
    let (a, b) = coefficients(&pi, 10_000);
    let k = (a - b) * 160.0;
    let z = 2.0 * k / (a + b);
    assert!((k - 9.64e-6).abs() < 0.02e-6, "K = {k}");
    assert!((z - 0.53).abs() < 0.005, "z = {z}");
    let given = coefficients(&configured("pi", &[("q_ref", number(0.0))]), 10_000);
    assert!((given.0 - 1.822e-5).abs() < 1e-13 && (given.1 - 1.816e-5).abs() < 1e-13);
    assert!((k / 0.53 + k / 320.0 - given.0).abs() < 2e-8);
}

/// The design rule in floating point, over a range much wider than LRED's experiments.
#[test]
fn designed_coefficients_are_those_of_the_rule() {
    for (n, r, c, t) in [
        (100.0_f64, 0.45_f64, 2500.0, 1.0 / 170.0),
        (80.0, 0.55, 2500.0, 1.0 / 170.0),
        (1000.0, 0.9, 2500.0, 1.0 / 170.0),
        (800.0, 1.0, 2500.0, 0.001),
        (20_000.0, 0.5, 1e6, 0.1),
        (2.0, 0.01, 500.0, 0.001),
    ] {
        let z = 2.0 * n / (r * r * c);
        let gain = (2.0 * n).powi(2) / (r * c).powi(3);
        let k = z * 1.0_f64.hypot(z * r) * gain;
        let queue = (0.3 * z / k) as u32;
        let (a, b) = coefficients(&designed(n, r, c, t), queue);
        // each probability is read with a resolution of 2^-32
        let step = 2.5e-10 / f64::from(queue);
        let off = (a - k / z - k * t / 2.0).abs();
        assert!(off < 1e-6 * k / z + step, "{n} {r} {c}: a is off by {off}");
        let off = (a - b - k * t).abs();
        assert!(
            off < 1e-5 * k * t + 3.0 * step,
            "{n} {r} {c}: a - b is off by {off}"
        );
    }
}

/// Wang et al. 2007 (LRED), equations (33) and (34): with a full buffer p grows by
/// (a - b)(Q - q_0) in each interval, so it needs at least p_0 / (f (a - b)(Q - q_0)) seconds to
/// reach p_0.
#[test]
fn a_full_buffer_raises_p_in_a_straight_line() {
    let pi = configured("pi", &[]);
    let mut running = pi.start();
    let start = tick(&mut running, 200);
    let ps: Vec<f64> = (0..17_000).map(|_| tick(&mut running, 200)).collect();
    for (k, p) in ps.iter().enumerate() {
        let line = start + (k + 1) as f64 * 6e-8 * 100.0;
        assert!((p - line).abs() < 1e-9, "{k}: {p}");
    }
    let seconds = (0.1 - start) / (170.0 * 6e-8 * 100.0);
    let reached = ps.iter().position(|p| *p >= 0.1).unwrap() as f64 / 170.0;
    assert!(
        (reached - seconds).abs() < 0.02,
        "{reached} s, not {seconds} s"
    );
}

#[test]
fn p_stays_within_0_and_1() {
    let mut running = configured("pi", &[("a", number(1.0)), ("b", number(0.5))]).start();
    assert_eq!(tick(&mut running, 1_000_000), 1.0);
    assert_eq!(tick(&mut running, 1_000_000), 1.0);
    assert_eq!(tick(&mut running, 0), 0.0);
}

#[test]
fn a_design_that_cannot_work_is_refused() {
    let refusal = |name, value| {
        let values: [(&str, Value); 2] =
            [("coefficients", word("designed")), (name, number(value))];
        Configured::new(class("pi"), &given(&values))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal("n_min", 1000.0),
        "pi.n_min = 1000 is too many: a flow must have room for 2 packets, \
         r_max capacity / n_min >= 2"
    );
    assert_eq!(
        refusal("capacity", 1e8),
        "pi.n_min = 100 is too few for r_max and capacity: the controller would hardly move"
    );
    let error = Configured::new(class("pi"), &given(&[("b", number(1e-4))])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "pi.a = 0.00001822 must exceed pi.b = 0.0001"
    );
}
