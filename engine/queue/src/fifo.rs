//! The packets that wait, in the order of their arrival.

use crate::packet::Bytes;

/// A ring of packets that grows with the queue.
pub struct Fifo<T> {
    ring: Vec<T>,
    head: usize,
    len: usize,
    bytes: u64,
}

/// Packets for which a ring has room once the first comes.
const LEAST_ROOM: usize = 16;

impl<T> Fifo<T> {
    /// An empty one, which takes no memory.
    pub fn new() -> Self {
        Self {
            ring: Vec::new(),
            head: 0,
            len: 0,
            bytes: 0,
        }
    }

    /// How many packets wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all packets that wait.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn place(&self, index: usize) -> usize {
        (self.head + index) & (self.ring.len() - 1)
    }

    /// The packet at `index` (0 is the head), if so many wait.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len).then(|| &self.ring[self.place(index)])
    }
}

impl<T: Bytes + Copy + Default> Fifo<T> {
    /// Puts a packet at the tail.
    #[inline]
    pub fn push(&mut self, packet: T) {
        if self.len == self.ring.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.ring[place] = packet;
        self.len += 1;
        self.bytes += u64::from(packet.bytes());
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.len == 0 {
            return None;
        }
        let packet = self.ring[self.head];
        self.head = self.place(1);
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    /// Takes out the packet at `index` (0 is the head); the others keep their order.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        let packet = *self.get(index)?;
        if index < self.len / 2 {
            for at in (0..index).rev() {
                let (from, to) = (self.place(at), self.place(at + 1));
                self.ring[to] = self.ring[from];
            }
            self.head = self.place(1);
        } else {
            for at in index + 1..self.len {
                let (from, to) = (self.place(at), self.place(at - 1));
                self.ring[to] = self.ring[from];
            }
        }
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        let room = (2 * self.ring.len()).max(LEAST_ROOM);
        self.ring.resize(room, T::default());
    }
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Numbered {
        number: usize,
        bytes: u32,
    }

    impl Bytes for Numbered {
        fn bytes(&self) -> u32 {
            self.bytes
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec(0_u32..100, 1..2000)) {
            let (mut fifo, mut model) = (Fifo::new(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                let packet = Numbered { number, bytes: step };
                if step < 60 {
                    fifo.push(packet);
                    model.push_back(packet);
                } else if step < 80 {
                    prop_assert_eq!(fifo.pop(), model.pop_front());
                } else {
                    // now and then one past the tail
                    let index = step as usize % (model.len() + 1);
                    prop_assert_eq!(fifo.get(index), model.get(index));
                    prop_assert_eq!(fifo.remove(index), model.remove(index));
                }
                prop_assert_eq!(fifo.len(), model.len());
                let bytes: u64 = model.iter().map(|packet| u64::from(packet.bytes)).sum();
                prop_assert_eq!(fifo.bytes(), bytes);
            }
        }
    }
}
