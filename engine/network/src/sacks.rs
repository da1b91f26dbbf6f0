//! SACK blocks of ACKs on their way: few ACKs have any, so they are kept beside the packets.

use sluice_tcp::Block;

/// Of one ACK; unused ones are empty.
pub type Blocks = [Block; 3];

/// A slab of blocks; place 0 stands for "none".
pub struct Sacks {
    blocks: Vec<Blocks>,
    free: Vec<u32>,
}

impl Default for Sacks {
    fn default() -> Self {
        Self {
            blocks: vec![Blocks::default()],
            free: Vec::new(),
        }
    }
}

impl Sacks {
    /// Keeps the blocks and says where.
    #[inline]
    pub fn keep(&mut self, blocks: Blocks) -> u32 {
        if blocks[0].is_empty() {
            return 0;
        }
        match self.free.pop() {
            Some(place) => {
                self.blocks[place as usize] = blocks;
                place
            }
            None => {
                self.blocks.push(blocks);
                self.blocks.len() as u32 - 1
            }
        }
    }

    /// The blocks at a place.
    pub fn get(&self, place: u32) -> Blocks {
        self.blocks[place as usize]
    }

    /// Gives the blocks back; their place is free again.
    #[inline]
    pub fn take(&mut self, place: u32) -> Blocks {
        self.forget(place);
        self.blocks[place as usize]
    }

    /// The packet is lost, and its blocks with it.
    #[inline]
    pub fn forget(&mut self, place: u32) {
        if place != 0 {
            self.free.push(place);
        }
    }
}
