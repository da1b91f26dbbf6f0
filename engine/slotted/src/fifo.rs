//! The packets that wait, in the order of their arrival.

/// What the queue remembers of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Slot of its arrival.
    pub slot: u64,
    /// Size, bytes.
    pub bytes: u32,
    /// Hash of its flow.
    pub flow: u32,
    /// 1 if it can be marked. A word wide, so that the packet has no padding: a copy of
    /// padding in odd pieces stalls the inner loop.
    pub ecn_capable: u64,
}

/// A ring of packets that grows with the queue, up to the buffer's limit.
pub struct Fifo {
    ring: Vec<Packet>,
    head: usize,
    len: usize,
    bytes: u64,
}

impl Fifo {
    pub fn new() -> Self {
        Self {
            ring: vec![Packet::default(); 256],
            head: 0,
            len: 0,
            bytes: 0,
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
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

    #[inline]
    pub fn push(&mut self, packet: Packet) {
        if self.len == self.ring.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.ring[place] = packet;
        self.len += 1;
        self.bytes += u64::from(packet.bytes);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let packet = self.ring[self.head];
        self.head = self.place(1);
        self.len -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Takes out the packet at `index` (0 is the head); those behind it move up.
    pub fn remove(&mut self, index: usize) {
        for at in (0..index).rev() {
            let (from, to) = (self.place(at), self.place(at + 1));
            self.ring.swap(from, to);
        }
        self.pop();
    }

    fn grow(&mut self) {
        self.ring.rotate_left(self.head);
        self.head = 0;
        self.ring.resize(2 * self.ring.len(), Packet::default());
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
            for (slot, step) in steps.into_iter().enumerate() {
                if step < 60 {
                    fifo.push(Packet { slot: slot as u64, bytes: step, ..Packet::default() });
                    model.push_back((slot as u64, step));
                } else if step < 80 {
                    prop_assert_eq!(fifo.pop().map(|p| (p.slot, p.bytes)), model.pop_front());
                } else if !model.is_empty() {
                    let index = step as usize % model.len();
                    fifo.remove(index);
                    model.remove(index);
                }
                prop_assert_eq!(fifo.len(), model.len());
                let bytes: u64 = model.iter().map(|(_, bytes)| u64::from(*bytes)).sum();
                prop_assert_eq!(fifo.bytes(), bytes);
            }
        }
    }
}
