//! Event-driven simulation of one queue and one server.
//!
//! Slots without an event cost nothing: when the length of the queue changes, the slots since the
//! last change are counted together. Events in one slot keep the order of the model: the service
//! ends first, then packets arrive.

use rand::Rng;
use sluice_aqm::{Aqm, BufferPolicy, Configured, NEVER, Verdict};
use sluice_queue::{Observer, Queue, Waiting};
use sluice_random::Stream;

use crate::{
    arrivals::Source,
    block::{BLOCK, Inside},
    environment::{Found, Step},
    packet::Packet,
    service::Server,
    sizes::Sizes,
    tally::{Serving, Tally},
};

pub struct Station<A, S, Q, O> {
    pub(crate) source: A,
    pub(crate) server: S,
    pub(crate) queue: Queue<Packet, Q>,
    pub(crate) random: Stream,
    observer: O,
    pub(crate) slot_ns: u64,
    pub(crate) tick_interval_ns: u64,
    pub(crate) next_tick_ns: u64,
    /// The packet in service, or the last one served while the server is idle.
    serving: Serving,
    /// Slot in which the service ends; `NEVER` while the server is idle.
    pub(crate) completion: u64,
    /// Slot in which an idle server asks the queue again; `NEVER` if it does not.
    ready: u64,
    pub(crate) arriving: Packet,
    /// The queue's length, packets, since slot `counted`; earlier slots are in the tally.
    waiting: usize,
    pub(crate) counted: u64,
    /// Slot up to which idle slots have been counted.
    idle_counted: u64,
    pub(crate) tally: Tally,
    /// Used by blocks only: the packets in the system, the slot in which the last service ended
    /// (`free`), and the sizes of the system not yet in the tally.
    pub(crate) inside: Inside,
    pub(crate) free: u64,
    pub(crate) sizes: Sizes,
    /// The queue's verdicts that are already in earlier tallies.
    earlier_verdicts: [u64; Verdict::COUNT],
    /// True if blocks are not used any more.
    pub(crate) by_events: bool,
    /// Used by steps only: the slot of the arrival that is open.
    stepped: u64,
}

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Station<A, S, Q, O> {
    /// An idle server with an empty `queue`. `random` gives the random words for the AQM and for
    /// the choice of victims.
    pub fn new(
        (mut source, server): (A, S),
        queue: Queue<Packet, Q>,
        slot_ns: u64,
        random: Stream,
        observer: O,
    ) -> Self {
        let interval = queue.tick_interval_ns();
        Self {
            tick_interval_ns: interval.unwrap_or(0),
            next_tick_ns: interval.unwrap_or(NEVER),
            arriving: source.next(),
            source,
            server,
            queue,
            random,
            observer,
            slot_ns,
            serving: Serving::default(),
            completion: NEVER,
            ready: NEVER,
            waiting: 0,
            counted: 0,
            idle_counted: 0,
            tally: Tally::new(),
            inside: Inside::default(),
            free: 0,
            sizes: Sizes::default(),
            earlier_verdicts: [0; Verdict::COUNT],
            by_events: false,
            stepped: 0,
        }
    }

    /// Puts the queue under another discipline, between two slots; see [`Queue::retune`].
    pub fn retune(
        &mut self,
        to: (BufferPolicy, Option<&Configured>),
        keep: impl Fn(u32, &mut Q) -> bool,
        start: impl Fn(u32) -> Q,
    ) {
        self.end_blocks();
        let now_ns = self.counted * self.slot_ns;
        let random = &mut self.random;
        let mut word = || random.next_u64();
        self.queue.retune(now_ns, to, keep, start, &mut word);
        // a tick that is due stays due, but not later than a new interval from now
        let interval_ns = self.queue.tick_interval_ns();
        self.tick_interval_ns = interval_ns.unwrap_or(0);
        self.next_tick_ns = interval_ns.map_or(NEVER, |ns| self.next_tick_ns.min(now_ns + ns));
    }

    /// From now on runs one event after the other: another discipline may need it. What is in the
    /// system moves from where blocks keep it to where events do.
    fn end_blocks(&mut self) {
        let in_blocks = self.allows_blocks();
        self.by_events = true;
        if !in_blocks {
            return;
        }
        let (packet, slot_ns) = (self.arriving, self.slot_ns);
        let mut inside = std::mem::take(&mut self.inside);
        let serves = self.is_busy();
        if serves {
            let arrival = inside.next().expect("a packet is in service");
            self.serving = Serving {
                arrival,
                sojourn: self.free.saturating_sub(arrival),
                bytes: packet.bytes,
            };
        }
        let waiting = inside.map(|slot| Waiting {
            packet: Packet { slot, ..packet },
            since_ns: slot * slot_ns,
        });
        self.queue.ahead().expect("in blocks").end(waiting, serves);
        self.waiting = self.queue.packets();
        self.idle_counted = self.counted;
    }

    /// True if a packet is in service.
    pub fn is_busy(&self) -> bool {
        self.completion != NEVER
    }

    /// Runs to the end of slot `end - 1` and returns what was counted since the last call.
    pub fn run_until(&mut self, end: u64) -> Tally {
        let start = self.counted;
        if self.allows_blocks() {
            while self.counted < end {
                let next = (self.counted / BLOCK + 1) * BLOCK;
                self.run_block(self.counted, next.min(end));
            }
            self.sizes.move_to(&mut self.tally);
        } else {
            self.run_events(end);
        }
        self.tally.slots = end - start;
        self.take_verdicts();
        std::mem::take(&mut self.tally)
    }

    fn take_verdicts(&mut self) {
        let all = *self.queue.verdicts();
        for (verdict, count) in self.tally.verdicts.iter_mut().enumerate() {
            *count = all[verdict] - self.earlier_verdicts[verdict];
        }
        self.earlier_verdicts = all;
    }

    /// Runs to the end of slot `end - 1`, one event after the other.
    fn run_events(&mut self, end: u64) {
        loop {
            let now = self.completion.min(self.ready).min(self.arriving.slot);
            if now >= end {
                break;
            }
            self.event(now);
        }
        // now, not at the next event: without arrivals, millions of ticks could become due at once
        self.tick_until((end - 1) * self.slot_ns);
        self.hold(end);
        if self.completion == NEVER {
            self.count_idle(end);
        }
    }

    /// The next event, which is in slot `now`.
    #[inline(always)]
    fn event(&mut self, now: u64) {
        let now_ns = now * self.slot_ns;
        self.tick_until(now_ns);
        if self.completion == now {
            self.complete(now);
        } else if self.ready == now {
            self.count_idle(now);
        } else {
            if self.completion == NEVER {
                self.count_idle(now);
            }
            self.arrive(now_ns);
        }
        if self.completion == NEVER {
            self.begin(now, now_ns);
        }
        let waiting = self.queue.packets();
        if waiting != self.waiting {
            self.hold(now);
            self.waiting = waiting;
        }
    }

    /// Lets the packet arrive that is next, and runs on until another one comes, whose slot's
    /// service may have ended: its verdict is open. Before the first call nothing has arrived:
    /// with `admits` false it only runs on. Slots from `end` on are not simulated.
    pub fn step(&mut self, admits: bool, end: u64, deadline: u64) -> Step {
        let mut step = Step::default();
        let mut open = admits;
        let lost = self.lost();
        let mut last = self.stepped;
        while self.completion <= self.arriving.slot || open {
            let now = self.completion.min(self.arriving.slot);
            if now >= end {
                break;
            }
            open &= self.completion == now;
            step.packet_slots += self.waiting as u64 * (now - last);
            last = now;
            let ends = self.completion == now;
            let was_idle = self.completion == NEVER;
            self.event(now);
            if (ends || was_idle) && self.completion != NEVER {
                step.started += 1;
                step.late += u64::from(self.serving.sojourn > deadline);
            }
        }
        let now = self.arriving.slot.min(end);
        step.packet_slots += self.waiting as u64 * (now - last);
        step.slots = now - self.stepped;
        step.lost = self.lost() - lost;
        self.stepped = now;
        step
    }

    /// Returns what a packet finds that arrives now.
    pub fn found(&self) -> Found {
        let head = self.queue.head();
        Found {
            slot: self.arriving.slot,
            packets: self.queue.packets() as u32,
            is_busy: self.is_busy(),
            sojourn: self.serving.sojourn,
            head_age: head.map_or(0, |waiting| self.arriving.slot - waiting.packet.slot),
            service_left: if self.is_busy() {
                self.completion.saturating_sub(self.arriving.slot)
            } else {
                0
            },
        }
    }

    fn lost(&self) -> u64 {
        let verdicts = self.queue.verdicts();
        [
            Verdict::DropEarly,
            Verdict::DropForced,
            Verdict::DropOverflow,
            Verdict::DropBoth,
        ]
        .map(|drop| verdicts[drop as usize])
        .iter()
        .sum()
    }

    /// Counts the slots from `counted` to `now` with the queue's present length.
    #[inline]
    fn hold(&mut self, now: u64) {
        self.tally.hold(self.waiting, now - self.counted);
        self.counted = now;
    }

    #[inline]
    fn count_idle(&mut self, now: u64) {
        self.tally.idle_slots += now - self.idle_counted;
        self.idle_counted = now;
    }

    /// Delivers the ticks that are due by `now_ns`. Must be called before the queue changes, so
    /// that each tick sees the queue of its own time.
    #[inline(always)]
    fn tick_until(&mut self, now_ns: u64) {
        while self.next_tick_ns <= now_ns {
            self.queue.tick(self.next_tick_ns, &mut self.observer);
            self.next_tick_ns += self.tick_interval_ns;
        }
    }

    #[inline(always)]
    fn arrive(&mut self, now_ns: u64) {
        self.tally.arrivals += 1;
        let random = &mut self.random;
        let mut word = || random.next_u64();
        self.queue
            .arrive(now_ns, self.arriving, &mut word, &mut self.observer);
        self.arriving = self.source.next();
    }

    #[inline(always)]
    fn complete(&mut self, now: u64) {
        self.tally.serve(&self.serving, now);
        self.completion = NEVER;
        self.idle_counted = now;
    }

    /// Starts the service of the next packet, if the queue gives one. The server must be idle.
    #[inline(always)]
    fn begin(&mut self, now: u64, now_ns: u64) {
        let random = &mut self.random;
        let mut word = || random.next_u64();
        let next = self.queue.depart(now_ns, &mut word, &mut self.observer);
        let ready_ns = self.queue.ready_ns();
        self.ready = ready_ns.map_or(NEVER, |ready_ns| ready_ns.div_ceil(self.slot_ns));
        if let Some(next) = next {
            let packet = next.packet;
            self.completion = self.server.completion(now, packet.bytes);
            self.serving = Serving {
                arrival: packet.slot,
                sojourn: now - packet.slot,
                bytes: packet.bytes,
            };
        }
    }
}
