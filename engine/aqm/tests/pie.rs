//! Compares PIE with the pseudocode of RFC 8033 in floating point.

use sluice_aqm::{Aqm, Configured, ONE, Running, Value, Verdict, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED},
    number, value, word,
};

/// RFC 8033, appendix A and sections 5.1, 5.2, 5.4, 5.5; with `linux` as in Linux, sch_pie.c.
struct Model {
    target: f64,
    t_update: f64,
    alpha: f64,
    beta: f64,
    max_burst: f64,
    mark_ecnth: f64,
    dq_threshold: f64,
    by_timestamps: bool,
    derandomised: bool,
    linux: bool,
    departed_ns: Option<u64>,
    p: f64,
    delay: f64,
    burst_allowance: f64,
    accumulated: f64,
    sojourn: f64,
    /// Start (ns) and bytes so far of the measurement that runs.
    measurement: Option<(u64, f64)>,
    dq_time: Option<f64>,
}

impl Model {
    fn of(pie: &Configured, by_timestamps: bool, derandomised: bool) -> Self {
        let of = |name| value(pie, name);
        Self {
            target: of("target"),
            t_update: of("t_update"),
            alpha: of("alpha"),
            beta: of("beta"),
            max_burst: of("max_burst"),
            mark_ecnth: of("mark_ecnth"),
            dq_threshold: of("dq_threshold"),
            by_timestamps,
            derandomised,
            linux: false,
            departed_ns: None,
            p: 0.0,
            delay: 0.0,
            burst_allowance: of("max_burst"),
            accumulated: 0.0,
            sojourn: 0.0,
            measurement: None,
            dq_time: None,
        }
    }

    fn depart(&mut self, view: &View) {
        let waits = view.queue_packets > 0;
        self.sojourn = if waits {
            view.sojourn_ns as f64 / 1e9
        } else {
            0.0
        };
        if self.linux {
            if let Some(departed_ns) = self.departed_ns.replace(view.now_ns) {
                let passed = (view.now_ns - departed_ns) as f64 / 1e9;
                self.burst_allowance = (self.burst_allowance - passed).max(0.0);
            }
            return;
        }
        if self.measurement.is_none() && view.queue_bytes as f64 >= self.dq_threshold {
            self.measurement = Some((view.now_ns, 0.0));
        }
        let Some((since, count)) = &mut self.measurement else {
            return;
        };
        *count += f64::from(view.packet_bytes);
        if *count >= self.dq_threshold {
            let time = (view.now_ns - *since) as f64 / 1e9;
            let weight = self.dq_threshold / 65536.0;
            let average = |old: f64| (1.0 - weight) * old + weight * time;
            self.dq_time = Some(self.dq_time.map_or(time, average));
            self.measurement = None;
        }
    }

    fn tick(&mut self, view: &View) {
        let delay = if self.by_timestamps {
            self.sojourn
        } else {
            view.queue_bytes as f64 * self.dq_time.unwrap_or(0.0) / self.dq_threshold
        };
        let steps = [
            (1e-6, 2048.0),
            (1e-5, 512.0),
            (1e-4, 128.0),
            (1e-3, 32.0),
            (1e-2, 8.0),
            (1e-1, 2.0),
        ];
        let scale = steps
            .iter()
            .find(|step| self.p < step.0)
            .map_or(1.0, |step| step.1);
        let change = self.alpha * (delay - self.target) + self.beta * (delay - self.delay);
        let cap = if self.p >= 0.1 { 0.02 } else { f64::INFINITY };
        let late = if self.linux && delay > 0.25 {
            0.02
        } else {
            0.0
        };
        self.p = (self.p + (change / scale).min(cap) + late).clamp(0.0, 1.0);
        if delay == 0.0 && self.delay == 0.0 && !(self.linux && view.queue_packets > 0) {
            self.p *= if self.linux { 63.0 / 64.0 } else { 0.98 };
        }
        if !self.linux {
            self.burst_allowance = (self.burst_allowance - self.t_update).max(0.0);
        }
        if self.p == 0.0 && delay < self.target / 2.0 && self.delay < self.target / 2.0 {
            self.burst_allowance = self.max_burst;
            if self.linux {
                (self.departed_ns, self.accumulated) = (None, 0.0);
            }
        }
        self.delay = delay;
    }

    /// Returns the verdict before `settle`; an error if the random word is too close to p.
    fn arrive(&mut self, view: &View) -> Result<Verdict, ()> {
        if view.full == 1 {
            self.accumulated = 0.0;
            return Ok(Verdict::Admit);
        }
        let delay = if self.linux { self.sojourn } else { self.delay };
        let few = view.queue_bytes < if self.linux { 2 * 1514 } else { 2001 }
            || (delay < self.target / 2.0 && self.p < 0.2);
        if self.burst_allowance > 1e-9 || few {
            return Ok(Verdict::Admit);
        }
        let r = (view.random >> 32) as f64 / ONE as f64;
        let mut drops = r < self.p;
        let mut open = (r - self.p).abs() < 1e-7;
        if self.derandomised {
            self.accumulated = if self.p > 0.0 {
                self.accumulated + self.p
            } else {
                0.0
            };
            open &= (0.85..8.5).contains(&self.accumulated);
            open |= (self.accumulated - 0.85).abs() < 1e-6 || (self.accumulated - 8.5).abs() < 1e-6;
            drops &= self.accumulated >= 0.85;
            drops |= self.accumulated >= 8.5;
        }
        if open {
            return Err(());
        }
        if !drops {
            return Ok(Verdict::Admit);
        }
        let below = self.p < self.mark_ecnth;
        let stays = self.linux && view.ecn_capable == 1 && below && self.accumulated >= 8.5;
        if !stays {
            self.accumulated = 0.0;
        }
        Ok(if view.ecn_capable == 0 || below {
            Verdict::DropEarly
        } else {
            Verdict::DropForced
        })
    }

    /// Takes over the code's verdict where `arrive` could not tell it.
    fn learn(&mut self, verdict: Verdict) {
        if verdict != Verdict::Admit {
            self.accumulated = 0.0;
        }
    }
}

fn follow(link: &Link, delay: &str, spacing: &str, numbers: &[(&'static str, f64)]) {
    follow_like("rfc", link, delay, spacing, numbers);
}

fn follow_like(
    like: &str,
    link: &Link,
    delay: &str,
    spacing: &str,
    numbers: &[(&'static str, f64)],
) {
    let mut values: Vec<(&str, Value)> = numbers.iter().map(|(n, v)| (*n, number(*v))).collect();
    values.extend([
        ("delay", word(delay)),
        ("spacing", word(spacing)),
        ("like", word(like)),
    ]);
    let pie = configured("pie", &values);
    let mut model = Model::of(&pie, delay == "timestamps", spacing == "derandomised");
    model.linux = like == "linux";
    let mut seen = [0; Verdict::COUNT];
    let (mut open, mut greatest) = (0, 0.0_f64);
    // error bounds: of dq_time two steps of 2^-32 s, of the delay as much for each dq_threshold
    // that waits, and of p alpha + 2 beta times the delay's
    let thresholds = f64::from(link.limit) * 750.0 / model.dq_threshold;
    let slack = 1e-9 + (model.alpha + 2.0 * model.beta) * 5e-10 * (1.0 + thresholds);
    link.drive(&pie, 60_000, |event, view, verdict, running| {
        match event {
            Event::Depart => model.depart(view),
            Event::Tick => {
                model.tick(view);
                let p = running.probability().unwrap();
                assert!((p - model.p).abs() < slack, "{p}, not {}", model.p);
                // the model restarts from the code's p, so that no error adds up; but 0 stays 0
                model.p = if model.p == 0.0 { 0.0 } else { p.max(1e-12) };
            }
            Event::Arrive => {
                seen[verdict as usize] += 1;
                match model.arrive(view) {
                    Ok(said) => assert_eq!(verdict, Running::settle(said, view), "{view:?}"),
                    Err(()) => {
                        model.learn(verdict);
                        open += 1;
                    }
                }
            }
            Event::Join | Event::Leave => {}
        }
        greatest = greatest.max(model.p);
    });
    let early = seen[Verdict::DropEarly as usize];
    assert!(
        early > 300 && open * 100 < early && greatest > 0.1,
        "{seen:?}, {open} open, {greatest}"
    );
    assert_eq!(seen[Verdict::Mark as usize] > 20, link.ecn, "{seen:?}");
    assert_eq!(
        seen[Verdict::DropForced as usize] > 50,
        link.ecn,
        "{seen:?}"
    );
}

#[test]
fn pie_follows_the_rfc() {
    let wide = Link {
        limit: 1000,
        ..LINK
    };
    let mixed = Link {
        limit: 1000,
        ..MIXED
    };
    follow(&wide, "estimated", "derandomised", &[]);
    follow(
        &wide,
        "timestamps",
        "derandomised",
        &[("alpha", 1.0), ("target", 0.005)],
    );
    follow(
        &mixed,
        "estimated",
        "independent",
        &[("dq_threshold", 5000.0)],
    );
    follow(&mixed, "timestamps", "independent", &[("t_update", 0.003)]);
    follow(
        &mixed,
        "timestamps",
        "derandomised",
        &[("mark_ecnth", 0.05), ("max_burst", 0.0)],
    );
}

#[test]
fn pie_is_that_of_linux() {
    let wide = Link {
        limit: 1000,
        ..LINK
    };
    let mixed = Link {
        limit: 1000,
        ..MIXED
    };
    let linux = |link, numbers| follow_like("linux", link, "timestamps", "derandomised", numbers);
    linux(&wide, &[]);
    linux(&mixed, &[("mark_ecnth", 0.05)]);
    linux(&mixed, &[("target", 0.005), ("max_burst", 0.03)]);
    let given = [("like", word("linux"))];
    let told =
        Configured::new(crate::common::class("pie"), &crate::common::given(&given)).unwrap_err();
    let wanted = "pie.delay = estimated must be timestamps with like = linux";
    assert!(told.to_string().contains(wanted), "{told}");
}

/// One millisecond at 10 Mb/s: a packet of 1250 bytes leaves and one arrives, while `waiting`
/// packets wait.
fn millisecond(running: &mut Running, now: u64, waiting: u32) -> Verdict {
    let view = View {
        now_ns: now * 1_000_000,
        sojourn_ns: u64::from(waiting) * 1_000_000,
        queue_packets: waiting,
        queue_bytes: u64::from(waiting) * 1250,
        packet_bytes: 1250,
        ..View::default()
    };
    running.depart(&view);
    if now.is_multiple_of(15) {
        running.tick(&view);
    }
    running.arrive(&view)
}

/// Section 5.2: 16 KB are 14 packets of 1250 bytes; the first one leaves when the measurement
/// starts, so it takes 13 ms. Appendix A: at the first update, p is
/// (alpha (d - target) + beta d) / 2048.
#[test]
fn the_delay_is_what_waits_over_what_leaves() {
    for (delay, expected) in [
        ("estimated", 0.1 * 1250.0 * 13.0 / 16.384),
        ("timestamps", 0.1),
    ] {
        let mut pie = configured("pie", &[("delay", word(delay))]).start();
        for now in 1..=15 {
            millisecond(&mut pie, now, 100);
        }
        let d = if delay == "estimated" {
            expected / 1000.0
        } else {
            expected
        };
        let p = (0.125 * (d - 0.015) + 1.25 * d) / 2048.0;
        assert!((pie.probability().unwrap() - p).abs() < 1e-9, "{delay}");
    }
}

/// Section 4.4: the first drop is never earlier than max_burst.
#[test]
fn a_burst_passes() {
    for max_burst in [0.15, 0.6] {
        let values = [
            ("max_burst", number(max_burst)),
            ("spacing", word("independent")),
        ];
        let mut pie = configured("pie", &values).start();
        let is_drop = |now: &u64| millisecond(&mut pie, *now, 1000).is_drop();
        let first = (1..5000).find(is_drop).unwrap() as f64 / 1000.0;
        assert!((max_burst..max_burst + 0.03).contains(&first), "{first} s");
    }
}
