//! 32 slots at once, where nothing but admissions needs a decision.
//!
//! Where all packets are alike, the slots in which services end are known as soon as the server
//! gets busy, so departures need no events: how many packets an arrival finds is a matter of
//! counting bits. The result is bit for bit that of `Station`'s events; this only avoids their
//! unpredictable order, which costs more than the work itself.

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

/// Slots `base .. base + 32`, or those of them that are run; bit k stands for slot `base + k`.
struct Block {
    base: u64,
    /// The slot after the last that is run.
    end: u64,
    /// Slots in which services end from now on, if the server stays busy.
    due: u32,
    /// Slots in which services have ended.
    ended: u32,
    /// Slots in which a packet was admitted.
    admitted: u32,
    /// Packets that wait or are served.
    system: u32,
}

impl Block {
    /// The bits of all slots before `slot`.
    #[inline]
    fn before(&self, slot: u64) -> u32 {
        ((1_u64 << (slot - self.base)) - 1) as u32
    }
}

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Station<A, S, Q, O> {
    /// Whether blocks are possible with these parts.
    pub fn allows_blocks(&self) -> bool {
        A::ALIKE && S::KNOWS_ENDS && !O::ON && self.queue.decides_on_arrivals_only()
    }

    /// Runs the slots from `start` to `end`, which lie in one block.
    pub fn run_block(&mut self, start: u64, end: u64) {
        let system = self.queue.packets() as u32 + u32::from(self.completion != NEVER);
        let mut block = Block {
            base: start - start % BLOCK,
            end,
            due: 0,
            ended: 0,
            admitted: 0,
            system,
        };
        self.find_due(&mut block);
        while self.arriving.slot < end {
            self.arrive_in(&mut block);
        }
        self.tick_in(&mut block, (end - 1) * self.slot_ns);
        self.pass(&mut block, end);
        self.serve_block(&block, system > 0);
        if end - start == BLOCK {
            self.sizes.count_block(system, block.admitted, block.ended);
        } else {
            self.sizes.count(
                system,
                block.admitted,
                block.ended,
                start - block.base..end - block.base,
            );
        }
        self.counted = end;
    }

    /// Finds the ends of services in the block, the server being busy until `completion` and on.
    #[inline(always)]
    fn find_due(&mut self, block: &mut Block) {
        if self.completion < block.end {
            block.due = self.server.ends(block.base, self.completion) & block.before(block.end);
        }
    }

    /// Lets the services end that do before `slot`.
    #[inline(always)]
    fn pass(&mut self, block: &mut Block, slot: u64) {
        let passed = block.due & block.before(slot);
        let count = passed.count_ones();
        if count < block.system {
            block.due ^= passed;
            block.ended |= passed;
            block.system -= count;
            self.queue.release(count, self.arriving.bytes);
        } else if count > 0 {
            block.ended |= self.run_dry(block.base, block.system, passed);
            block.due = 0;
            block.system = 0;
        }
    }

    /// The last of `system` packets leaves at one of the ends `passed`. Gives those up to it: the
    /// others find nothing to end.
    fn run_dry(&mut self, base: u64, system: u32, passed: u32) -> u32 {
        let mut rest = passed;
        for _ in 1..system {
            rest &= rest - 1;
        }
        let last = u64::from(rest.trailing_zeros());
        self.queue.release(system - 1, self.arriving.bytes);
        self.queue.fall_idle((base + last) * self.slot_ns);
        self.completion = NEVER;
        passed & !(rest & (rest - 1))
    }

    #[inline(always)]
    fn arrive_in(&mut self, block: &mut Block) {
        let packet = self.arriving;
        let now_ns = packet.slot * self.slot_ns;
        self.tick_in(block, now_ns);
        // services of this slot end before it
        self.pass(block, packet.slot + 1);
        let random = &mut self.random;
        let mut word = || random.next_u64();
        let verdict = self
            .queue
            .arrive(now_ns, packet, &mut word, &mut self.observer);
        self.tally.arrivals += 1;
        if !verdict.is_drop() {
            block.admitted |= 1 << (packet.slot - block.base);
            block.system += 1;
            if block.system == 1 {
                self.begin_in(block, packet);
            }
        }
        self.arriving = self.source.next();
    }

    /// The idle server begins with the only packet.
    #[inline(always)]
    fn begin_in(&mut self, block: &mut Block, packet: Packet) {
        self.queue.release(1, packet.bytes);
        self.completion = self.server.completion(packet.slot, packet.bytes);
        self.find_due(block);
    }

    /// Delivers the ticks due by now; a tick comes before its slot's own service ends.
    #[inline(always)]
    fn tick_in(&mut self, block: &mut Block, now_ns: u64) {
        while self.next_tick_ns <= now_ns {
            self.pass(block, self.next_tick_ns.div_ceil(self.slot_ns));
            self.queue.tick(self.next_tick_ns, &mut self.observer);
            self.next_tick_ns += self.tick_interval_ns;
        }
    }

    /// Sees to the packets whose service ended, and to the one in service at the end: they are
    /// the next in the order of arrival, after the one in service at the start, if there was one.
    fn serve_block(&mut self, block: &Block, was_busy: bool) {
        let mut first = was_busy.then_some(self.serving);
        let mut ended = block.ended;
        let mut last = 0;
        while ended != 0 {
            let (arrived, bytes) = first.take().unwrap_or_else(|| self.fetch());
            last = block.base + u64::from(ended.trailing_zeros());
            ended &= ended - 1;
            self.tally.serve(last - arrived, bytes);
        }
        if block.system > 0 {
            self.serving = first.unwrap_or_else(|| self.fetch());
            if self.completion < block.end {
                self.completion = self.server.completion(last, self.serving.1);
            }
        }
    }

    #[inline]
    fn fetch(&mut self) -> (u64, u32) {
        let packet = self.queue.fetch_released();
        (packet.slot, packet.bytes)
    }
}
