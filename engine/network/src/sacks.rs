//! SACK blocks of ACKs in transit. Few ACKs have any, so they are kept outside the packets.

use sluice_tcp::Block;

/// The SACK blocks of one ACK; unused ones are empty.
pub type Blocks = [Block; 3];

/// A slab of SACK blocks; place 0 stands for "none".
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
    /// Stores the blocks and returns their place.
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

    /// Returns the blocks at a place.
    pub fn get(&self, place: u32) -> Blocks {
        self.blocks[place as usize]
    }

    /// Returns the blocks at a place and frees it.
    #[inline]
    pub fn take(&mut self, place: u32) -> Blocks {
        self.forget(place);
        self.blocks[place as usize]
    }

    /// Frees a place.
    #[inline]
    pub fn forget(&mut self, place: u32) {
        if place != 0 {
            self.free.push(place);
        }
    }
}
