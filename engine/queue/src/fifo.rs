//! The packets that wait, in the order of their arrival.

/// A ring of packets that grows with the queue.
pub struct Fifo<T> {
    /// Its length is a power of two, or 0.
    ring: Vec<T>,
    /// Packets taken out so far, and put in so far; modulo the ring's length, the places of the
    /// head and of the next packet.
    head: usize,
    tail: usize,
}

/// Room of a ring that is not empty, packets.
const LEAST_ROOM: usize = 16;

impl<T> Fifo<T> {
    /// Returns an empty ring, which takes no memory.
    pub fn new() -> Self {
        Self {
            ring: Vec::new(),
            head: 0,
            tail: 0,
        }
    }

    /// Returns the number of waiting packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.tail - self.head
    }

    /// True if no packet waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.tail == self.head
    }

    #[inline]
    fn place(&self, count: usize) -> usize {
        count & self.ring.len().wrapping_sub(1)
    }

    /// Returns the packet at `index` (0 is the head); `None` if too few wait.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        (index < self.len()).then(|| &self.ring[self.place(self.head + index)])
    }
}

impl<T: Copy + Default> Fifo<T> {
    /// Adds a packet at the tail.
    #[inline]
    pub fn push(&mut self, packet: T) {
        if self.len() == self.ring.len() {
            self.grow();
        }
        let place = self.place(self.tail);
        self.ring[place] = packet;
        self.tail += 1;
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let packet = self.ring[self.place(self.head)];
        self.head += 1;
        Some(packet)
    }

    /// Takes out all packets, in their order.
    pub fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        let mut all = std::mem::take(self);
        std::iter::from_fn(move || all.pop())
    }

    /// Takes out the packet at `index` (0 is the head); the others keep their order.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        let packet = *self.get(index)?;
        if index < self.len() / 2 {
            for at in (self.head..self.head + index).rev() {
                let (from, to) = (self.place(at), self.place(at + 1));
                self.ring[to] = self.ring[from];
            }
            self.head += 1;
        } else {
            for at in self.head + index + 1..self.tail {
                let (from, to) = (self.place(at), self.place(at - 1));
                self.ring[to] = self.ring[from];
            }
            self.tail -= 1;
        }
        Some(packet)
    }

    #[cold]
    fn grow(&mut self) {
        let (len, head) = (self.len(), self.place(self.head));
        self.ring.rotate_left(head);
        (self.head, self.tail) = (0, len);
        let room = (2 * len).max(LEAST_ROOM);
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

    proptest! {
        #[test]
        fn behaves_like_a_deque(steps in prop::collection::vec(0_u32..100, 1..2000)) {
            let (mut fifo, mut model) = (Fifo::new(), VecDeque::new());
            for (number, step) in steps.into_iter().enumerate() {
                if step < 60 {
                    fifo.push(number);
                    model.push_back(number);
                } else if step < 70 {
                    prop_assert_eq!(fifo.pop(), model.pop_front());
                } else {
                    // sometimes one past the tail
                    let index = step as usize % (model.len() + 1);
                    prop_assert_eq!(fifo.get(index), model.get(index));
                    prop_assert_eq!(fifo.remove(index), model.remove(index));
                }
                prop_assert_eq!(fifo.len(), model.len());
            }
        }
    }
}
