//! Sorts events by time.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use sluice_network::Event;

/// Events not yet written. Of events at the same time, the one added first comes first.
#[derive(Default)]
pub struct Sorter {
    ahead: BinaryHeap<Reverse<Numbered>>,
    added: u64,
}

impl Sorter {
    /// Adds an event.
    pub fn add(&mut self, event: Event) {
        let number = self.added;
        self.added += 1;
        self.ahead.push(Reverse(Numbered { number, event }));
    }

    /// Returns the next event if it comes before `end_ns`.
    pub fn next_before(&mut self, end_ns: u64) -> Option<Event> {
        let Reverse(first) = self.ahead.peek()?;
        if first.event.at_ns >= end_ns {
            return None;
        }
        self.ahead.pop().map(|Reverse(first)| first.event)
    }
}

struct Numbered {
    number: u64,
    event: Event,
}

impl Numbered {
    fn key(&self) -> (u64, u64) {
        (self.event.at_ns, self.number)
    }
}

impl Ord for Numbered {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Numbered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Numbered {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Numbered {}

#[cfg(test)]
mod tests {
    use sluice_network::{Packet, Step};

    use super::*;

    #[test]
    fn times_do_not_go_back_and_equal_ones_keep_their_order() {
        let mut order = Sorter::default();
        for (id, at_ns) in [30, 10, 20, 10, 30, 5].into_iter().enumerate() {
            order.add(Event {
                at_ns,
                step: Step::Receive,
                link: 0,
                id: id as u32,
                packet: Packet::default(),
                blocks: Default::default(),
            });
        }
        let mut before = |end_ns| -> Vec<u32> {
            std::iter::from_fn(|| order.next_before(end_ns).map(|event| event.id)).collect()
        };
        assert_eq!(before(20), [5, 1, 3]);
        assert!(before(20).is_empty());
        assert_eq!(before(31), [2, 0, 4]);
    }
}
