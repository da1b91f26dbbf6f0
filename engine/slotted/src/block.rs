//! 64 slots at once, where nothing but admissions needs a decision.
//!
//! Where all packets are alike, the slots in which services end are known as soon as the server
//! gets busy, so departures need no events: how many packets an arrival finds is a matter of
//! counting bits, and the packets inside are the slots of their arrivals, kept as bits. The result
//! is bit for bit that of `Station`'s events; this only avoids their unpredictable order, which
//! costs more than the work itself.

use std::collections::VecDeque;

use rand::Rng;
use sluice_aqm::{Aqm, NEVER};
use sluice_histogram::Histogram;
use sluice_queue::{Ahead, Observer};

use crate::{arrivals::Source, packet::Packet, service::Server, station::Station};

/// Slots of a block.
pub const BLOCK: u64 = 64;

/// Queue and server in the slots `base .. base + 64`: bit k stands for slot `base + k`.
struct Block<'a, S, Q> {
    queue: Ahead<'a, Packet, Q>,
    server: &'a mut S,
    base: u64,
    slot_ns: u64,
    /// What every packet looks like.
    packet: Packet,
    /// The slots that are run.
    span: u64,
    /// Those in which services end from now on, if the server stays busy.
    due: u64,
    /// Those in which services have ended.
    ended: u64,
    /// Those in which a packet was admitted.
    admitted: u64,
    /// Packets that wait or are served.
    system: u32,
    /// As in `Station`, while no service ends in the block.
    completion: u64,
}

impl<S: Server, Q: Aqm> Block<'_, S, Q> {
    /// Finds the ends of services, the server being busy from now on.
    #[inline(always)]
    fn find_due(&mut self) {
        if self.completion < self.base + BLOCK {
            self.due = self.server.ends(self.base, self.completion) & self.span;
        }
    }

    /// Lets the services end that do in these slots.
    #[inline(always)]
    fn pass(&mut self, slots: u64) {
        let passed = self.due & slots;
        let count = passed.count_ones();
        if count < self.system {
            self.due ^= passed;
            self.ended |= passed;
            self.system -= count;
        } else if count > 0 {
            self.run_dry(passed);
        }
    }

    /// The last packet leaves at one of the ends `passed`, and the later ones find nothing to end.
    #[inline(always)]
    fn run_dry(&mut self, passed: u64) {
        let ended = first_bits(passed, self.system);
        let last = self.base + u64::from(ended.ilog2());
        self.queue.fall_idle(last * self.slot_ns);
        self.ended |= ended;
        self.due = 0;
        self.system = 0;
        self.completion = NEVER;
    }

    /// Packets that wait.
    #[inline(always)]
    fn waiting(&self) -> u32 {
        self.system.saturating_sub(1)
    }

    #[inline(always)]
    fn arrive(&mut self, slot: u64, random: u64) {
        let now_ns = slot * self.slot_ns;
        let waiting = self.waiting();
        let verdict = self.queue.judge(now_ns, &self.packet, waiting, random);
        if verdict.is_drop() {
            return;
        }
        self.admitted |= 1 << (slot - self.base);
        self.system += 1;
        if self.system == 1 {
            // the idle server begins with it
            self.queue.wake();
            self.completion = self.server.completion(slot, self.packet.bytes);
            self.find_due();
        }
    }

    /// Delivers the tick that is due in `slot`: it comes before the service of its slot ends.
    fn tick(&mut self, now_ns: u64, slot: u64) {
        self.pass((1 << (slot - self.base)) - 1);
        self.queue.tick(now_ns, self.waiting(), self.packet.bytes);
    }
}

/// The slots of a block whose bits are set, in time.
#[derive(Clone, Copy, Default)]
struct Slots {
    base: u64,
    bits: u64,
}

impl Iterator for Slots {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        if self.bits == 0 {
            return None;
        }
        let slot = self.base + u64::from(self.bits.trailing_zeros());
        self.bits &= self.bits - 1;
        Some(slot)
    }
}

/// The packets that wait or are served, each by the slot of its arrival, in their order.
#[derive(Default)]
pub struct Inside {
    first: Slots,
    /// Of later blocks, each with a packet at least.
    later: VecDeque<Slots>,
}

impl Inside {
    fn admit(&mut self, slots: Slots) {
        if slots.bits != 0 {
            self.later.push_back(slots);
        }
    }
}

impl Iterator for Inside {
    type Item = u64;

    #[inline(always)]
    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(slot) = self.first.next() {
                return Some(slot);
            }
            self.first = self.later.pop_front()?;
        }
    }
}

/// The first `count` of the bits that are set; as many are.
#[inline(never)]
fn first_bits(bits: u64, count: u32) -> u64 {
    let mut rest = bits;
    for _ in 0..count {
        rest &= rest - 1;
    }
    bits ^ rest
}

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Station<A, S, Q, O> {
    /// Whether blocks are possible with these parts.
    pub fn allows_blocks(&mut self) -> bool {
        A::ALIKE && S::KNOWS_ENDS && !O::ON && self.queue.ahead().is_some()
    }

    /// Runs the slots from `start` to `end`, which lie in one block.
    pub fn run_block(&mut self, start: u64, end: u64) {
        let was_busy = self.completion != NEVER;
        let system = self.queue.packets() as u32 + u32::from(was_busy);
        let base = start - start % BLOCK;
        let packet = self.arriving;
        let mut arrivals = self.source.arrivals(&mut self.arriving, base, end);
        self.tally.arrivals += u64::from(arrivals.count_ones());
        let mut block = Block {
            queue: self.queue.ahead().expect("blocks are possible"),
            server: &mut self.server,
            base,
            slot_ns: self.slot_ns,
            packet,
            span: u64::MAX >> (base + BLOCK - end),
            due: 0,
            ended: 0,
            admitted: 0,
            system,
            completion: self.completion,
        };
        block.find_due();
        let mut tick_slot = self.next_tick_ns.div_ceil(self.slot_ns);
        while arrivals != 0 {
            let slot = base + u64::from(arrivals.trailing_zeros());
            while tick_slot <= slot {
                block.tick(self.next_tick_ns, tick_slot);
                self.next_tick_ns += self.tick_interval_ns;
                tick_slot = self.next_tick_ns.div_ceil(self.slot_ns);
            }
            // services of this slot end before it
            block.pass(arrivals ^ (arrivals - 1));
            block.arrive(slot, self.random.next_u64());
            arrivals &= arrivals - 1;
        }
        while tick_slot < end {
            block.tick(self.next_tick_ns, tick_slot);
            self.next_tick_ns += self.tick_interval_ns;
            tick_slot = self.next_tick_ns.div_ceil(self.slot_ns);
        }
        block.pass(u64::MAX);
        block.queue.hold(block.waiting(), packet.bytes);
        let (admitted, ended) = (block.admitted, block.ended);
        self.inside.admit(Slots {
            base,
            bits: admitted,
        });
        let served = u64::from(ended.count_ones());
        self.tally.served_bytes += served * u64::from(packet.bytes);
        let (free, inside) = (&mut self.free, &mut self.inside);
        let times = Slots { base, bits: ended }.map(|now| {
            let arrival = inside.next().expect("a packet is served");
            let sojourn = free.saturating_sub(arrival);
            *free = now;
            (sojourn, now - arrival)
        });
        Histogram::add_pairs(&mut self.tally.sojourn, &mut self.tally.delay, times);
        self.completion = block.completion;
        if self.completion < end {
            // there is a next one
            self.completion = block.server.completion(self.free, packet.bytes);
        }
        if end - start == BLOCK {
            self.sizes.count_block(system, admitted, ended);
        } else {
            self.sizes
                .count(system, admitted, ended, start - base..end - base);
        }
        self.counted = end;
    }
}
