//! The next event of a fixed set of events.
//!
//! Packets leave a link in the order in which they entered it. So each link has a single event, the
//! next packet that comes out, however many are in transit. A tournament tree over the events finds
//! the earliest one in log2(events) comparisons, without branches that depend on data.
//!
//! Of events that are due at the same tick, the one with the lower number comes first.

use std::hint::select_unpredictable;

use sluice_aqm::NEVER;
use sluice_link::Ticks;

/// Due times of the events `0..count`.
pub struct Tournament {
    /// Node 1 is the root, the nodes from `leaves` on are the events. A node is one word: the due
    /// time of its winner in the high bits, the winner's number in the low bits.
    nodes: Vec<u64>,
    /// The root, which every look at the first event reads.
    winner: u64,
    leaves: usize,
    /// Bits of a number, a word with these bits set, and the greatest time that fits.
    bits: u32,
    number: u64,
    never: Ticks,
}

impl Tournament {
    /// A tournament of `count` events, none of which is due.
    pub fn new(count: usize) -> Self {
        let leaves = Self::leaves(count);
        Self {
            nodes: vec![NEVER; 2 * leaves],
            winner: NEVER,
            leaves,
            bits: leaves.trailing_zeros(),
            number: leaves as u64 - 1,
            never: NEVER >> leaves.trailing_zeros(),
        }
    }

    fn leaves(count: usize) -> usize {
        count.next_power_of_two().max(2)
    }

    /// Returns the number of bits for times that are left beside the number of one of `count`
    /// events.
    pub fn room(count: usize) -> u32 {
        u64::BITS - Self::leaves(count).trailing_zeros()
    }

    /// Sets the due time of an event, in place of its last one. A time that does not fit into the
    /// bits for times counts as the greatest that does, which means never.
    #[inline]
    pub fn set(&mut self, event: usize, due: Ticks) {
        assert!(event < self.leaves, "one of the events");
        let mut winner = due.min(self.never) << self.bits | event as u64;
        let mut node = self.leaves + event;
        // SAFETY: there are 2 * leaves nodes, an even number. The first node is below that, and so
        // are the other node of its pair and all their ancestors, of which the root is the last.
        // Bounds checks would be a third of this loop, which is an eighth of a network's
        // instructions.
        unsafe {
            *self.nodes.get_unchecked_mut(node) = winner;
            for _ in 0..self.bits {
                node ^= 1;
                let other = *self.nodes.get_unchecked(node);
                // a branch here would be unpredictable
                winner = select_unpredictable(other < winner, other, winner);
                node >>= 1;
                *self.nodes.get_unchecked_mut(node) = winner;
            }
        }
        self.winner = winner;
    }

    /// Returns the due time and number of the earliest event; if none is due, the time is the
    /// greatest that fits.
    #[inline]
    pub fn first(&self) -> (Ticks, usize) {
        let event = self.winner & self.number;
        (self.winner >> self.bits, event as usize)
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
                let never = tournament.never;
                let (first_due, first) = tournament.first();
                prop_assert_eq!(first_due, never.min(*due.iter().min().unwrap()));
                let earliest = due.iter().position(|time| *time == first_due);
                prop_assert!(first_due == never || earliest == Some(first));
            }
        }
    }
}
