//! 64 slots at once, where nothing but admissions needs a decision.
//!
//! Where all packets are alike, the slots in which services end are known as soon as the server
//! gets busy, so departures need no events: how many packets an arrival finds is a matter of
//! counting bits. The result is bit for bit that of `Station`'s events; this only avoids their
//! unpredictable order, which costs more than the work itself.

use rand::Rng;
use sluice_aqm::{Aqm, NEVER};
use sluice_histogram::Histogram;
use sluice_queue::{Ahead, Observer};

use crate::{arrivals::Source, packet::Packet, service::Server, station::Station, tally::Serving};

/// Slots of a block.
pub const BLOCK: u64 = 64;

/// Queue and server in the slots `base .. base + 64`: bit k stands for slot `base + k`.
struct Block<'a, S, Q> {
    queue: Ahead<'a, Packet, Q>,
    server: &'a mut S,
    base: u64,
    slot_ns: u64,
    /// Of each packet.
    bytes: u32,
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
            self.queue.release(count, self.bytes);
        } else if count > 0 {
            self.run_dry(passed);
        }
    }

    /// The last packet leaves at one of the ends `passed`, and the later ones find nothing to end.
    #[inline(always)]
    fn run_dry(&mut self, passed: u64) {
        let ended = first_bits(passed, self.system);
        let last = self.base + u64::from(ended.ilog2());
        self.queue.release(self.system - 1, self.bytes);
        self.queue.fall_idle(last * self.slot_ns);
        self.ended |= ended;
        self.due = 0;
        self.system = 0;
        self.completion = NEVER;
    }

    #[inline(always)]
    fn arrive(&mut self, packet: Packet, random: u64) {
        let verdict = self
            .queue
            .arrive(packet.slot * self.slot_ns, packet, random);
        if verdict.is_drop() {
            return;
        }
        self.admitted |= 1 << (packet.slot - self.base);
        self.system += 1;
        if self.system == 1 {
            // the idle server begins with it
            self.queue.release(1, self.bytes);
            self.completion = self.server.completion(packet.slot, self.bytes);
            self.find_due();
        }
    }

    /// Delivers the tick that is due in `slot`: it comes before the service of its slot ends.
    fn tick(&mut self, now_ns: u64, slot: u64) {
        self.pass((1 << (slot - self.base)) - 1);
        self.queue.tick(now_ns);
    }
}

/// The slots of a block whose bits are set, in time.
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
        let mut packet = self.arriving;
        let mut arrivals = self.source.arrivals(&mut self.arriving, base, end);
        self.tally.arrivals += u64::from(arrivals.count_ones());
        let mut block = Block {
            queue: self.queue.ahead().expect("blocks are possible"),
            server: &mut self.server,
            base,
            slot_ns: self.slot_ns,
            bytes: packet.bytes,
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
            packet.slot = base + u64::from(arrivals.trailing_zeros());
            while tick_slot <= packet.slot {
                block.tick(self.next_tick_ns, tick_slot);
                self.next_tick_ns += self.tick_interval_ns;
                tick_slot = self.next_tick_ns.div_ceil(self.slot_ns);
            }
            // services of this slot end before it
            block.pass(arrivals ^ (arrivals - 1));
            block.arrive(packet, self.random.next_u64());
            arrivals &= arrivals - 1;
        }
        while tick_slot < end {
            block.tick(self.next_tick_ns, tick_slot);
            self.next_tick_ns += self.tick_interval_ns;
            tick_slot = self.next_tick_ns.div_ceil(self.slot_ns);
        }
        block.pass(u64::MAX);
        let Block {
            mut queue,
            ended,
            admitted,
            ..
        } = block;
        let (mut ends, mut free) = (Slots { base, bits: ended }, 0);
        let first_ends = was_busy && ended != 0;
        if first_ends {
            free = ends.next().expect("a service ends");
            self.tally.serve(&self.serving, free);
        }
        // after it the next are served in the order of their arrival
        let served = ends.bits.count_ones();
        self.tally.served_bytes += u64::from(served) * u64::from(packet.bytes);
        let times = ends.zip(queue.fetch(served)).map(|(now, packet)| {
            let sojourn = free.saturating_sub(packet.slot);
            free = now;
            (sojourn, now - packet.slot)
        });
        Histogram::add_pairs(&mut self.tally.sojourn, &mut self.tally.delay, times);
        self.completion = block.completion;
        if block.system > 0 {
            if first_ends || !was_busy {
                let packet = queue.fetch(1).next().expect("a service begins");
                self.serving = Serving {
                    arrival: packet.slot,
                    sojourn: free.saturating_sub(packet.slot),
                    bytes: packet.bytes,
                };
            }
            if self.completion < end {
                self.completion = block.server.completion(free, self.serving.bytes);
            }
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
