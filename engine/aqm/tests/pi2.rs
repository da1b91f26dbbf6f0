//! Compares PI2 with its controller and its two chances, in plain floating point.

use sluice_aqm::{Aqm, Configured, ONE, Running, Verdict, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED},
    number, value,
};

const MS: u64 = 1_000_000;

/// RFC 9332, appendix A.2, in one queue; De Schepper et al. 2016, figure 8.
struct Model {
    target: f64,
    alpha: f64,
    beta: f64,
    coupling: f64,
    floor_bytes: f64,
    p: f64,
    delay_old: f64,
    sojourn: f64,
}

impl Model {
    fn of(pi2: &Configured) -> Self {
        let of = |name| value(pi2, name);
        Self {
            target: of("target"),
            alpha: of("alpha"),
            beta: of("beta"),
            coupling: of("coupling"),
            floor_bytes: 2.0 * of("mtu_bytes"),
            p: 0.0,
            delay_old: 0.0,
            sojourn: 0.0,
        }
    }

    fn tick(&mut self) {
        let change =
            self.alpha * (self.sojourn - self.target) + self.beta * (self.sojourn - self.delay_old);
        self.p = (self.p + change).clamp(0.0, 1.0);
        self.delay_old = self.sojourn;
    }

    /// Returns the verdict before `settle`; `None` if a random number is too close to its bound.
    fn arrive(&self, view: &View) -> Option<Verdict> {
        let [first, second] =
            [view.random >> 32, view.random & 0xffff_ffff].map(|half| half as f64 / ONE as f64);
        let scalable = self.coupling * self.p;
        let bounds = [(first, self.p), (second, self.p), (first, scalable)];
        if bounds
            .iter()
            .any(|(word, bound)| (word - bound).abs() < 1e-7)
        {
            return None;
        }
        let twice = first < self.p && second < self.p;
        let is_scalable = view.traffic_class & 1 == 1;
        Some(if (view.queue_bytes as f64) < self.floor_bytes {
            Verdict::Admit
        } else if twice && scalable > 1.0 {
            Verdict::DropForced
        } else if (is_scalable && first < scalable) || (!is_scalable && twice) {
            Verdict::DropEarly
        } else {
            Verdict::Admit
        })
    }
}

fn follow(link: &Link, numbers: &[(&'static str, f64)]) {
    let values: Vec<_> = numbers.iter().map(|(n, v)| (*n, number(*v))).collect();
    let pi2 = configured("pi2", &values);
    let mut model = Model::of(&pi2);
    let mut seen = [0; Verdict::COUNT];
    let (mut open, mut greatest) = (0, 0.0_f64);
    // each of the three products is rounded to 2^-32, and so are the delays
    let slack = 1e-9 * (2.0 + model.alpha + 2.0 * model.beta);
    link.drive(&pi2, 60_000, |event, view, verdict, running| match event {
        Event::Depart => {
            let waits = view.queue_packets > 0;
            model.sojourn = f64::from(u8::from(waits)) * view.sojourn_ns as f64 / 1e9;
        }
        Event::Tick => {
            model.tick();
            let p = running.probability().unwrap();
            assert!((p - model.p).abs() < slack, "{p}, not {}", model.p);
            // the model restarts from the code's p, so that no error adds up
            model.p = p;
            greatest = greatest.max(p);
        }
        Event::Arrive => {
            seen[verdict as usize] += 1;
            match model.arrive(view) {
                Some(said) => assert_eq!(verdict, Running::settle(said, view), "{view:?}"),
                None => open += 1,
            }
        }
        Event::Join | Event::Leave => {}
    });
    let early = seen[Verdict::DropEarly as usize];
    assert!(early > 300 && open < 50, "{seen:?}, {open} open");
    assert_eq!(seen[Verdict::Mark as usize] > 100, link.ecn, "{seen:?}");
    assert_eq!(
        seen[Verdict::DropForced as usize] > 50,
        greatest > 0.5,
        "{seen:?}, {greatest}"
    );
}

#[test]
fn pi2_follows_its_controller_and_its_chances() {
    let wide = Link {
        limit: 1000,
        ..LINK
    };
    let mixed = Link {
        limit: 1000,
        ..MIXED
    };
    follow(&wide, &[]);
    follow(
        &wide,
        &[("target", 0.005), ("t_update", 0.003), ("alpha", 1.0)],
    );
    follow(&mixed, &[("coupling", 1.5)]);
    follow(&mixed, &[("beta", 0.5), ("mtu_bytes", 500.0)]);
}

/// A standing delay adds alpha (delay - target) at each update, and beta times it at the first.
#[test]
fn a_standing_delay_raises_p_by_equal_steps() {
    let mut pi2 = configured("pi2", &[("alpha", number(0.5)), ("beta", number(2.0))]).start();
    let view = View {
        sojourn_ns: 25 * MS,
        queue_packets: 10,
        ..View::default()
    };
    for count in 1..=20 {
        pi2.depart(&view);
        pi2.tick(&view);
        let expected = 0.05 + 0.005 * f64::from(count);
        let p = pi2.probability().unwrap();
        assert!((p - expected).abs() < 1e-8, "{count}: {p}, not {expected}");
    }
}
