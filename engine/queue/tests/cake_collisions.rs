//! How many flows share a lane of CAKE's hash of eight ways: counted set by set, and in the mean by the
//! binomial distribution.

use std::collections::HashSet;

use crate::cake_link::{Link, Sent, word};

const LANES: u32 = 1024;
const WAYS: u32 = 8;
const SETS: u32 = LANES / WAYS;
const RUNS: u32 = 40;

/// Returns different hashes of flows: SplitMix64.
fn hashes(seed: u64, count: usize) -> HashSet<u32> {
    let mut state = seed;
    let mut found = HashSet::new();
    while found.len() < count {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        found.insert((word ^ word >> 31) as u32);
    }
    found
}

/// Returns how many flows have no lane of their own, if each has one packet that waits.
fn collisions(flows: &HashSet<u32>) -> u32 {
    let mut link = Link::new(&[("diffserv", word("besteffort"))], 2 * LANES);
    for flow in flows {
        link.arrive(Sent {
            flow: *flow,
            bytes: 1000,
            ..Sent::default()
        });
    }
    let lanes = link.queue.state().lanes;
    let used = lanes.iter().filter(|lane| lane.packets > 0).count();
    (flows.len() - used) as u32
}

/// Returns how many flows each set cannot hold, together.
fn beyond_the_ways(flows: &HashSet<u32>) -> u32 {
    let mut in_set = vec![0_u32; SETS as usize];
    for flow in flows {
        in_set[(flow % LANES / WAYS) as usize] += 1;
    }
    in_set.iter().map(|count| count.saturating_sub(WAYS)).sum()
}

/// Returns mean and variance of max(X - 8, 0), for the number X of `flows` that fall into a set.
fn beyond_in_a_set(flows: u32) -> (f64, f64) {
    let p = 1.0 / f64::from(SETS);
    let mut chance = (1.0 - p).powi(flows as i32);
    let (mut mean, mut square) = (0.0, 0.0);
    for count in 0..=flows {
        let beyond = f64::from(count.saturating_sub(WAYS));
        mean += chance * beyond;
        square += chance * beyond * beyond;
        chance *= f64::from(flows - count) / f64::from(count + 1) * p / (1.0 - p);
    }
    (mean, square - mean * mean)
}

#[test]
fn as_many_flows_share_lanes_as_the_binomial_distribution_says() {
    for flows in [100, 300, 500, 800, 1200] {
        let mut sum = 0;
        for run in 0..RUNS {
            let each = hashes(
                u64::from(flows) << 32 | u64::from(run) << 16,
                flows as usize,
            );
            let own = collisions(&each);
            assert_eq!(own, beyond_the_ways(&each), "{flows} flows, run {run}");
            sum += own;
        }
        let found = f64::from(sum) / f64::from(RUNS);
        let (mean, variance) = beyond_in_a_set(flows);
        let expected = mean * f64::from(SETS);
        // flows in one set are not in another: the sum varies less than that of independent sets
        let error = (variance * f64::from(SETS) / f64::from(RUNS)).sqrt();
        println!("{flows} flows: {found} share a lane, {expected:.3} by the distribution");
        assert!(
            (found - expected).abs() < 4.0 * error,
            "{flows} flows: {found} instead of {expected} +- {error}"
        );
        // with one way, a flow shares a lane unless all others fall elsewhere
        let lanes = f64::from(LANES);
        let one_way = f64::from(flows) - lanes * (1.0 - (1.0 - 1.0 / lanes).powi(flows as i32));
        assert!(found < one_way, "{flows} flows: {found}, one way {one_way}");
    }
}
