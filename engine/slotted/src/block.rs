//! 32 slots at once, where nothing but admissions needs a decision.
//!
//! While the server can't run dry, the slots in which services end are known beforehand, so
//! departures need no events: the queue that an arrival finds is a matter of counting bits.
//! The result is bit for bit that of `Station`'s events; this only avoids
//! their unpredictable order, which costs more than the work itself.

use rand::Rng;
use sluice_aqm::{Aqm, Victim};

use crate::{
    arrivals::Source,
    fifo::Packet,
    service::Server,
    station::{NEVER, Station},
};

/// Slots of a block.
pub const BLOCK: u64 = 32;

impl<A: Source, S: Server, Q: Aqm> Station<A, S, Q> {
    /// Whether blocks are possible at all with these parts.
    pub fn allows_blocks(&self) -> bool {
        A::ALIKE
            && S::KNOWS_ENDS
            && self.setting.discipline.victim == Victim::Tail
            && !self.watches_departures
            && self.next_tick_ns == NEVER
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
        if (self.waiting.len() as u32) < ends.count_ones() {
            return false;
        }
        let waiting = self.waiting.len();
        let admitted = self.admit_block(base, ends);
        self.count_block(waiting, admitted, ends);
        self.complete_block(base, ends);
        self.counted = base + BLOCK;
        true
    }

    /// Decides on the block's arrivals; bit k of the result is an admission in slot k.
    fn admit_block(&mut self, base: u64, ends: u32) -> u32 {
        let (waiting, mut admitted, mut packets) = (self.waiting.len() as u32, 0, 0);
        let packet = self.arriving;
        self.describe(packet);
        self.view.idle = 0;
        while self.arriving.slot < base + BLOCK {
            let slot = self.arriving.slot;
            let bit = slot - base;
            // services of this slot end before it: bits 0 ..= bit
            let ended = (ends & (u32::MAX >> (31 - bit))).count_ones();
            self.view.now_ns = slot * self.setting.slot_ns;
            self.view.queue_packets = waiting + packets - ended;
            self.view.queue_bytes = u64::from(self.view.queue_packets) * u64::from(packet.bytes);
            self.view.random = self.random.next_u64();
            let verdict = self.aqm.arrive(&self.view);
            self.tally.arrivals += 1;
            self.tally.verdicts[verdict as usize] += 1;
            if !verdict.is_drop() {
                admitted |= 1 << bit;
                packets += 1;
                self.waiting.push(Packet { slot, ..packet });
            }
            self.arriving = self.source.next();
        }
        admitted
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
            let next = self.waiting.pop().expect("as many wait as services end");
            self.serving = (next.slot, next.bytes);
            self.completion = now;
        }
        if self.completion < base + BLOCK {
            self.completion = self.server.completion(base + BLOCK - 1, self.serving.1);
        }
    }
}
