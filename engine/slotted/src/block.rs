//! 64 slots at once, where nothing but admissions needs a decision.
//!
//! Where all packets are alike, the slots in which services end are known as soon as the server
//! gets busy, so departures need no events: how many packets an arrival finds is a matter of
//! counting bits. The result is bit for bit that of `Station`'s events; this only avoids their
//! unpredictable order, which costs more than the work itself.

use rand::Rng;
use sluice_aqm::Aqm;
use sluice_queue::{Ahead, Observer};

use crate::{
    arrivals::Source,
    packet::Packet,
    service::Server,
    station::{NEVER, Station},
};

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

    /// Delivers a tick: it comes before the service of its slot ends.
    fn tick(&mut self, now_ns: u64) {
        let slot = now_ns.div_ceil(self.slot_ns);
        self.pass((1 << (slot - self.base)) - 1);
        self.queue.tick(now_ns);
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
        while arrivals != 0 {
            packet.slot = base + u64::from(arrivals.trailing_zeros());
            while self.next_tick_ns <= packet.slot * self.slot_ns {
                block.tick(self.next_tick_ns);
                self.next_tick_ns += self.tick_interval_ns;
            }
            // services of this slot end before it
            block.pass(arrivals ^ (arrivals - 1));
            block.arrive(packet, self.random.next_u64());
            arrivals &= arrivals - 1;
        }
        while self.next_tick_ns <= (end - 1) * self.slot_ns {
            block.tick(self.next_tick_ns);
            self.next_tick_ns += self.tick_interval_ns;
        }
        block.pass(u64::MAX);
        let Block {
            mut queue,
            ended,
            admitted,
            ..
        } = block;
        // the packets served are the next in the order of arrival, after the one in service
        let mut first = was_busy.then_some(self.serving);
        let mut next = || {
            first.take().unwrap_or_else(|| {
                let packet = queue.fetch();
                (packet.slot, packet.bytes)
            })
        };
        let (mut ends, mut last) = (ended, 0);
        while ends != 0 {
            last = base + u64::from(ends.trailing_zeros());
            ends &= ends - 1;
            let (arrived, bytes) = next();
            self.tally.serve(last - arrived, bytes);
        }
        self.completion = block.completion;
        if block.system > 0 {
            self.serving = next();
            if self.completion < end {
                self.completion = block.server.completion(last, self.serving.1);
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
