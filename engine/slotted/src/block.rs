//! 64 slots at once, for queues in which only admissions need a decision.
//!
//! If all packets are alike, the slots in which services end are known as soon as the server
//! becomes busy, so departures need no events. Counting bits gives how many packets an arrival
//! finds. Of the packets in the system only the slots of their arrivals are kept, as bits. The
//! result is bit for bit that of `Station`'s events. This way is faster, because the unpredictable
//! order of events costs more time than the work itself.

use std::collections::VecDeque;

use rand::Rng;
use sluice_aqm::{Aqm, NEVER};
use sluice_histogram::Histogram;
use sluice_queue::{Ahead, Observer};

use crate::{arrivals::Source, packet::Packet, service::Server, station::Station};

/// Slots in a block.
pub const BLOCK: u64 = 64;

/// Queue and server in the slots `base .. base + 64`: bit k stands for slot `base + k`.
struct Block<'a, S, Q> {
    queue: Ahead<'a, Packet, Q>,
    server: &'a mut S,
    base: u64,
    slot_ns: u64,
    /// Size, flow and marking of every packet.
    packet: Packet,
    /// The slots that are simulated.
    span: u64,
    /// The slots in which the next services end, if the server stays busy.
    due: u64,
    /// The slots in which services have ended.
    ended: u64,
    /// The slots in which a packet was admitted.
    admitted: u64,
    /// Packets in the system: waiting or in service.
    system: u32,
    /// As in `Station`, but not updated at the ends of services within the block.
    completion: u64,
}

impl<S: Server, Q: Aqm> Block<'_, S, Q> {
    /// Finds the ends of services, as if the server stayed busy from now on.
    #[inline(always)]
    fn find_due(&mut self) {
        if self.completion < self.base + BLOCK {
            self.due = self.server.ends(self.base, self.completion) & self.span;
        }
    }

    /// Ends the services that are due in `slots`.
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

    /// Empties the system: the last packet leaves in one of the slots `passed`, and in the later
    /// ones no service ends.
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

    /// Returns the number of waiting packets.
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
            // the server was idle
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

/// The slots of a block whose bits are set, in the order of time.
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

/// The packets in the system, in the order of arrival, each given by the slot of its arrival.
#[derive(Default)]
pub struct Inside {
    first: Slots,
    /// The slots of later blocks; each entry has at least one bit set.
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

/// Returns the lowest `count` of the bits that are set. At least `count` bits must be set.
#[inline(never)]
fn first_bits(bits: u64, count: u32) -> u64 {
    let mut rest = bits;
    for _ in 0..count {
        rest &= rest - 1;
    }
    bits ^ rest
}

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Station<A, S, Q, O> {
    /// True if this source, server, queue and observer allow blocks.
    pub fn allows_blocks(&mut self) -> bool {
        A::ALIKE && S::KNOWS_ENDS && !O::ON && !self.by_events && self.queue.ahead().is_some()
    }

    /// Runs the slots `start .. end`, which lie in one block.
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
            // services that end in this slot end before the arrival
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
            // another packet is in service
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
