//! How many packets there are at the end of each slot, counted for many slots at once.

use std::ops::Range;

use crate::tally::Tally;

/// Below which the change of eight slots cannot fall, with a place for each.
const LEAST: usize = 8;
/// Places that the eight slots' sizes can take, rounded up.
const WINDOW: usize = 32;

/// Byte k of entry e: how many of the bits 0 to k of e are set.
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

/// Slots at whose end k packets were there, served or waiting, in place k + 8.
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

    /// Counts some slots of a block that begins with `size` packets: bit k of `joined` and `left`
    /// says that in slot k a packet joins, or leaves.
    pub fn count(&mut self, size: u32, joined: u64, left: u64, slots: Range<u64>) {
        self.reserve(size as usize + 64);
        for slot in slots {
            let so_far = u64::MAX >> (63 - slot);
            let size = size + (joined & so_far).count_ones() - (left & so_far).count_ones();
            self.0[size as usize + LEAST] += 1;
        }
    }

    /// Counts all 64.
    #[inline]
    pub fn count_block(&mut self, size: u32, joined: u64, left: u64) {
        let mut size = size as usize;
        self.reserve(size + 64);
        for (joined, left) in joined.to_le_bytes().into_iter().zip(left.to_le_bytes()) {
            // 8 more in each byte, so that none borrows
            let biased = RUNNING[joined as usize] + 0x0808_0808_0808_0808 - RUNNING[left as usize];
            let window = &mut self.0[size..size + WINDOW];
            for slot in 0..8 {
                window[(biased >> (8 * slot)) as usize % WINDOW] += 1;
            }
            size = size + (biased >> 56) as usize - LEAST;
        }
    }

    /// Adds the counts to a tally, and begins anew.
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
