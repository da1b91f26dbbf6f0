//! Compares RED with `like = ns2` or `ns2_bytes` with a transcription of red.cc of ns-2.35 in
//! floating point, which measures the queue in packets or in bytes.

use sluice_aqm::{Aqm, Configured, Verdict, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, Told},
    number, word,
};

const PACKET: f64 = 500.0;

/// The result of enque() before it draws a random number.
#[derive(Debug, PartialEq)]
enum Says {
    Passes,
    Forced,
    Chance(f64),
}

/// REDQueue of queue/red.cc, with the names of red.cc, the defaults `wait_` and `drop_tail_`, and
/// `bytes_` as `queue_in_bytes_`.
struct RedQueue {
    /// 1 if the queue counts packets, the mean packet size (bytes) if it counts bytes.
    unit: f64,
    gentle: bool,
    th_min: f64,
    th_max: f64,
    max_p: f64,
    q_w: f64,
    v_ave: f64,
    count: i64,
    old: bool,
}

impl RedQueue {
    fn calculate_p(&self) -> f64 {
        if self.v_ave >= self.th_max {
            let (v_c, v_d) = ((1.0 - self.max_p) / self.th_max, 2.0 * self.max_p - 1.0);
            v_c * self.v_ave + v_d
        } else {
            self.max_p * (self.v_ave - self.th_min) / (self.th_max - self.th_min)
        }
    }

    fn modify_p(&self, p: f64) -> f64 {
        match self.count as f64 * p {
            sum if sum < 1.0 => 0.0,
            sum if sum < 2.0 => p / (2.0 - sum),
            _ => 1.0,
        }
    }

    fn enque(&mut self, view: &View) -> Says {
        let ptc = view.rate_bps as f64 / (8.0 * PACKET);
        let idle_s = (view.now_ns - view.idle_since_ns) as f64 / 1e9;
        let m = if view.idle == 1 {
            (ptc * idle_s) as i32
        } else {
            0
        };
        let qlen = f64::from(view.queue_packets) * self.unit;
        self.v_ave = self.v_ave * (1.0 - self.q_w).powi(m + 1) + self.q_w * qlen;
        self.count += 1;
        let forced = self.th_max * if self.gentle { 2.0 } else { 1.0 };
        if self.v_ave < self.th_min || qlen <= 1.0 {
            self.old = false;
            Says::Passes
        } else if self.v_ave >= forced {
            Says::Forced
        } else if !self.old {
            self.count = 1;
            self.old = true;
            Says::Passes
        } else {
            Says::Chance(self.modify_p(self.calculate_p()))
        }
    }

    /// Resets the count, as enque() does after a drop.
    fn dropped(&mut self) {
        self.count = 0;
    }
}

/// How often a run had each case.
#[derive(Debug, Default)]
struct Seen {
    forced: usize,
    /// Packets that passed only because the queue was short, with count p_b >= 1.
    spared: usize,
    /// Overflows that reset a count of several packets.
    overflows: usize,
}

fn red(like: &str, drop_function: &str) -> Configured {
    configured(
        "red",
        &[
            ("min_th", number(5.0)),
            ("max_th", number(15.0)),
            ("max_p", number(0.1)),
            ("w", number(0.02)),
            ("drop_function", word(drop_function)),
            ("spacing", word("waiting")),
            ("like", word(like)),
        ],
    )
}

/// Compares every verdict and every average of a loaded link with the model.
fn follow(like: &str, drop_function: &str, limit: u32, seed: u64) -> Seen {
    let unit = if like == "ns2_bytes" { PACKET } else { 1.0 };
    let mut model = RedQueue {
        unit,
        gentle: drop_function == "gentle",
        th_min: 5.0 * unit,
        th_max: 15.0 * unit,
        max_p: 0.1,
        q_w: 0.02,
        v_ave: 0.0,
        count: 0,
        old: false,
    };
    let (mut seen, mut told) = (Seen::default(), Told::default());
    let link = Link {
        limit,
        seed,
        ..LINK
    };
    link.drive(
        &red(like, drop_function),
        200_000,
        |event, view, verdict, running| {
            if event != Event::Arrive {
                return;
            }
            let count = model.count;
            let says = model.enque(view);
            let off = running.average().unwrap() - model.v_ave / unit;
            assert!(off.abs() < 1e-7, "average off by {off}");
            match says {
                Says::Forced => {
                    seen.forced += 1;
                    assert_eq!(verdict, Verdict::DropForced);
                }
                Says::Passes => {
                    assert!(!matches!(verdict, Verdict::DropEarly | Verdict::DropForced));
                    let due = model.v_ave >= model.th_min && !model.old;
                    let p = model.calculate_p();
                    seen.spared += usize::from(due && (count + 1) as f64 * p >= 1.0);
                }
                Says::Chance(p) => told.chance(view, verdict, p, if p > 0.0 { 1e-6 } else { 0.0 }),
            }
            if verdict.is_drop() {
                seen.overflows += usize::from(verdict == Verdict::DropOverflow && model.count > 1);
                model.dropped();
            }
        },
    );
    told.assert_telling();
    seen
}

#[test]
fn red_like_ns2_follows_red_cc() {
    for like in ["ns2", "ns2_bytes"] {
        for drop_function in ["linear", "gentle"] {
            let seen = follow(like, drop_function, 200, 1);
            assert!(
                seen.forced > 500 && seen.spared > 20,
                "{like} {drop_function}: {seen:?}"
            );
            let seen = follow(like, drop_function, 20, 3);
            assert!(seen.overflows > 500, "{like} {drop_function}: {seen:?}");
        }
    }
}

/// `ns2`, `ns2_bytes` and `paper` differ if 0 or 1 packets wait.
#[test]
fn packets_and_bytes_differ_where_one_packet_waits() {
    let verdict = |like: &str, queue_packets: u32| {
        let mut running = red(like, "linear").start();
        let view = |queue_packets| View {
            queue_packets,
            limit_packets: 200,
            rate_bps: 10_000_000,
            ..View::default()
        };
        while running.average().unwrap() < 14.0 {
            running.arrive(&view(40));
        }
        (0..40)
            .map(|_| running.arrive(&view(queue_packets)))
            .any(|verdict| verdict.is_drop())
    };
    let drops = |like| [0, 1, 2].map(|queue| verdict(like, queue));
    assert_eq!(drops("ns2"), [false, false, true]);
    assert_eq!(drops("ns2_bytes"), [false, true, true]);
    assert_eq!(drops("paper"), [true, true, true]);
}
