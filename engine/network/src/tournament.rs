//! Which of a fixed set of standing events comes next.
//!
//! Packets leave a link in the order in which they entered it, so each link has one standing
//! event, the next packet to come out, however many are on their way. A tree of winners over the
//! links finds the earliest in log2(links) comparisons without a branch that depends on data.
//!
//! Events due in the same nanosecond come in an order that is drawn, by a hash, anew for each
//! instant. A fixed order would always favour the same link, and in networks whose delays are
//! whole multiples of a packet's transmission such ties are the rule, not the exception.

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

/// Due times of events `0..count`. A node is time (64 bits), lot (32) and event (32) in one word.
pub struct Tournament {
    /// Node 1 is the root, nodes `leaves..` are the events.
    nodes: Vec<u128>,
    leaves: usize,
}

impl Tournament {
    /// None of the `count` events is due.
    pub fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two().max(2);
        Self {
            nodes: vec![u128::MAX; 2 * leaves],
            leaves,
        }
    }

    /// Event `event` is due at `due_ns`, whatever was said of it before.
    #[inline]
    pub fn set(&mut self, event: usize, due_ns: u64) {
        let mut node = self.leaves + event;
        let mut winner = word(event, due_ns);
        self.nodes[node] = winner;
        while node > 1 {
            winner = winner.min(self.nodes[node ^ 1]);
            node >>= 1;
            self.nodes[node] = winner;
        }
    }

    /// The earliest event and when it is due; [`NEVER`] if none is.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        let winner = self.nodes[1];
        ((winner >> 64) as u64, winner as u32 as usize)
    }
}

#[inline]
fn word(event: usize, due_ns: u64) -> u128 {
    let lot = (due_ns ^ (event as u64) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let lot = (lot ^ (lot >> 32)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
    u128::from(due_ns) << 64 | u128::from(lot) << 32 | event as u128
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_is_the_least(
            count in 1_usize..70,
            steps in prop::collection::vec((0_usize..70, 0_u64..50), 1..300),
        ) {
            let mut tournament = Tournament::new(count);
            let mut due = vec![NEVER; count];
            for (event, time) in steps {
                let event = event % count;
                let time = if time < 5 { NEVER } else { time };
                tournament.set(event, time);
                due[event] = time;
                let (first_ns, first) = tournament.first();
                prop_assert_eq!(first_ns, *due.iter().min().unwrap());
                prop_assert!(first_ns == NEVER || due[first] == first_ns);
            }
        }
    }

    #[test]
    fn ties_favour_nobody() {
        let mut tournament = Tournament::new(3);
        let mut wins = [0; 3];
        for time in 0..3000 {
            (0..3).for_each(|event| tournament.set(event, 400_000 * time));
            wins[tournament.first().1] += 1;
        }
        // 1000 each; the standard deviation is 26
        assert!(wins.iter().all(|won| (870..1130).contains(won)), "{wins:?}");
    }
}
