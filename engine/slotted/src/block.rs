//! 32 slots at once, where nothing but admissions needs a decision.
//!
//! While the server can't run dry, the slots in which services end are known beforehand, so
//! departures need no events: the queue that an arrival finds is a matter of counting bits.
//! The result is bit for bit that of `Station`'s events; this only avoids
//! their unpredictable order, which costs more than the work itself.

use rand::Rng;
use sluice_aqm::{Aqm, NEVER, Victim};

use crate::{
    arrivals::Source, bernoulli::BLOCK, packet::Packet, service::Server, station::Station,
    tally::Serving,
};

impl<A: Source, S: Server, Q: Aqm> Station<A, S, Q> {
    /// Whether blocks are possible at all with these parts.
    pub fn allows_blocks(&self) -> bool {
        A::ALIKE
            && S::KNOWS_ENDS
            && self.setting.discipline.victim == Victim::Tail
            && !self.asks_more()
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
        let (mut admitted, mut ticked) = (0, base);
        let packet = self.arriving;
        self.describe(packet);
        self.view.idle = 0;
        while self.arriving.slot < base + BLOCK {
            let slot = self.arriving.slot;
            let bit = slot - base;
            self.tick_block(&mut ticked, slot, base, ends);
            // services of this slot end before it: bits 0 ..= bit
            let ended = (ends & (u32::MAX >> (31 - bit))).count_ones();
            self.see_queue(ended);
            self.view.now_ns = slot * self.setting.slot_ns;
            self.view.random = self.random.next_u64();
            let verdict = self.aqm.arrive(&self.view);
            self.tally.arrivals += 1;
            self.tally.verdicts[verdict as usize] += 1;
            if !verdict.is_drop() {
                admitted |= 1 << bit;
                self.waiting.push(Packet { slot, ..packet });
            }
            self.arriving = self.source.next();
        }
        self.tick_block(&mut ticked, base + BLOCK - 1, base, ends);
        admitted
    }

    /// Shows the AQM the packets that wait but for the first `ended`, which are gone by now.
    fn see_queue(&mut self, ended: u32) {
        self.view.queue_packets = self.waiting.len() as u32 - ended;
        self.view.queue_bytes =
            u64::from(self.view.queue_packets) * u64::from(self.view.packet_bytes);
    }

    /// Delivers the ticks due by slot `last`; those before slot `ticked` have been delivered.
    fn tick_block(&mut self, ticked: &mut u64, last: u64, base: u64, ends: u32) {
        if self.next_tick_ns == NEVER {
            return;
        }
        for slot in *ticked..=last {
            // a tick comes before the slot's own service ends: bits 0 .. slot - base
            if self.next_tick_ns <= slot * self.setting.slot_ns {
                self.see_queue((ends & !(u32::MAX << (slot - base))).count_ones());
                self.tick_due(slot);
            }
        }
        *ticked = last + 1;
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
            self.tally.serve(&self.serving, now);
            let next = self.waiting.pop().expect("as many wait as services end");
            self.serving = Serving {
                arrival: next.slot,
                start: now,
                bytes: next.bytes,
            };
            self.completion = now;
        }
        if self.completion < base + BLOCK {
            self.completion = self.server.completion(base + BLOCK - 1, self.serving.bytes);
        }
    }
}
