//! Packets on their way over a link, in the order in which they come out.

use crate::{
    ahead::prefetch,
    clock::Ticks,
    packet::{Packet, Transit},
};

/// When a packet comes out, and the packet.
type Entry = (Ticks, Transit);

/// How many places ahead memory is asked for, to read and to write.
const AHEAD: usize = 8;
/// Places of a line that has held a packet.
const LEAST_ROOM: usize = 16;

/// A ring that grows with the packets on their way.
#[derive(Default)]
pub struct Line {
    ring: Vec<Entry>,
    head: usize,
    len: usize,
}

impl Line {
    /// Whether no packet is on its way.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        (self.head + index) & (self.ring.len() - 1)
    }

    /// A packet that comes out at `due`, after all others.
    #[inline]
    pub fn push(&mut self, due: Ticks, transit: Transit) {
        if self.len == self.ring.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.ring[place] = (due, transit);
        self.len += 1;
        prefetch(&self.ring[self.place(self.len + AHEAD)]);
    }

    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        let room = (2 * self.ring.len()).max(LEAST_ROOM);
        self.ring.resize(room, Entry::default());
    }

    /// Takes the first packet out.
    #[inline]
    pub fn pop(&mut self) -> Option<Transit> {
        if self.len == 0 {
            return None;
        }
        let (_, transit) = self.ring[self.head];
        prefetch(&self.ring[self.place(AHEAD)]);
        self.head = self.place(1);
        self.len -= 1;
        Some(transit)
    }

    /// When the first packet comes out.
    #[inline]
    pub fn due(&self) -> Option<Ticks> {
        (self.len > 0).then(|| self.ring[self.head].0)
    }

    /// The packet that comes out after `ahead` others.
    #[inline]
    pub fn get(&self, ahead: usize) -> Option<&Packet> {
        (ahead < self.len).then(|| &self.ring[self.place(ahead)].1.packet)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec(0..100, 1..3000)) {
            let (mut line, mut model) = (Line::default(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                // long stretches of filling and of emptying
                if (step < 70) == (number / 500 % 2 == 0) {
                    let packet = Packet::datagram(number as u32, 1);
                    let transit = Transit { packet, hop: 7 };
                    line.push(number as u64, transit);
                    model.push_back((number as u64, transit));
                } else {
                    prop_assert_eq!(line.due(), model.front().map(|entry| entry.0));
                    prop_assert_eq!(line.pop(), model.pop_front().map(|entry| entry.1));
                }
                prop_assert_eq!(line.is_empty(), model.is_empty());
                prop_assert_eq!(line.get(2).copied(), model.get(2).map(|entry| entry.1.packet));
            }
        }
    }
}
