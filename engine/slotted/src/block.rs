//! 32 slots at once, where nothing but admissions needs a decision.
//!
//! While the server can't run dry, the slots in which services end are known beforehand, so
//! departures need no events: the queue that an arrival finds is a matter of counting bits.
//! The result is bit for bit that of `Station`'s events; this only avoids
//! their unpredictable order, which costs more than the work itself.

use rand::Rng;
use sluice_aqm::Aqm;
use sluice_queue::Observer;

use crate::{
    arrivals::Source,
    bernoulli::BLOCK,
    packet::Packet,
    service::Server,
    station::{NEVER, Station},
};

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Station<A, S, Q, O> {
    /// Whether blocks are possible at all with these parts.
    pub fn allows_blocks(&self) -> bool {
        A::ALIKE && S::KNOWS_ENDS && !O::ON && self.queue.decides_on_arrivals_only()
    }

    /// Runs the slots `base .. base + 32`, or nothing at all if the server might run dry.
    pub fn try_block(&mut self, base: u64) -> bool {
        if self.completion == NEVER {
            return false;
        }
        let ends = if self.completion < base + BLOCK {
            self.server.ends(base)
        } else {
            0
        };
        if (self.queue.packets() as u32) < ends.count_ones() {
            return false;
        }
        let waiting = self.queue.packets();
        let admitted = self.admit_block(base, ends);
        self.count_block(waiting, admitted, ends);
        self.complete_block(base, ends);
        self.counted = base + BLOCK;
        true
    }

    /// Decides on the block's arrivals; bit k of the result is an admission in slot k.
    fn admit_block(&mut self, base: u64, mut ends: u32) -> u32 {
        let mut admitted = 0;
        while self.arriving.slot < base + BLOCK {
            let slot = self.arriving.slot;
            self.tick_block(base, slot, &mut ends);
            // services of this slot end before it
            self.release(&mut ends, slot - base + 1);
            let random = &mut self.random;
            let now_ns = slot * self.slot_ns;
            let mut word = || random.next_u64();
            let verdict = self
                .queue
                .arrive(now_ns, self.arriving, &mut word, &mut self.observer);
            self.tally.arrivals += 1;
            admitted |= u32::from(!verdict.is_drop()) << (slot - base);
            self.arriving = self.source.next();
        }
        self.tick_block(base, base + BLOCK - 1, &mut ends);
        self.release(&mut ends, BLOCK);
        admitted
    }

    /// Lets the queue know of the services that end in the first `slots` slots of the block.
    #[inline]
    fn release(&mut self, ends: &mut u32, slots: u64) {
        let by_then = (1_u64 << slots) - 1;
        let ended = *ends & by_then as u32;
        *ends ^= ended;
        self.queue.release(ended.count_ones(), self.arriving.bytes);
    }

    /// Delivers the ticks due by slot `last`; a tick comes before its slot's own service ends.
    #[inline]
    fn tick_block(&mut self, base: u64, last: u64, ends: &mut u32) {
        while self.next_tick_ns <= last * self.slot_ns {
            let slot = self.next_tick_ns.div_ceil(self.slot_ns);
            self.release(ends, slot - base);
            self.queue.tick(self.next_tick_ns, &mut self.observer);
            self.next_tick_ns += self.tick_interval_ns;
        }
    }

    /// Counts the queue at the end of each slot.
    fn count_block(&mut self, mut waiting: usize, admitted: u32, ends: u32) {
        let most = waiting + admitted.count_ones() as usize;
        self.tally.hold(most, 0);
        for slot in 0..BLOCK {
            waiting = waiting + (admitted >> slot & 1) as usize - (ends >> slot & 1) as usize;
            self.tally.queue[waiting] += 1;
        }
    }

    /// Ends the block's services; each makes room for the next packet at once.
    fn complete_block(&mut self, base: u64, mut ends: u32) {
        while ends != 0 {
            let now = base + u64::from(ends.trailing_zeros());
            ends &= ends - 1;
            self.tally.serve(now - self.serving.0, self.serving.1);
            let next = self.queue.fetch_released();
            self.serving = (next.slot, next.bytes);
            self.completion = now;
        }
        if self.completion < base + BLOCK {
            self.completion = self.server.completion(base + BLOCK - 1, self.serving.1);
        }
    }
}
