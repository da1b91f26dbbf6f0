//! COBALT: the assertions of ns-3's own tests, an oracle,
//! and what CAKE adds.

use sluice_aqm::{Aqm, Configured, Running, Value, Verdict, View};

use crate::common::{
    class, configured, given,
    link::{Event, LINK, Link, MIXED},
    number, word,
};

const MS: u64 = 1_000_000;

fn as_in(like: &str) -> Vec<(&'static str, Value)> {
    vec![("like", word(like))]
}

/// A view of a packet that arrived at 0 and leaves at `now_ns`; `left` packets still wait.
fn leaving(now_ns: u64, left: u32, ecn_capable: bool) -> View {
    View {
        now_ns,
        sojourn_ns: now_ns,
        rate_bps: 1_000_000_000,
        random: u64::MAX,
        packet_bytes: 1000,
        queue_packets: left,
        queue_bytes: u64::from(left) * 1000,
        ecn_capable: u8::from(ecn_capable),
        ..View::default()
    }
}

/// Takes packets at `now_ns` until one is not dropped; returns the verdicts.
fn take(cobalt: &mut Running, waiting: &mut Vec<bool>, now_ns: u64) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    while !waiting.is_empty() {
        let capable = waiting.remove(0);
        let verdict = cobalt.depart(&leaving(now_ns, waiting.len() as u32, capable));
        verdicts.push(verdict);
        if !verdict.is_drop() {
            break;
        }
    }
    verdicts
}

/// ns-3, cobalt-queue-disc-test-suite.cc, CobaltQueueDiscMarkTest: 20 packets arrive at 0, and some
/// are taken at twice the target, two intervals later (twice), and at twice that time.
#[test]
fn ns3_mark_test() {
    use Verdict::{Admit, DropEarly, Mark};
    let times = [10 * MS, 210 * MS, 210 * MS, 420 * MS];
    let run = |capable: usize| {
        let never = ("blue_threshold", number(100.0));
        let mut cobalt = configured("cobalt", &[as_in("ns3"), vec![never]].concat()).start();
        let mut waiting: Vec<bool> = (0..20).map(|place| place < capable).collect();
        times.map(|now_ns| take(&mut cobalt, &mut waiting, now_ns))
    };
    let marked = run(20);
    assert_eq!(marked, [[Admit], [Mark], [Mark], [Mark]]);
    let dropped = run(0);
    assert_eq!(dropped[0], [Admit]);
    assert_eq!(dropped[1][0], DropEarly);
    // "the number of drops equals the number of times drop_next is updated": here the times of
    // 1 / sqrt(3) .. of an interval after 10 + 100 + 71 ms that have passed by 420 ms
    let mixed = run(3);
    assert_eq!(mixed[..3], [[Admit], [Mark], [Mark]]);
    let drops = mixed[3].iter().filter(|verdict| verdict.is_drop()).count();
    assert!(drops >= 1);
    assert_eq!(mixed[3].len(), drops + 1);
}

/// ns-3, CobaltQueueDiscDropTest: 200 packets, 10 ms apart, into a queue with room for 100.
#[test]
fn ns3_drop_test_overflow_raises_blue() {
    for like in ["ns3", "linux"] {
        let mut cobalt = configured("cobalt", &as_in(like)).start();
        let mut overflows = 0;
        for count in 0..200_u64 {
            let waiting = count.min(100) as u32;
            let view = View {
                now_ns: (count + 1) * 10 * MS,
                queue_packets: waiting,
                full: u8::from(waiting == 100),
                ..leaving(0, waiting, true)
            };
            overflows += usize::from(cobalt.arrive(&view) == Verdict::DropOverflow);
        }
        assert_eq!(overflows, 100);
        // more than a target apart: each of them adds 1/256
        assert_eq!(cobalt.probability(), Some(100.0 / 256.0), "{like}");
    }
}

/// Linux 6.13, sch_cake.c: inv_sqrt_cache[].
const SMALL: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3037000500,
    2479700525,
    2147483647,
    1920767767,
    1753413056,
    1623345051,
    1518500250,
    1431655765,
    1358187914,
    1294981364,
    1239850263,
    1191209601,
    1147878294,
    1108955788,
];

/// Most steps by which the header's count falls at one packet, unless it falls to 0.
const MOST_STEPS: u64 = 64;

/// The law.
struct Model {
    linux: bool,
    target: f64,
    interval: f64,
    mtu: f64,
    threshold: f64,
    p_inc: f64,
    p_dec: f64,
    count: u64,
    /// 1 / sqrt(count), in 2^-32, with Linux's types.
    root: u32,
    /// ns, whole as in the header.
    drop_next: i64,
    changed: i64,
    p: f64,
    dropping: bool,
    longest_fall: u64,
}

impl Model {
    fn new(linux: bool, target: f64, interval: f64, mtu: f64) -> Self {
        Self {
            linux,
            target: if linux {
                target.max((1.5 * mtu).floor())
            } else {
                target
            },
            interval: 0.0,
            mtu,
            threshold: 0.4e9,
            p_inc: 0.05,
            p_dec: 0.01,
            count: 0,
            root: if linux { 0 } else { u32::MAX },
            drop_next: 0,
            changed: 0,
            p: 0.0,
            dropping: false,
            longest_fall: 0,
        }
        .with_interval(target, interval)
    }

    fn with_interval(mut self, target: f64, interval: f64) -> Self {
        self.interval = if self.linux {
            (interval + self.target - target).max(2.0 * self.target)
        } else {
            interval
        };
        self
    }

    fn set_count(&mut self, count: u64) {
        self.count = count;
        self.root = match SMALL.get(count as usize) {
            Some(root) => *root,
            None => {
                let root = u64::from(self.root);
                let rest = (3_u64 << 32) - count * ((root * root) >> 32);
                (((rest >> 2) * root) >> 31) as u32
            }
        };
        let exact = 1.0 / (count.max(1) as f64).sqrt();
        assert!((f64::from(self.root) / 2_f64.powi(32) / exact - 1.0).abs() < 2e-3);
    }

    fn gap(&self) -> i64 {
        ((self.interval as u128 * u128::from(self.root)) >> 32) as i64
    }

    fn due(&self, now: i64) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn fall(&mut self, now: i64, most: u64) {
        for _ in 0..most {
            if !self.due(now) {
                break;
            }
            self.set_count(self.count - 1);
            self.drop_next += self.gap();
        }
    }

    fn raise(&mut self, now: i64) {
        if (now - self.changed) as f64 > self.target {
            self.p = (self.p + self.p_inc).min(1.0);
            self.changed = now;
        }
    }

    fn arrive(&mut self, view: &View) {
        if view.idle == 1 {
            let at = view.idle_since_ns as i64;
            if self.p > 0.0 && (at - self.changed) as f64 > self.target {
                self.p = (self.p - self.p_dec).max(0.0);
                self.changed = at;
            }
            self.dropping = false;
            if self.due(at) {
                self.set_count(self.count - 1);
                self.drop_next += self.gap();
            }
        }
        if view.full == 1 {
            let now = view.now_ns as i64;
            self.raise(now);
            self.dropping = true;
            self.drop_next = now;
            self.count = self.count.max(1);
        }
    }

    fn depart(&mut self, view: &View) -> Verdict {
        let (now, sojourn) = (view.now_ns as i64, view.sojourn_ns as f64);
        if !self.linux && sojourn > self.threshold {
            self.raise(now);
        }
        let over = sojourn > self.target && (!self.linux || sojourn > 4.0 * self.mtu);
        let due = self.due(now);
        let mut late = now > self.drop_next;
        if over && !self.dropping {
            self.drop_next = now + self.gap();
        }
        if over && self.count == 0 {
            self.count = 1;
        }
        self.dropping = over;
        let mut verdict = Verdict::Admit;
        if due && over {
            verdict = Verdict::DropEarly;
            self.set_count(self.count + 1);
            self.drop_next += self.gap();
            late = now > self.drop_next;
        } else if due {
            let (count, root, drop_next) = (self.count, self.root, self.drop_next);
            self.fall(now, u64::MAX);
            self.longest_fall = self.longest_fall.max(count - self.count);
            if self.count > 0 {
                (self.count, self.root, self.drop_next) = (count, root, drop_next);
                self.fall(now, MOST_STEPS);
            }
            late = now > self.drop_next && !self.due(now);
        }
        if (view.random >> 32) as f64 / 4_294_967_296.0 < self.p {
            verdict = Verdict::DropForced;
        }
        if verdict == Verdict::DropEarly && view.ecn_capable == 1 {
            verdict = Verdict::Mark;
        }
        if self.count == 0 {
            self.drop_next = now + self.interval as i64;
        } else if late && !verdict.is_drop() {
            self.drop_next = now;
        }
        if self.linux && view.queue_packets == 0 && verdict.is_drop() {
            verdict = Verdict::Admit;
        }
        verdict
    }
}

fn oracle_agrees(link: &Link, like: &'static str) -> u64 {
    let (target, interval) = (0.005, 0.05);
    let given = [
        ("like", word(like)),
        ("target", number(target)),
        ("interval", number(interval)),
        ("p_inc", number(0.05)),
        ("p_dec", number(0.01)),
    ];
    let mtu = 1514.0 * 8e9 / link.rate_bps as f64;
    let mut model = Model::new(like == "linux", target * 1e9, interval * 1e9, mtu.floor());
    let (mut signals, mut forced, mut packets) = (0, 0, 0);
    link.drive(
        &configured("cobalt", &given),
        60_000,
        |event, view, verdict, cobalt| {
            match event {
                Event::Arrive => model.arrive(view),
                Event::Depart => {
                    packets += 1;
                    assert_eq!(verdict, model.depart(view), "packet {packets}: {view:?}");
                    signals += u32::from(matches!(verdict, Verdict::DropEarly | Verdict::Mark));
                    forced += u32::from(verdict == Verdict::DropForced);
                }
                _ => unreachable!("COBALT has no such function"),
            }
            let p = cobalt.probability().unwrap();
            assert!((p - model.p).abs() < 1e-6, "{p} {}", model.p);
        },
    );
    assert!(signals > 500 && forced > 200, "{signals} {forced}");
    model.longest_fall
}

#[test]
fn the_law_is_that_of_the_oracle() {
    let slow = Link {
        rate_bps: 1_000_000,
        ..MIXED
    };
    for link in [LINK, MIXED, slow] {
        for like in ["linux", "ns3"] {
            oracle_agrees(&link, like);
        }
    }
}

/// After a pause, count is what it is without a bound on the steps, and 0 after a long one; then a
/// first interval passes again without a mark.
#[test]
fn count_falls_in_a_pause() {
    for (count, pause_ms) in [(5, 60), (200, 400), (200, 60_000), (2000, 3_600_000)] {
        let mut cobalt = configured("cobalt", &as_in("ns3")).start();
        let mut model = Model::new(false, 5e6, 100e6, 0.0);
        (model.p_inc, model.threshold) = (0.0, f64::MAX);
        let mut views = Vec::new();
        let mut now_ns = 1000 * MS;
        for _ in 0..count {
            now_ns += 200 * MS;
            views.push(View {
                sojourn_ns: 300 * MS,
                ..leaving(now_ns, 9, true)
            });
        }
        now_ns += pause_ms * MS;
        views.push(View {
            sojourn_ns: 0,
            ..leaving(now_ns, 9, true)
        });
        for step in 1..3000 {
            let view = leaving(now_ns + step * MS / 4, 9, true);
            views.push(View {
                sojourn_ns: 300 * MS,
                ..view
            });
        }
        for (place, view) in views.iter().enumerate() {
            let expected = model.depart(view);
            assert_eq!(cobalt.depart(view), expected, "{count} {pause_ms} {place}");
        }
        assert!(
            model.longest_fall <= MOST_STEPS || pause_ms > 1000,
            "{count}"
        );
    }
}

#[test]
fn cake_does_not_drop_the_last_packet() {
    let blue = [("p_inc", number(1.0)), ("like", word("linux"))];
    let mut cobalt = configured("cobalt", &blue).start();
    cobalt.arrive(&View {
        full: 1,
        ..leaving(100 * MS, 9, true)
    });
    let drop = View {
        random: 0,
        ..leaving(200 * MS, 1, true)
    };
    assert_eq!(cobalt.depart(&drop), Verdict::DropForced);
    assert_eq!(
        cobalt.depart(&View {
            queue_packets: 0,
            ..drop
        }),
        Verdict::Admit
    );
    // it may be marked
    let mut cobalt = configured("cobalt", &as_in("linux")).start();
    let last = |now_ns| leaving(now_ns, 0, true);
    assert_eq!(cobalt.depart(&last(100 * MS)), Verdict::Admit);
    assert_eq!(cobalt.depart(&last(101 * MS)), Verdict::Mark);
    let plain = View {
        ecn_capable: 0,
        ..last(1000 * MS)
    };
    assert_eq!(cobalt.depart(&plain), Verdict::Admit);
}

/// CAKE on 1 Mbit/s: a packet of 1514 bytes takes 12.1 ms, so the target is 18.2 ms, and what waited
/// less than 48.4 ms is not over.
#[test]
fn cake_waits_longer_before_a_slow_link() {
    let (rate_bps, mtu_ms) = (1_000_000, 1514.0 * 8e3 / 1e6);
    let first_mark = |sojourn_ms: f64| {
        let mut cobalt = configured("cobalt", &as_in("linux")).start();
        (1..100).find(|count| {
            let view = View {
                rate_bps,
                sojourn_ns: (sojourn_ms * 1e6) as u64,
                ..leaving(count * 10 * MS, 9, true)
            };
            cobalt.depart(&view) == Verdict::Mark
        })
    };
    assert_eq!(first_mark(4.0 * mtu_ms - 0.1), None);
    assert!(first_mark(4.0 * mtu_ms + 0.1).is_some());
}

#[test]
fn bad_parameters_are_told() {
    for (values, message) in [
        (
            [("target", number(0.2)), ("interval", number(0.1))],
            "cobalt.interval = 0.1 must exceed cobalt.target = 0.2 (s)",
        ),
        (
            [("p_inc", number(2.0)), ("like", word("ns3"))],
            "cobalt.p_inc",
        ),
    ] {
        let told = Configured::new(class("cobalt"), &given(&values)).unwrap_err();
        assert!(told.to_string().contains(message), "{told}");
    }
}
