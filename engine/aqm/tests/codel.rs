//! Compares CoDel with the pseudocode of RFC 8289, which dequeues in a loop, in floating point, and
//! its square root with a transcription of Linux's.

use sluice_aqm::{Aqm, Verdict, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED},
    number, word,
};

/// Linux 6.1, include/net/codel_impl.h: codel_Newton_step() and codel_control_law(), with Linux's
/// types and names.
#[derive(Clone, Copy)]
struct Newton {
    rec_inv_sqrt: u16,
}

impl Newton {
    const SHIFT: u32 = 16;

    fn step(&mut self, count: u32) {
        let invsqrt = u32::from(self.rec_inv_sqrt) << Self::SHIFT;
        let invsqrt2 = ((u64::from(invsqrt) * u64::from(invsqrt)) >> 32) as u32;
        let mut val = (3_u64 << 32).wrapping_sub(u64::from(count) * u64::from(invsqrt2));
        val >>= 2;
        val = val.wrapping_mul(u64::from(invsqrt)) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (val >> Self::SHIFT) as u16;
    }

    /// reciprocal_scale(interval, rec_inv_sqrt << SHIFT), with the interval in ns instead of
    /// Linux's units of 1024 ns.
    fn gap_ns(self, interval_ns: u64) -> u64 {
        let scaled =
            u128::from(interval_ns) * u128::from(u32::from(self.rec_inv_sqrt) << Self::SHIFT);
        (scaled >> 32) as u64
    }
}

/// RFC 8289, sections 5.3 to 5.6; with marks as in Linux.
struct Model<'a> {
    target_ns: u64,
    interval_ns: f64,
    newton: Option<Newton>,
    /// The views of packets that leave the queue, and the model's verdicts on them.
    views: &'a [View],
    verdicts: Vec<Verdict>,
    first_above_ns: u64,
    drop_next_ns: i64,
    count: u64,
    last_count: u64,
    dropping: bool,
    max_packet: u32,
    /// Linux's cparams.mtu, with the backlog of the whole qdisc.
    mtu: Option<u64>,
}

impl Model<'_> {
    fn control_law(&self, t: i64) -> i64 {
        t + match self.newton {
            Some(newton) => newton.gap_ns(self.interval_ns as u64) as i64,
            None => (self.interval_ns / (self.count as f64).sqrt()).round() as i64,
        }
    }

    /// codel_dequeue() makes a step wherever it changes the count, except where it sets it to 1.
    fn step(&mut self) {
        let count = self.count as u32;
        if let Some(newton) = &mut self.newton {
            newton.step(count);
        }
    }

    /// True if the next packet may be dropped.
    fn dodequeue(&mut self) -> bool {
        let view = self.views[self.verdicts.len()];
        self.max_packet = self.max_packet.max(view.packet_bytes);
        let below = view.sojourn_ns < self.target_ns;
        let short = match self.mtu {
            Some(mtu) => view.buffer_bytes <= mtu,
            None => view.queue_bytes <= u64::from(self.max_packet),
        };
        if below || short {
            self.first_above_ns = 0;
        } else if self.first_above_ns == 0 {
            self.first_above_ns = view.now_ns + self.interval_ns as u64;
        } else {
            return match self.mtu {
                Some(_) => view.now_ns > self.first_above_ns,
                None => view.now_ns >= self.first_above_ns,
            };
        }
        false
    }

    fn is_markable(&self) -> bool {
        self.views[self.verdicts.len()].ecn_capable == 1
    }

    /// Adds the verdicts on the packets up to the next one that is sent.
    fn deque(&mut self) {
        let now = self.views[self.verdicts.len()].now_ns as i64;
        let mut ok = self.dodequeue();
        let mut sent = Verdict::Admit;
        if self.dropping {
            if !ok {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next_ns {
                self.count += 1;
                self.step();
                if self.is_markable() {
                    sent = Verdict::Mark;
                    self.drop_next_ns = self.control_law(self.drop_next_ns);
                    break;
                }
                self.verdicts.push(Verdict::DropEarly);
                ok = self.dodequeue();
                if ok {
                    self.drop_next_ns = self.control_law(self.drop_next_ns);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok {
            if self.is_markable() {
                sent = Verdict::Mark;
            } else {
                self.verdicts.push(Verdict::DropEarly);
                self.dodequeue();
            }
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recently = now - self.drop_next_ns < 16 * self.interval_ns as i64;
            if delta > 1 && recently {
                self.count = delta;
                self.step();
            } else {
                self.count = 1;
                self.newton = self.newton.map(|_| Newton {
                    rec_inv_sqrt: u16::MAX,
                });
            }
            self.drop_next_ns = self.control_law(now);
            self.last_count = self.count;
        }
        self.verdicts.push(sent);
    }
}

fn follow(link: &Link, like: &str, sqrt: &str, target: f64, interval: f64) {
    let given = [
        ("like", word(like)),
        ("target", number(target)),
        ("interval", number(interval)),
        ("sqrt", word(sqrt)),
    ];
    let (mut views, mut verdicts) = (Vec::new(), Vec::new());
    link.drive(
        &configured("codel", &given),
        60_000,
        |event, view, verdict, _| {
            if event == Event::Depart {
                views.push(*view);
                verdicts.push(verdict);
            }
        },
    );
    let mut model = Model {
        target_ns: (target * 1e9) as u64,
        interval_ns: interval * 1e9,
        newton: (sqrt == "newton").then_some(Newton { rec_inv_sqrt: 0 }),
        views: &views,
        verdicts: Vec::new(),
        first_above_ns: 0,
        drop_next_ns: 0,
        count: 0,
        last_count: 0,
        dropping: false,
        max_packet: 0,
        mtu: (like == "linux").then_some(1514),
    };
    while model.verdicts.len() < views.len() {
        model.deque();
    }
    for (index, verdict) in verdicts.iter().enumerate() {
        assert_eq!(
            *verdict, model.verdicts[index],
            "{index}: {:?}",
            views[index]
        );
    }
    let count = |wanted| {
        verdicts
            .iter()
            .filter(|verdict| **verdict == wanted)
            .count()
    };
    let dropped_in_a_row = verdicts
        .windows(2)
        .filter(|two| *two == [Verdict::DropEarly; 2])
        .count();
    assert!(count(Verdict::DropEarly) > 200);
    // only with a short interval do two drops fall due at one departure
    assert_eq!(dropped_in_a_row > 100, interval < 0.05);
    assert_eq!(count(Verdict::Mark) > 200, link.ecn);
}

#[test]
fn codel_follows_the_rfc_and_with_newton_linux() {
    let wide = Link {
        limit: 1000,
        ..LINK
    };
    let mixed = Link {
        limit: 1000,
        ..MIXED
    };
    for (like, sqrt) in [("rfc", "exact"), ("rfc", "newton"), ("linux", "newton")] {
        follow(&wide, like, sqrt, 0.005, 0.1);
        follow(&wide, like, sqrt, 0.001, 0.005);
        follow(&mixed, like, sqrt, 0.005, 0.1);
        follow(&mixed, like, sqrt, 0.0, 0.02);
    }
}

/// Returns the times of the drops from a standing queue from which a packet leaves each 10 us, us.
fn drops_of_a_standing_queue(sqrt: &str, until_us: u64) -> Vec<u64> {
    let mut codel = configured("codel", &[("sqrt", word(sqrt))]).start();
    let mut is_drop = |us: u64| {
        let view = View {
            now_ns: us * 1000,
            sojourn_ns: 20_000_000,
            queue_bytes: 100_000,
            queue_packets: 100,
            packet_bytes: 1000,
            ..View::default()
        };
        codel.depart(&view).is_drop()
    };
    (1..until_us)
        .step_by(10)
        .filter(|us| is_drop(*us))
        .collect()
}

/// With a standing queue, the first drop is an interval after the delay was first too long, and
/// drop n + 1 follows drop n after interval / sqrt(n).
#[test]
fn drops_come_ever_more_often() {
    let drops = drops_of_a_standing_queue("exact", 5_000_000);
    assert!(drops.len() > 400);
    // tolerance: the grid of 10 us, and each drop's rounding to whole nanoseconds
    let mut expected = 100_001.0;
    for (n, us) in drops.iter().enumerate() {
        assert!(
            (*us as f64 - expected).abs() <= 10.5,
            "drop {n}: {us}, not {expected}"
        );
        expected += 100_000.0 / ((n + 1) as f64).sqrt();
    }
}

#[test]
fn a_short_queue_is_left_alone() {
    let mut codel = configured("codel", &[]).start();
    for ms in 0..10_000 {
        let view = View {
            now_ns: ms * 1_000_000,
            sojourn_ns: 1_000_000_000,
            queue_bytes: 1500,
            packet_bytes: 1500,
            ..View::default()
        };
        assert_eq!(codel.depart(&view), Verdict::Admit);
    }
}

/// Linux, codel_dequeue(): above the threshold every packet that can be marked is; none is dropped.
#[test]
fn beyond_the_step_every_packet_is_marked_that_can_be() {
    let mut codel = configured("codel", &[("ce_threshold", number(0.001))]).start();
    for (sojourn_ns, ecn_capable, expected) in [
        (1_000_000, 1, Verdict::Admit),
        (1_000_001, 1, Verdict::Mark),
        (1_000_001, 0, Verdict::Admit),
        (4_999_999, 1, Verdict::Mark),
        (0, 1, Verdict::Admit),
    ] {
        let view = View {
            now_ns: 1_000_000_000,
            sojourn_ns,
            ecn_capable,
            queue_bytes: 100_000,
            packet_bytes: 1000,
            ..View::default()
        };
        assert_eq!(codel.depart(&view), expected, "{sojourn_ns}, {ecn_capable}");
    }
}

/// Linux, sch_fq_codel.c and codel_impl.h: the traffic class, under the mask, is the selector.
#[test]
fn the_step_can_be_for_some_codepoints_only() {
    let [ect1, ect0, af41_ect1] = [1, 2, 34 << 2 | 1];
    for (selector, mask, marked) in [
        (0.0, 0.0, [true, true, true]),
        (1.0, 3.0, [true, false, true]),
        (1.0, 255.0, [true, false, false]),
        (136.0, 252.0, [false, false, true]),
    ] {
        let given = [
            ("ce_threshold", number(0.001)),
            ("ce_selector", number(selector)),
            ("ce_mask", number(mask)),
        ];
        let mut codel = configured("codel", &given).start();
        for (traffic_class, is_marked) in [ect1, ect0, af41_ect1].into_iter().zip(marked) {
            let view = View {
                now_ns: 1_000_000_000,
                sojourn_ns: 2_000_000,
                ecn_capable: 1,
                traffic_class,
                queue_bytes: 100_000,
                packet_bytes: 1000,
                ..View::default()
            };
            let expected = [Verdict::Admit, Verdict::Mark][usize::from(is_marked)];
            assert_eq!(
                codel.depart(&view),
                expected,
                "{selector}/{mask}, {traffic_class}"
            );
        }
    }
}

/// FQ-CoDel in Linux asks for the backlog of the whole qdisc.
#[test]
fn like_linux_the_last_packet_of_a_flow_is_dropped_while_others_wait() {
    for (like, buffer_bytes, drops) in [
        ("rfc", 100_000, false),
        ("linux", 100_000, true),
        ("linux", 1514, false),
        ("linux", 1515, true),
    ] {
        let mut codel = configured("codel", &[("like", word(like))]).start();
        let dropped = (0..10_000).any(|ms| {
            let view = View {
                now_ns: ms * 1_000_000,
                sojourn_ns: 1_000_000_000,
                queue_bytes: 0,
                buffer_bytes,
                packet_bytes: 1500,
                ..View::default()
            };
            codel.depart(&view).is_drop()
        });
        assert_eq!(dropped, drops, "{like}, {buffer_bytes}");
    }
}

/// The threshold does not change the times of the drops.
#[test]
fn the_step_changes_no_drop() {
    let verdicts = |ce_threshold| {
        let (mut verdicts, link) = (
            Vec::new(),
            Link {
                limit: 1000,
                ..LINK
            },
        );
        let given = [("ce_threshold", number(ce_threshold))];
        link.drive(
            &configured("codel", &given),
            20_000,
            |event, view, verdict, _| {
                if event == Event::Depart {
                    verdicts.push((*view, verdict));
                }
            },
        );
        verdicts
    };
    assert!(
        verdicts(0.0) == verdicts(0.001),
        "packets that cannot be marked"
    );
}
