//! Which of a fixed set of standing events comes next.
//!
//! Packets leave a link in the order in which they entered it, so each link has one standing
//! event, the next packet to come out, however many are on their way. A tree of winners over the
//! links finds the earliest in log2(links) comparisons without a branch that depends on data.
//!
//! Events due in the same nanosecond come in an order that is drawn, by a hash, anew for each
//! instant. A fixed order would always favour the same link, and in networks whose delays are
//! whole multiples of a packet's transmission such ties are the rule, not the exception.

use std::hint::select_unpredictable;

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

/// Bits of the lot that decides between events of one instant: in one tie of 64 it does not,
/// and the lower number goes first.
const LOT_BITS: u32 = 6;

/// Due times of events `0..count`.
pub struct Tournament {
    /// Node 1 is the root, nodes `leaves..` are the events. A node holds in one word, from the
    /// top, the winner's due time, its lot and its number.
    nodes: Vec<u64>,
    leaves: usize,
    /// Of lot and number together.
    bits: u32,
}

impl Tournament {
    /// None of the `count` events is due.
    pub fn new(count: usize) -> Self {
        let leaves = count.next_power_of_two().max(2);
        Self {
            nodes: vec![NEVER; 2 * leaves],
            leaves,
            bits: LOT_BITS + leaves.trailing_zeros(),
        }
    }

    /// From here all times count as [`NEVER`].
    pub fn end_ns(&self) -> u64 {
        NEVER >> self.bits
    }

    /// Event `event` is due at `due_ns`, whatever was said of it before.
    #[inline]
    pub fn set(&mut self, event: usize, due_ns: u64) {
        let mut winner = NEVER;
        if due_ns < self.end_ns() {
            winner = due_ns << self.bits | self.lot(event, due_ns) | event as u64;
        }
        let mut node = self.leaves + event;
        self.nodes[node] = winner;
        while node > 1 {
            let other = self.nodes[node ^ 1];
            // no pattern for a branch predictor
            winner = select_unpredictable(other < winner, other, winner);
            node >>= 1;
            self.nodes[node] = winner;
        }
    }

    /// The earliest event and when it is due; [`NEVER`] if none is.
    #[inline]
    pub fn first(&self) -> (u64, usize) {
        let winner = self.nodes[1];
        if winner == NEVER {
            return (NEVER, 0);
        }
        let event = winner & (self.leaves as u64 - 1);
        (winner >> self.bits, event as usize)
    }

    /// The lot of an event at an instant, in its place in the word.
    #[inline]
    fn lot(&self, event: usize, due_ns: u64) -> u64 {
        let word = (due_ns ^ (event as u64) << 48).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (word ^ word >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word >> (64 - LOT_BITS) << (self.bits - LOT_BITS)
    }
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
