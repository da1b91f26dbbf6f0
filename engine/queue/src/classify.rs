//! Chooses the queue that a packet joins.

use crate::below;

/// Spreads flows over queues by a salted hash.
pub struct Classifier {
    queues: usize,
    salt: u64,
    perturbation_ns: u64,
    /// A new salt is drawn at the first arrival from this time on, ns.
    next_salt_ns: u64,
}

impl Classifier {
    /// `perturbation_ns` is the time between two salts; 0: the first salt is kept.
    pub fn new(queues: u32, perturbation_ns: u64) -> Self {
        Self {
            queues: queues as usize,
            salt: 0,
            perturbation_ns,
            next_salt_ns: 0,
        }
    }

    /// Returns the queue of a flow's packets at this time.
    pub fn queue(
        &mut self,
        now_ns: u64,
        flow_hash: u32,
        random: &mut impl FnMut() -> u64,
    ) -> usize {
        if now_ns >= self.next_salt_ns {
            self.salt = random();
            self.next_salt_ns = match self.perturbation_ns {
                0 => u64::MAX,
                perturbation_ns => now_ns - now_ns % perturbation_ns + perturbation_ns,
            };
        }
        below(mix(u64::from(flow_hash) ^ self.salt), self.queues)
    }
}

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Salts 1, 2, 3, ..., multiplied by an odd number that spreads them.
    fn salts() -> impl FnMut() -> u64 {
        let mut count = 0_u64;
        move || {
            count += 1;
            count.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        }
    }

    #[test]
    fn flows_are_spread_evenly() {
        let (mut classifier, mut random) = (Classifier::new(64, 0), salts());
        let mut counts = [0_u32; 64];
        for flow in 0..64_000 {
            counts[classifier.queue(0, flow, &mut random)] += 1;
        }
        let statistic: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 1000.0).powi(2) / 1000.0)
            .sum();
        // the 99.9 % point of chi-square with 63 degrees
        assert!(statistic < 103.4, "{statistic}");
    }

    #[test]
    fn a_salt_holds_for_its_time_and_then_separates_other_flows() {
        let (mut classifier, mut random) = (Classifier::new(64, 1000), salts());
        let mut collide = |now_ns: u64| {
            (0..1000_u32)
                .filter(|flow| {
                    let [one, other] = [2 * flow, 2 * flow + 1]
                        .map(|flow| classifier.queue(now_ns, flow, &mut random));
                    one == other
                })
                .collect::<Vec<_>>()
        };
        let first = collide(500);
        assert!(!first.is_empty());
        assert_eq!(first, collide(999));
        let second = collide(1000);
        let both = first.iter().filter(|flow| second.contains(flow)).count();
        assert!(both < first.len() / 2, "{both} of {}", first.len());
    }
}
