//! Packets on their way over a link, in the order in which they come out.
//!
//! They stand in blocks that all links share: one that a link has emptied is the next to be
//! filled, by whatever link, and is still in the cache then. Memory follows the packets that are
//! on their way, not the most that ever were on each link.

use std::collections::VecDeque;

use crate::{ahead::prefetch, packet::Packet};

/// Packets in a block.
const BLOCK: usize = 64;
/// How many packets ahead memory is asked for.
const AHEAD: usize = 8;

/// When a packet comes out, and the packet.
type Entry = (u64, Packet);
type Block = Box<[Entry; BLOCK]>;

/// Blocks that no link uses.
#[derive(Default)]
pub struct Blocks(Vec<Block>);

/// The packets of one link.
#[derive(Default)]
pub struct Line {
    blocks: VecDeque<Block>,
    /// Place of the first packet in the first block, and behind the last in the last.
    head: usize,
    tail: usize,
}

impl Line {
    /// Whether no packet is on its way. The last block is kept for the packets to come.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head == self.tail && self.blocks.len() <= 1
    }

    /// A packet that comes out at `due_ns`, after all others.
    #[inline]
    pub fn push(&mut self, blocks: &mut Blocks, due_ns: u64, packet: Packet) {
        if self.tail == BLOCK || self.blocks.is_empty() {
            self.extend(blocks, packet);
        }
        let last = self.blocks.len() - 1;
        self.blocks[last][self.tail] = (due_ns, packet);
        self.tail += 1;
    }

    #[inline(never)]
    fn extend(&mut self, blocks: &mut Blocks, filler: Packet) {
        let block = blocks.0.pop();
        let block = block.unwrap_or_else(|| Box::new([(0, filler); BLOCK]));
        self.blocks.push_back(block);
        self.tail = 0;
    }

    /// Takes the first packet out.
    #[inline]
    pub fn pop(&mut self, blocks: &mut Blocks) -> Option<Packet> {
        if self.is_empty() {
            return None;
        }
        let block = &self.blocks[0];
        let (_, packet) = block[self.head];
        if let Some(later) = block.get(self.head + AHEAD) {
            prefetch(later);
        }
        self.head += 1;
        if self.blocks.len() == 1 && self.head == self.tail {
            (self.head, self.tail) = (0, 0);
        } else if self.head == BLOCK {
            self.give_back(blocks);
        }
        Some(packet)
    }

    #[inline(never)]
    fn give_back(&mut self, blocks: &mut Blocks) {
        blocks.0.extend(self.blocks.pop_front());
        self.head = 0;
        // the processor follows a block by itself, but not into the next
        self.blocks[0][..AHEAD].iter().for_each(prefetch);
    }

    /// When the first packet comes out.
    #[inline]
    pub fn due_ns(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.blocks[0][self.head].0)
    }

    /// The packet that comes out after `ahead` others of its block.
    #[inline]
    pub fn get(&self, ahead: usize) -> Option<&Packet> {
        let place = self.head + ahead;
        if self.blocks.len() <= 1 && place >= self.tail {
            return None;
        }
        let (_, packet) = self.blocks[0].get(place)?;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_behave_like_deques(steps in prop::collection::vec((0_usize..3, 0..100), 1..3000)) {
            let mut blocks = Blocks::default();
            let mut lines = [Line::default(), Line::default(), Line::default()];
            let mut models = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
            // long stretches of filling and of emptying, so that blocks change hands
            for (number, (which, step)) in steps.into_iter().enumerate() {
                let (line, model) = (&mut lines[which], &mut models[which]);
                let filling = number / 500 % 2 == 0;
                if (step < 80) == filling {
                    let packet = Packet::datagram(number as u32, 0, 1);
                    line.push(&mut blocks, number as u64, packet);
                    model.push_back((number as u64, packet));
                } else {
                    prop_assert_eq!(line.due_ns(), model.front().map(|entry| entry.0));
                    prop_assert_eq!(line.pop(&mut blocks), model.pop_front().map(|entry| entry.1));
                }
                prop_assert_eq!(line.is_empty(), model.is_empty());
                if let Some(packet) = line.get(2) {
                    prop_assert_eq!(*packet, model[2].1);
                }
            }
        }
    }
}
