//! Properties of RED and LPF/ODA that the papers state: spacing, idle time, recovery.

use rand::{Rng, SeedableRng, rngs::StdRng};
use sluice_aqm::{Aqm, Configured, ONE, Running, Value, Verdict, View};

use crate::common::{configured, number, word};

const STEP: f64 = 1.0 / ONE as f64;
const NEVER_DROP: u64 = u64::MAX;

fn arrival(queue_packets: u32, random: u64) -> View {
    View {
        queue_packets,
        random,
        limit_packets: u32::MAX,
        rate_bps: 1,
        ..View::default()
    }
}

/// An arrival that finds the link idle for `packets` transmission times of 500 bytes.
fn idle_arrival(packets: f64) -> View {
    View {
        now_ns: 1_000 + (packets * 500_000.0) as u64,
        idle_since_ns: 1_000,
        rate_bps: 8_000_000,
        random: NEVER_DROP,
        limit_packets: u32::MAX,
        idle: 1,
        ..View::default()
    }
}

/// RED without memory (w = 1) at the constant drop probability p_b = 1/20.
fn at_one_in_twenty(spacing: &str) -> Configured {
    configured(
        "red",
        &[
            ("min_th", number(0.0)),
            ("max_th", number(10.0)),
            ("max_p", number(0.1)),
            ("w", number(1.0)),
            ("spacing", word(spacing)),
        ],
    )
}

/// Returns gaps in packets, each from one drop up to and including the next. The first gap starts
/// with the first packet.
fn gaps(configured: &Configured, count: usize) -> Vec<usize> {
    let mut random = StdRng::seed_from_u64(7);
    let mut running = configured.start();
    let mut gap = || {
        let mut admitted = || running.arrive(&arrival(5, random.next_u64())) == Verdict::Admit;
        (1..).find(|_| !admitted()).unwrap()
    };
    (0..count).map(|_| gap()).collect()
}

/// Returns Pearson's statistic with a cell for each gap 1..=shares.len() and one for longer gaps.
fn chi_square(gaps: &[usize], shares: &[f64]) -> f64 {
    let rest = 1.0 - shares.iter().sum::<f64>();
    let mut counts = vec![0_usize; shares.len() + 1];
    for gap in gaps {
        counts[(gap - 1).min(shares.len())] += 1;
    }
    let cells = counts.iter().zip(shares.iter().chain([&rest]));
    cells
        .filter(|(_, share)| **share > 1e-6) // no cell for impossible gaps
        .map(|(count, share)| {
            let expected = share * gaps.len() as f64;
            (*count as f64 - expected).powi(2) / expected
        })
        .sum()
}

/// Floyd & Jacobson 1993, section VI, method 2: uniform on 1..1/p_b.
#[test]
fn uniformised_gaps_are_uniform() {
    let gaps = gaps(&at_one_in_twenty("uniformised"), 50_000);
    assert_eq!(
        (gaps.iter().min(), gaps.iter().max()),
        (Some(&1), Some(&20))
    );
    let statistic = chi_square(&gaps, &[0.05; 20]);
    assert!(
        statistic < 43.8,
        "{statistic}: the 99.9 % point of chi-square, 19 degrees"
    );
}

/// ns-2's red.cc, modify_p with wait_: uniform on 1/p_b .. 2/p_b - 1.
#[test]
fn waiting_gaps_are_uniform_from_1_to_2_over_p() {
    let gaps = gaps(&at_one_in_twenty("waiting"), 50_000);
    let shares: Vec<f64> = (1..=39)
        .map(|gap| if gap < 20 { 0.0 } else { 0.05 })
        .collect();
    assert_eq!(
        (gaps.iter().min(), gaps.iter().max()),
        (Some(&20), Some(&39))
    );
    let statistic = chi_square(&gaps, &shares);
    assert!(
        statistic < 43.8,
        "{statistic}: the 99.9 % point of chi-square, 19 degrees"
    );
}

/// Method 1: geometric, (1 - p_b)^(n - 1) p_b.
#[test]
fn independent_gaps_are_geometric() {
    let gaps = gaps(&at_one_in_twenty("independent"), 50_000);
    let shares: Vec<f64> = (0..60).map(|n| 0.05 * 0.95_f64.powi(n)).collect();
    let statistic = chi_square(&gaps, &shares);
    assert!(
        statistic < 99.6,
        "{statistic}: the 99.9 % point of chi-square, 60 degrees"
    );
    assert!(
        chi_square(&gaps, &[0.05; 20]) > 1e3,
        "the two spacings can be told apart"
    );
}

/// R is the upper half of the random word: a packet is dropped if and only if R < p_b.
#[test]
fn independent_drops_are_those_below_the_probability() {
    let configured = at_one_in_twenty("independent");
    let p = (configured.drop_probability(5.0).unwrap() / STEP) as u64;
    for (random, expected) in [
        (p << 32, Verdict::Admit),
        ((p << 32) - 1, Verdict::DropEarly),
        (0, Verdict::DropEarly),
    ] {
        assert_eq!(
            configured.start().arrive(&arrival(5, random)),
            expected,
            "{random}"
        );
    }
}

/// Returns RED after a run, with an average of about 50 packets, below its thresholds.
fn with_average(w: f64, average: &str, like: &str) -> Running {
    let given = [
        ("w", number(w)),
        ("min_th", number(1e5)),
        ("max_th", number(1e6)),
        ("average", word(average)),
        ("spacing", word("waiting")),
        ("like", word(like)),
    ];
    let mut running = configured("red", &given).start();
    for _ in 0..5_000 {
        running.arrive(&arrival(50, NEVER_DROP));
    }
    running
}

/// The average decays by m packets; in ns-2 also by the packet that ends the idle time.
#[test]
fn idle_time_decays_the_average_by_the_packets_that_could_have_left() {
    for (filter, like, more) in [
        ("ewma", "paper", 0.0),
        ("lpf_oda", "paper", 0.0),
        ("ewma", "ns2", 1.0),
        ("ewma", "ns2_bytes", 1.0),
    ] {
        for w in [0.002, 0.07, 0.5, 1.0] {
            for m in [0, 1, 2, 10, 1_000, 1_000_000] {
                let mut running = with_average(w, filter, like);
                let before = running.average().unwrap();
                running.arrive(&idle_arrival(f64::from(m) + 0.9));
                let w = (w / STEP).round() * STEP;
                let expected = before * (1.0 - w).powf(f64::from(m) + more);
                let off = (running.average().unwrap() - expected).abs();
                assert!(
                    off <= (before + 1.0) * STEP,
                    "{filter} {like} w = {w}, m = {m}: off by {off}"
                );
            }
        }
    }
}

#[test]
fn without_idle_decay_an_idle_link_is_an_empty_queue() {
    let given = [("w", number(0.5)), ("idle_decay", Value::Switch(false))];
    let mut running = configured("red", &given).start();
    running.arrive(&arrival(4, NEVER_DROP));
    running.arrive(&idle_arrival(1e6));
    assert_eq!(running.average(), Some(1.0));
}

/// Returns LPF/ODA with min_th = 5, max_th = 20, low_queue = 5, low_arrivals = 3 after congestion.
fn congested(w: f64) -> Running {
    let given = [("w", number(w)), ("idle_decay", Value::Switch(false))];
    let mut running = configured("lpf_oda", &given).start();
    while running.average().unwrap() < 19.9 {
        running.arrive(&arrival(40, NEVER_DROP));
    }
    running
}

fn ewma(before: f64, w: f64, queue: f64) -> f64 {
    (1.0 - w) * before + w * queue
}

#[test]
fn over_drop_avoidance_halves_after_three_low_arrivals_until_below_min_th() {
    let (w, mut running) = (0.07, congested(0.07));
    let mut before = running.average().unwrap();
    for (n, queue) in [4, 4, 5, 4, 4, 4, 4, 4, 0].into_iter().enumerate() {
        running.arrive(&arrival(queue, NEVER_DROP));
        let after = running.average().unwrap();
        let halves = n >= 5 && before >= 5.0;
        let expected = if halves {
            before / 2.0
        } else {
            ewma(before, w, f64::from(queue))
        };
        assert!(
            (after - expected).abs() < 16.0 * STEP,
            "arrival {n}: {after}, not {expected}"
        );
        assert_eq!(halves, n == 5 || n == 6, "arrival {n} from {before}");
        before = after;
    }
    assert!(before < 5.0);
}

#[test]
fn an_arrival_that_finds_the_link_idle_is_a_low_one() {
    let given = [("w", number(0.07)), ("idle_decay", Value::Switch(true))];
    let mut running = configured("lpf_oda", &given).start();
    while running.average().unwrap() < 19.9 {
        running.arrive(&arrival(40, NEVER_DROP));
    }
    let averages: Vec<f64> = (0..5)
        .map(|_| {
            running.arrive(&idle_arrival(0.0));
            running.average().unwrap()
        })
        .collect();
    assert!(averages[1] > 19.0, "two low arrivals: {averages:?}");
    assert!(
        (averages[2] - averages[1] / 2.0).abs() <= STEP,
        "the third: {averages:?}"
    );
    assert!(averages[4] < 5.0, "{averages:?}");
}

#[test]
fn over_drop_avoidance_recovers_sooner_than_the_low_pass_filter() {
    for (w, sooner) in [(0.07, 3), (0.002, 50)] {
        let mut running = congested(w);
        let start = running.average().unwrap();
        let arrivals = (1..)
            .find(|_| {
                running.arrive(&arrival(0, NEVER_DROP));
                running.average().unwrap() < 5.0
            })
            .unwrap();
        let filter = (1..).find(|n| start * (1.0 - w).powi(*n) < 5.0).unwrap();
        assert!(
            filter > sooner * arrivals,
            "w = {w}: {arrivals} against {filter} arrivals"
        );
    }
}

/// A world may start an AQM from zeroed memory. No packet waits, so none is dropped.
#[test]
fn a_zeroed_state_is_valid() {
    for class in sluice_aqm::all() {
        let configured = Configured::new(class, &[]).unwrap();
        for random in [0, 1, u64::MAX] {
            for view in [
                arrival(0, random),
                View {
                    random,
                    ..idle_arrival(1e9)
                },
            ] {
                let mut running = configured.start();
                assert_eq!(running.average().unwrap_or(0.0), 0.0);
                assert_eq!(running.arrive(&view), Verdict::Admit, "{}", class.name);
            }
        }
    }
}

/// With views that no world should make, all verdicts are valid and all averages within range.
#[test]
fn extreme_views_do_no_harm() {
    for class in sluice_aqm::all() {
        let mut running = Configured::new(class, &[]).unwrap().start();
        for queue_packets in [1 << 30, 0, 1 << 30, 1, 1 << 30] {
            for (now_ns, rate_bps) in [(0, 0), (u64::MAX, 0), (0, u64::MAX), (u64::MAX, 1)] {
                for idle in [0, 1] {
                    let idle_since_ns = u64::MAX / 2;
                    let base = arrival(queue_packets, 1);
                    running.arrive(&View {
                        now_ns,
                        rate_bps,
                        idle,
                        idle_since_ns,
                        ..base
                    });
                    let average = running.average().unwrap_or(0.0);
                    assert!(
                        (0.0..=f64::from(1 << 30)).contains(&average),
                        "{}",
                        class.name
                    );
                }
            }
        }
    }
}

#[test]
fn weights_that_sum_to_1_only_before_rounding_are_accepted() {
    let given = [
        ("a1", number(0.8)),
        ("a2", number(0.1)),
        ("b1", number(0.1)),
    ];
    let common = [
        ("average", word("difference")),
        ("idle_decay", Value::Switch(false)),
    ];
    let mut running = configured("red", &[&given[..], &common].concat()).start();
    for _ in 0..200 {
        running.arrive(&arrival(100, NEVER_DROP));
    }
    assert!((running.average().unwrap() - 100.0).abs() < 1e-4);
}
