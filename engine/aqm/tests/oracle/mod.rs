//! Compares the RED family with a plain floating-point oracle, on random and adversarial queues.

mod model;

use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use sluice_aqm::{Aqm, Class, Configured, Running, Value, Verdict, View};

use crate::common::{class, configured, number, word};
use model::{Expected, Interval, Red};

/// The longest queue, packets: a double holds its average exactly to a step.
const LONGEST: u32 = 1 << 20;

/// One arriving packet, as the AQM sees it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    queue: u32,
    idle_ns: Option<u64>,
    random: u64,
}

fn arrivals(max_th: f64) -> impl Strategy<Value = Vec<Arrival>> {
    let high = (2.5 * max_th) as u32 + 2;
    let near = (max_th as u32).min(LONGEST - 2);
    let queue = prop_oneof![
        4 => 0..=high.min(LONGEST),
        2 => near.saturating_sub(1)..=near + 2,
        1 => select(vec![0, 1, LONGEST]),
    ];
    let random = prop_oneof![4 => any::<u64>(), 1 => select(vec![0, u64::MAX, 1 << 32])];
    let idle = prop_oneof![3 => 0..20_000_000_u64, 1 => select(vec![0, 1, u64::MAX >> 2])];
    let run = (queue, idle, 1..30_usize, prop::collection::vec(random, 30)).prop_map(
        |(queue, idle, length, randoms)| {
            let idle_ns = (queue == 0).then_some(idle);
            let arrival = move |random| Arrival {
                queue,
                idle_ns,
                random,
            };
            randoms
                .into_iter()
                .take(length)
                .map(arrival)
                .collect::<Vec<_>>()
        },
    );
    prop::collection::vec(run, 1..20).prop_map(|runs| runs.concat())
}

/// Gives arrivals to an AQM at a link of 8 Mbit/s.
struct Feed {
    running: Running,
    now_ns: u64,
}

impl Feed {
    fn of(configured: &Configured) -> Self {
        Self {
            running: configured.start(),
            now_ns: 0,
        }
    }

    fn view(&mut self, arrival: Arrival) -> View {
        let idle_since_ns = self.now_ns;
        self.now_ns = self
            .now_ns
            .saturating_add(arrival.idle_ns.unwrap_or(1_000_000));
        View {
            now_ns: self.now_ns,
            idle_since_ns,
            rate_bps: 8_000_000,
            random: arrival.random,
            queue_packets: arrival.queue,
            limit_packets: u32::MAX,
            packet_bytes: 1500,
            idle: arrival.idle_ns.is_some().into(),
            ..View::default()
        }
    }
}

/// Runs code and oracle side by side; returns how many verdicts the error bound left open.
fn compare(configured: &Configured, arrivals: &[Arrival]) -> Result<usize, TestCaseError> {
    let mut feed = Feed::of(configured);
    let mut oracle = Red::of(configured);
    let mut open = 0;
    for arrival in arrivals {
        let view = feed.view(*arrival);
        let verdict = feed.running.arrive(&view);
        let average = feed.running.average().unwrap();
        oracle.update(&view, average);

        let off = (average - oracle.average()).abs();
        prop_assert!(
            off <= oracle.error(),
            "average {average}, oracle {}",
            oracle.average()
        );

        let p = configured.drop_probability(average).unwrap();
        let Interval { low, high } = oracle.probability();
        prop_assert!(
            low <= p && p <= high,
            "p {p} not within {low}..{high} at {average}"
        );

        match oracle.expected(arrival.random) {
            Expected::Admit => prop_assert_eq!(verdict, Verdict::Admit),
            Expected::Drop if low == 1.0 => prop_assert_eq!(verdict, Verdict::DropForced),
            Expected::Drop if high < 1.0 => prop_assert_eq!(verdict, Verdict::DropEarly),
            Expected::Drop => prop_assert!(verdict.is_drop()),
            Expected::Either => open += 1,
        }
        oracle.follow(verdict);
    }
    Ok(open)
}

const AVERAGES: [&str; 3] = ["ewma", "difference", "lpf_oda"];
const DROP_FUNCTIONS: [&str; 4] = ["linear", "gentle", "double_slope", "cubic"];
/// Each `spacing` with each `like` that it allows.
const SPACINGS: [(&str, &str); 5] = [
    ("independent", "paper"),
    ("uniformised", "paper"),
    ("waiting", "paper"),
    ("waiting", "ns2"),
    ("waiting", "ns2_bytes"),
];

type Given = Vec<(&'static str, Value)>;

/// Every member of the family.
fn members() -> Vec<Given> {
    let mut members = Vec::new();
    for average in AVERAGES {
        for drop_function in DROP_FUNCTIONS {
            for (spacing, like) in SPACINGS {
                for idle_decay in [false, true] {
                    if average != "difference" || !idle_decay {
                        members.push(vec![
                            ("average", word(average)),
                            ("drop_function", word(drop_function)),
                            ("spacing", word(spacing)),
                            ("like", word(like)),
                            ("idle_decay", Value::Switch(idle_decay)),
                        ]);
                    }
                }
            }
        }
    }
    members
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![4 => 0.0..=1.0, 1 => select(vec![0.0, 0.5, 1.0])]
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![3 => 0.001..0.5, 1 => share(), 1 => select(vec![1e-9, 1e-5, 1.0 - 1e-9])]
}

/// Six weights whose sum is at most 1.
fn weights() -> impl Strategy<Value = [f64; 6]> {
    (
        [share(), share(), share(), share(), share(), share()],
        share(),
    )
        .prop_map(|(parts, all)| {
            let sum: f64 = parts.iter().sum();
            parts.map(|part| if sum > 0.0 { part / sum * all } else { 0.0 })
        })
}

/// Values of all numeric parameters, and arrivals that suit the thresholds.
fn numbers() -> impl Strategy<Value = (Given, Vec<Arrival>)> {
    let thresholds = (
        prop_oneof![0.0..200.0, select(vec![0.0, 5.0, 1e5])],
        prop_oneof![0.1..200.0, select(vec![0.01, 10.0, 1e5])],
    );
    let low = (0.0..20.0, 1..5_u32);
    let cubic = prop_oneof![
        [-3.0..3.0, -3.0..3.0],
        select(vec![[1.0, 0.0], [1e3, -1e3]])
    ];
    let bend = (
        share(),
        prop_oneof![4 => 0.01..0.99, 1 => select(vec![0.0, 1.0])],
    );
    (thresholds, share(), weight(), weights(), low, cubic, bend).prop_flat_map(
        |((min_th, range), max_p, w, weights, (low_queue, low_arrivals), [c2, c3], bend)| {
            let max_th = min_th + range;
            let mut given = vec![
                ("min_th", min_th),
                ("max_th", max_th),
                ("max_p", max_p),
                ("w", w),
                ("low_queue", low_queue),
                ("low_arrivals", f64::from(low_arrivals)),
                ("c2", c2),
                ("c3", c3),
                ("gamma", bend.0),
                ("middle", bend.1),
            ];
            given.extend(
                ["a1", "a2", "a3", "b1", "b2", "b3"]
                    .into_iter()
                    .zip(weights),
            );
            let given = given
                .into_iter()
                .map(|(name, value)| (name, number(value)))
                .collect();
            (Just(given), arrivals(max_th))
        },
    )
}

#[test]
fn red_follows_the_oracle_in_every_member_of_the_family() {
    for member in members() {
        TestRunner::new(ProptestConfig::with_cases(40))
            .run(&numbers(), |(given, arrivals)| {
                let given = [member.clone(), given].concat();
                compare(&configured("red", &given), &arrivals).map(drop)
            })
            .unwrap_or_else(|error| panic!("{member:?}: {error}"));
    }
}

/// With the presets' defaults, the error bound leaves very few verdicts open.
#[test]
fn presets_follow_the_oracle_and_the_bound_is_tight() {
    let is_red = |class: &&Class| class.base.as_deref().unwrap_or(&class.name) == "red";
    for class in sluice_aqm::all().iter().filter(is_red) {
        let configured = Configured::new(class, &[]).unwrap();
        let max_th = model::Params::of(&configured).number("max_th");
        let (open, decided) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        TestRunner::new(ProptestConfig::with_cases(120))
            .run(&arrivals(max_th), |arrivals| {
                open.set(open.get() + compare(&configured, &arrivals)?);
                decided.set(decided.get() + arrivals.len());
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{}: {error}", class.name));
        assert!(decided.get() > 10_000);
        assert!(
            open.get() * 1000 < decided.get(),
            "{}: {} open",
            class.name,
            open.get()
        );
    }
}

#[test]
fn drop_tail_admits_up_to_the_limit() {
    let configured = Configured::new(class("drop_tail"), &[]).unwrap();
    assert_eq!(configured.drop_probability(1e6), Some(0.0));
    let mut running = configured.start();
    assert_eq!(running.average(), None);
    for (queue_packets, full, expected) in [
        (0, 0, Verdict::Admit),
        (9, 0, Verdict::Admit),
        (10, 1, Verdict::DropOverflow),
    ] {
        let view = View {
            queue_packets,
            full,
            ..View::default()
        };
        assert_eq!(running.arrive(&view), expected, "{queue_packets} waiting");
    }
}

#[test]
fn the_same_inputs_give_the_same_outputs() {
    for class in sluice_aqm::all() {
        let configured = Configured::new(class, &[]).unwrap();
        TestRunner::new(ProptestConfig::with_cases(20))
            .run(&arrivals(100.0), |arrivals| {
                let verdicts = || {
                    let mut feed = Feed::of(&configured);
                    let verdict = |arrival: &Arrival| {
                        let view = feed.view(*arrival);
                        feed.running.arrive(&view)
                    };
                    arrivals.iter().map(verdict).collect::<Vec<_>>()
                };
                prop_assert_eq!(verdicts(), verdicts());
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{}: {error}", class.name));
    }
}
