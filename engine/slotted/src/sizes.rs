//! Distribution of the number of packets in the system, counted for many slots at once.

use std::ops::Range;

use crate::tally::Tally;

/// Offset of the places: within eight slots the size falls by 8 at most.
const LEAST: usize = 8;
/// Number of sizes that are possible within eight slots (17), rounded up to a power of two.
const WINDOW: usize = 32;

/// Byte k of entry e: number of bits set among the bits 0 to k of e.
const RUNNING: [u64; 256] = {
    let mut running = [0; 256];
    let mut entry = 0;
    while entry < 256 {
        let (mut bit, mut sum) = (0, 0);
        while bit < 8 {
            sum += (entry as u64 >> bit) & 1;
            running[entry] |= sum << (8 * bit);
            bit += 1;
        }
        entry += 1;
    }
    running
};

/// Place k + 8: slots at whose end k packets were in service or waiting.
#[derive(Default)]
pub struct Sizes(Vec<u64>);

impl Sizes {
    fn reserve(&mut self, most: usize) {
        if self.0.len() < most + LEAST + WINDOW {
            self.grow(most);
        }
    }

    #[cold]
    fn grow(&mut self, most: usize) {
        self.0
            .resize((most + LEAST + WINDOW).next_power_of_two(), 0);
    }

    /// Counts some slots of a block that begins with `size` packets. Bit k of `joined` is set if a
    /// packet joins in slot k, bit k of `left` if one leaves.
    pub fn count(&mut self, size: u32, joined: u64, left: u64, slots: Range<u64>) {
        self.reserve(size as usize + 64);
        for slot in slots {
            let so_far = u64::MAX >> (63 - slot);
            let size = size + (joined & so_far).count_ones() - (left & so_far).count_ones();
            self.0[size as usize + LEAST] += 1;
        }
    }

    /// Counts all 64 slots of a block, as `count` does.
    #[inline]
    pub fn count_block(&mut self, size: u32, joined: u64, left: u64) {
        let mut size = size as usize;
        self.reserve(size + 64);
        for (joined, left) in joined.to_le_bytes().into_iter().zip(left.to_le_bytes()) {
            // 8 is added to each byte, so that the subtraction never borrows from the next one
            let biased = RUNNING[joined as usize] + 0x0808_0808_0808_0808 - RUNNING[left as usize];
            let window = &mut self.0[size..size + WINDOW];
            for slot in 0..8 {
                window[(biased >> (8 * slot)) as usize % WINDOW] += 1;
            }
            size = size + (biased >> 56) as usize - LEAST;
        }
    }

    /// Adds the counts to a tally and resets them.
    pub fn move_to(&mut self, tally: &mut Tally) {
        for (size, slots) in self.0.iter_mut().skip(LEAST).enumerate() {
            let slots = std::mem::take(slots);
            if size == 0 {
                tally.idle_slots += slots;
            }
            if slots > 0 {
                tally.hold(size.saturating_sub(1), slots);
            }
        }
    }
}
