//! Compares LRED with equations 1-3 of its paper in floating point, and with its figure 17.

use sluice_aqm::{Aqm, Running, Verdict, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED, Told, in_unit},
    number, value, word,
};

/// Wang et al. 2007, equations (1)-(3).
struct Model {
    q_ref: f64,
    beta: f64,
    m: usize,
    w_m: f64,
    /// Arrived and dropped in each period; the last is the current one.
    periods: Vec<(f64, f64)>,
    loss_ratio: f64,
}

impl Model {
    fn tick(&mut self) {
        let latest = self.periods.iter().rev().take(self.m);
        let (arrived, dropped) = latest.fold((0.0, 0.0), |sum, p| (sum.0 + p.0, sum.1 + p.1));
        let measured = if arrived > 0.0 {
            dropped / arrived
        } else {
            0.0
        };
        self.loss_ratio = self.w_m * self.loss_ratio + (1.0 - self.w_m) * measured;
        self.periods.push((0.0, 0.0));
    }

    fn probability(&self, q: f64) -> f64 {
        let p = self.loss_ratio + self.beta * self.loss_ratio.sqrt() * (q - self.q_ref);
        p.clamp(0.0, 1.0)
    }

    /// Returns the greatest error of the code's p: the error of beta is at most 2^-33, the queue is
    /// at most 300 packets from q_ref, and the error of l is a few 2^-32; its root follows.
    fn slack(&self) -> f64 {
        let l_off = 1e-9;
        let root_off = (l_off / self.loss_ratio.sqrt()).min(l_off.sqrt());
        300.0 * (1.2e-10 + self.beta * root_off) + l_off
    }

    fn count(&mut self, weight: f64, dropped: bool) {
        let period = self.periods.last_mut().unwrap();
        period.0 += weight;
        period.1 += if dropped { weight } else { 0.0 };
    }
}

fn follow(link: &Link, unit: &str, beta: f64, t_m: f64, m: f64, w_m: f64) {
    let values = [
        ("beta", number(beta)),
        ("t_m", number(t_m)),
        ("m", number(m)),
        ("w_m", number(w_m)),
        ("unit", word(unit)),
    ];
    let configured = configured("lred", &values);
    let mean = value(&configured, "mean_packet_bytes");
    let mut model = Model {
        q_ref: value(&configured, "q_ref"),
        beta,
        m: m as usize,
        w_m,
        periods: vec![(0.0, 0.0)],
        loss_ratio: 0.0,
    };
    let mut told = Told::default();
    link.drive(
        &configured,
        60_000,
        |event, view, verdict, running| match event {
            Event::Tick => model.tick(),
            Event::Arrive => {
                let (q, weight) = in_unit(view, unit, mean);
                let (p, slack) = (model.probability(q), model.slack());
                let found = running.probability().unwrap();
                assert!((found - p).abs() < slack, "{found}, not {p}");
                if view.full == 1 {
                    assert_eq!(verdict, Verdict::DropOverflow);
                } else {
                    told.chance(view, verdict, found * weight, 1e-9);
                }
                model.count(weight, verdict != Verdict::Admit);
            }
            _ => {}
        },
    );
    told.assert_telling();
}

#[test]
fn lred_follows_the_oracle() {
    follow(&LINK, "packets", 0.001, 1.0, 4.0, 0.1);
    follow(&LINK, "packets", 0.02, 0.1, 16.0, 0.5);
    follow(&MIXED, "packets", 0.001, 0.3, 4.0, 0.1);
    follow(&MIXED, "bytes", 0.005, 0.3, 1.0, 0.0);
}

/// Offers 8 packets; the first finds the buffer full, none is dropped by chance.
fn period(running: &mut Running) {
    for packet in 0..8 {
        let view = View {
            full: u8::from(packet == 0),
            random: u64::MAX,
            ..View::default()
        };
        running.arrive(&view);
    }
    running.tick(&View::default());
}

fn probability_at(running: &mut Running, queue_packets: u32) -> f64 {
    running.arrive(&View {
        queue_packets,
        random: u64::MAX,
        ..View::default()
    });
    running.probability().unwrap()
}

/// If one of eight packets is lost, l(k) = (1 - w_m^k) / 8; at q_ref, p is l.
#[test]
fn the_loss_ratio_is_found_within_a_few_periods() {
    for k in 1..6 {
        let mut running = configured("lred", &[]).start();
        (0..k).for_each(|_| period(&mut running));
        let l = (1.0 - 0.1_f64.powi(k)) / 8.0;
        for queue in [0, 60, 100, 150] {
            let expected = l + 0.001 * l.sqrt() * (f64::from(queue) - 100.0);
            let p = probability_at(&mut running, queue);
            assert!((p - expected).abs() < 1e-7, "{k}, {queue}: {p}");
        }
    }
}

/// With w_m = 0, losses are forgotten m periods after the last one.
#[test]
fn old_periods_are_forgotten() {
    let given = [("w_m", number(0.0)), ("m", number(3.0))];
    let mut running = configured("lred", &given).start();
    period(&mut running);
    for expected in [1.0 / 8.0, 1.0 / 9.0, 1.0 / 10.0, 0.0] {
        let p = probability_at(&mut running, 100);
        assert!((p - expected).abs() < 1e-9, "{p}, not {expected}");
        running.tick(&View::default());
    }
}

/// Figure 17: with beta = 10 the probability is 0 below q_ref and 1 above, as if q_ref were the
/// limit of the buffer.
#[test]
fn a_large_beta_makes_a_virtual_drop_tail() {
    let mut running = configured("lred", &[("beta", number(10.0))]).start();
    period(&mut running);
    for (queue, expected) in [(0, 0.0), (99, 0.0), (101, 1.0), (200, 1.0)] {
        assert_eq!(probability_at(&mut running, queue), expected, "{queue}");
    }
}
