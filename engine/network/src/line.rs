//! Packets in transit on a link, in the order in which they come out.
//!
//! All links of a run keep their packets in blocks of one common store. A block that one line has
//! freed is used by another: bursts fill the links one after the other, and a ring buffer for each
//! link would need twice the memory.

use sluice_link::Ticks;

use crate::{ahead::prefetch_entry, transit::Transit};

/// When a packet comes out, and the packet.
type Entry = (Ticks, Transit);

/// Places in a block. With many flows, each block of a line is in another page of memory, which
/// would cost time if blocks were small.
const BLOCK: u32 = 128;
/// How many places ahead entries are prefetched.
const AHEAD: u32 = 8;

/// The packets of all lines.
#[derive(Default)]
pub struct Store {
    /// The entries of all blocks.
    entries: Vec<Entry>,
    /// For each block the next block of its line; the block itself if it is the last one.
    next: Vec<u32>,
    /// Free blocks. The block freed last is used first, since it is still in a cache.
    free: Vec<u32>,
}

impl Store {
    /// Returns the number of packets for which it has room.
    pub fn room(&self) -> usize {
        self.entries.len()
    }

    /// Takes a free block, or makes a new one.
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let block = self.next.len() as u32;
            self.next.push(0);
            let places = self.next.len() * BLOCK as usize;
            assert!(u32::try_from(places).is_ok(), "2^32 packets on their way");
            self.entries.resize(places, Entry::default());
            block
        })
    }
}

/// The packets in transit on one link, in blocks of the store.
#[derive(Default)]
pub struct Line {
    /// Place of the first packet.
    head: u32,
    /// The block after the first packet's block; the latter itself if it is the last one.
    after: u32,
    /// The place after the last packet. At the end of a block, the next block is not yet taken.
    end: u32,
    len: u32,
}

impl Line {
    /// True if no packet is in transit.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of packets in transit.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Adds a packet that comes out at `due`, after all others.
    #[inline]
    pub fn push(&mut self, store: &mut Store, due: Ticks, transit: Transit) {
        if self.end.is_multiple_of(BLOCK) {
            self.lengthen(store);
        }
        store.entries[self.end as usize] = (due, transit);
        // near the end of a block this prefetches another block, which is useless but harmless
        prefetch_entry(&store.entries, (self.end + AHEAD) as usize);
        self.end += 1;
        self.len += 1;
    }

    #[inline(never)]
    fn lengthen(&mut self, store: &mut Store) {
        let block = store.take();
        store.next[block as usize] = block;
        if self.len == 0 {
            self.head = block * BLOCK;
            self.after = block;
        } else {
            let last = (self.end - 1) / BLOCK;
            store.next[last as usize] = block;
            if last == self.head / BLOCK {
                self.after = block;
            }
        }
        self.end = block * BLOCK;
    }

    /// Takes the first packet out.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn pop(&mut self, store: &mut Store) -> Transit {
        assert!(!self.is_empty(), "a packet is on its way");
        let place = self.head;
        prefetch_entry(&store.entries, (place + AHEAD) as usize);
        self.head += 1;
        self.len -= 1;
        if self.head.is_multiple_of(BLOCK) {
            self.shorten(store);
        }
        store.entries[place as usize].1
    }

    #[inline(never)]
    fn shorten(&mut self, store: &mut Store) {
        let block = (self.head - 1) / BLOCK;
        store.free.push(block);
        if self.len == 0 {
            self.end = 0;
            return;
        }
        self.head = self.after * BLOCK;
        self.after = store.next[self.after as usize];
        // `pop` prefetches from the ninth entry of a block on
        for place in 0..AHEAD {
            prefetch_entry(&store.entries, (self.after * BLOCK + place) as usize);
        }
    }

    /// Returns when the first packet comes out.
    #[inline]
    pub fn due(&self, store: &Store) -> Option<Ticks> {
        (self.len > 0).then(|| store.entries[self.head as usize].0)
    }

    /// Returns the packet that comes out after `ahead` others; `ahead` must be less than a block.
    #[inline]
    pub fn get(&self, store: &Store, ahead: u32) -> Option<Transit> {
        if ahead >= self.len {
            return None;
        }
        let mut place = self.head + ahead;
        if place / BLOCK != self.head / BLOCK {
            place = self.after * BLOCK + place % BLOCK;
        }
        Some(store.entries[place as usize].1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::{packet::Packet, transit::Place};

    proptest! {
        #[test]
        fn lines_behave_like_deques(steps in prop::collection::vec((0..100, 0..2_usize), 1..4000)) {
            let mut store = Store::default();
            let mut lines: [Line; 2] = Default::default();
            let mut models: [VecDeque<Entry>; 2] = Default::default();
            for (number, (step, chosen)) in steps.into_iter().enumerate() {
                let (line, model) = (&mut lines[chosen], &mut models[chosen]);
                // long stretches of filling and of emptying
                if (step < 70) == (number / 1000 % 2 == 0) {
                    let packet = Packet::datagram(number as u32, 0, 1, 0);
                    let transit = Transit::new(packet.into(), Place::new(7, 0));
                    line.push(&mut store, number as u64, transit);
                    model.push_back((number as u64, transit));
                } else {
                    prop_assert_eq!(line.due(&store), model.front().map(|entry| entry.0));
                    if let Some((_, transit)) = model.pop_front() {
                        prop_assert_eq!(line.pop(&mut store), transit);
                    }
                }
                prop_assert_eq!(line.is_empty(), model.is_empty());
                prop_assert_eq!(line.get(&store, 2), model.get(2).map(|entry| entry.1));
            }
            let blocks: u32 = lines.iter().map(|line| line.len.div_ceil(BLOCK) + 1).sum();
            prop_assert!(store.next.len() - store.free.len() <= blocks as usize);
        }
    }
}
