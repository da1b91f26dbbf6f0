//! Which of a fixed set of standing events comes next.
//!
//! Packets leave a link in the order in which they entered it, so each link has one standing
//! event, the next packet to come out, however many are on their way. A tree of winners over the
//! links finds the earliest in log2(links) comparisons without a branch that depends on data.
//!
//! Of events due at the same tick, the one with the lower number comes first.

use std::hint::select_unpredictable;

use sluice_aqm::NEVER;
use sluice_link::Ticks;

/// Due times of events `0..count`.
pub struct Tournament {
    /// Node 1 is the root, nodes `leaves..` are the events. A node holds in one word, from the
    /// top, the winner's due time and its number.
    nodes: Vec<u64>,
    leaves: usize,
}

impl Tournament {
    /// None of the `count` events is due.
    pub fn new(count: usize) -> Self {
        let leaves = Self::leaves(count);
        Self {
            nodes: vec![NEVER; 2 * leaves],
            leaves,
        }
    }

    fn leaves(count: usize) -> usize {
        count.next_power_of_two().max(2)
    }

    /// Bits that are left for times beside the number of one of `count` events.
    pub fn room(count: usize) -> u32 {
        u64::BITS - Self::leaves(count).trailing_zeros()
    }

    #[inline]
    fn bits(&self) -> u32 {
        self.leaves.trailing_zeros()
    }

    /// Event `event` is due at `due`, whatever was said of it before. What does not fit into
    /// the room for times is never due.
    #[inline]
    pub fn set(&mut self, event: usize, due: Ticks) {
        assert!(event < self.leaves, "one of the events");
        let mut winner = NEVER;
        if due < NEVER >> self.bits() {
            winner = due << self.bits() | event as u64;
        }
        let mut node = self.leaves + event;
        // SAFETY: there are 2 * leaves nodes, an even number. The first node is below that, so are
        // the other of its pair and all nodes above. Their checks would be a third of this loop,
        // which is an eighth of a network's instructions.
        unsafe {
            *self.nodes.get_unchecked_mut(node) = winner;
            while node > 1 {
                let other = *self.nodes.get_unchecked(node ^ 1);
                // no pattern for a branch predictor
                winner = select_unpredictable(other < winner, other, winner);
                node >>= 1;
                *self.nodes.get_unchecked_mut(node) = winner;
            }
        }
    }

    /// The earliest event and when it is due; [`NEVER`] if none is.
    #[inline]
    pub fn first(&self) -> (Ticks, usize) {
        let winner = self.nodes[1];
        if winner == NEVER {
            return (NEVER, 0);
        }
        let event = winner & (self.leaves as u64 - 1);
        (winner >> self.bits(), event as usize)
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
                let (first_due, first) = tournament.first();
                prop_assert_eq!(first_due, *due.iter().min().unwrap());
                let earliest = due.iter().position(|time| *time == first_due);
                prop_assert!(first_due == NEVER || earliest == Some(first));
            }
        }
    }
}
