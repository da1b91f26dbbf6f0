//! One queue and one server, from event to event.
//!
//! Slots without an event cost nothing: the time that the queue holds a length is added when
//! the length changes. Events of one slot keep the order of the model: the service
//! ends first, then packets arrive.

use rand::Rng;
use sluice_aqm::{Aqm, Discipline, NEVER, Verdict, Victim, View};
use sluice_queue::{Fifo, below};
use sluice_random::Stream;

use crate::{
    arrivals::Source,
    bernoulli::BLOCK,
    packet::Packet,
    service::Server,
    tally::{Serving, Tally},
};

/// What a station needs to know beside its parts.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub discipline: Discipline,
    pub slot_ns: u64,
    pub rate_bps: u64,
}

pub struct Station<A, S, Q> {
    pub(crate) setting: Setting,
    pub(crate) source: A,
    pub(crate) server: S,
    pub(crate) aqm: Q,
    watches_departures: bool,
    watches_occupancy: bool,
    wants_candidate: bool,
    tick_interval_ns: u64,
    pub(crate) next_tick_ns: u64,
    pub(crate) random: Stream,
    pub(crate) waiting: Fifo<Packet>,
    /// The packet in service, or the last one while the server is idle.
    pub(crate) serving: Serving,
    /// Slot in which the service ends; `NEVER` while the server is idle.
    pub(crate) completion: u64,
    pub(crate) arriving: Packet,
    /// Up to here the queue's length has been counted.
    pub(crate) counted: u64,
    /// Up to here idle slots have been counted.
    idle_counted: u64,
    pub(crate) view: View,
    pub(crate) tally: Tally,
}

impl<A: Source, S: Server, Q: Aqm> Station<A, S, Q> {
    pub fn new(setting: Setting, mut source: A, server: S, aqm: Q, random: Stream) -> Self {
        let interval = aqm.tick_interval_ns();
        let view = View {
            limit_packets: setting.discipline.limit,
            rate_bps: setting.rate_bps,
            ..View::default()
        };
        Self {
            watches_departures: aqm.watches_departures(),
            watches_occupancy: aqm.watches_occupancy(),
            wants_candidate: aqm.wants_candidate(),
            tick_interval_ns: interval.unwrap_or(0),
            next_tick_ns: interval.unwrap_or(NEVER),
            arriving: source.next(),
            setting,
            source,
            server,
            aqm,
            random,
            waiting: Fifo::new(),
            serving: Serving::default(),
            completion: NEVER,
            counted: 0,
            idle_counted: 0,
            view,
            tally: Tally::new(),
        }
    }

    /// Whether the AQM does more than to decide on arrivals and to tick.
    pub(crate) fn asks_more(&self) -> bool {
        self.watches_departures || self.watches_occupancy || self.wants_candidate
    }

    /// Runs to the end of slot `end - 1` and gives what happened since the last call.
    pub fn run_until(&mut self, end: u64) -> Tally {
        let start = self.counted;
        if self.allows_blocks() {
            while self.counted < end {
                let next = (self.counted / BLOCK + 1) * BLOCK;
                let whole = self.counted.is_multiple_of(BLOCK) && next <= end;
                if !(whole && self.try_block(self.counted)) {
                    self.run_events(next.min(end));
                }
            }
        } else {
            self.run_events(end);
        }
        self.tally.slots = end - start;
        std::mem::take(&mut self.tally)
    }

    /// Runs to the end of slot `end - 1`, one event after the other.
    fn run_events(&mut self, end: u64) {
        while self.arriving.slot < end {
            while self.completion <= self.arriving.slot {
                self.complete();
            }
            self.arrive();
            self.arriving = self.source.next();
        }
        while self.completion < end {
            self.complete();
        }
        // not left to the next event: in a long silence millions of ticks would fall due at once
        self.tick_until(end - 1);
        self.hold(end);
        self.count_idle(end);
    }

    /// Counts the queue's present length up to slot `now`, before it changes.
    #[inline]
    fn hold(&mut self, now: u64) {
        self.tally.hold(self.waiting.len(), now - self.counted);
        self.counted = now;
    }

    fn count_idle(&mut self, now: u64) {
        if self.completion == NEVER {
            self.tally.idle_slots += now - self.idle_counted;
        }
        self.idle_counted = now;
    }

    /// Delivers the ticks due by slot `now`, with the queue as it was at each: to be called
    /// before the queue changes.
    #[inline(always)]
    fn tick_until(&mut self, now: u64) {
        if now * self.setting.slot_ns >= self.next_tick_ns {
            self.view.queue_packets = self.waiting.len() as u32;
            self.view.queue_bytes = self.waiting.bytes();
            self.view.idle = u8::from(self.completion == NEVER);
            self.tick_due(now);
        }
    }

    /// Ticks up to slot `now`, the queue in the view being that of all these ticks.
    #[inline(always)]
    pub(crate) fn tick_due(&mut self, now: u64) {
        while self.next_tick_ns <= now * self.setting.slot_ns {
            self.view.now_ns = self.next_tick_ns;
            self.aqm.tick(&self.view);
            self.next_tick_ns += self.tick_interval_ns;
        }
    }

    #[inline(always)]
    fn look(&mut self, now: u64, packet: Packet) {
        self.view.now_ns = now * self.setting.slot_ns;
        self.view.queue_packets = self.waiting.len() as u32;
        self.view.queue_bytes = self.waiting.bytes();
        self.view.random = self.random.next_u64();
        self.describe(packet);
        self.view.idle = u8::from(self.completion == NEVER);
    }

    #[inline(always)]
    pub(crate) fn describe(&mut self, packet: Packet) {
        self.view.packet_bytes = packet.bytes;
        self.view.flow_hash = packet.flow;
        self.view.ecn_capable = u8::from(self.setting.discipline.ecn) & packet.ecn_capable as u8;
    }

    #[inline(always)]
    fn arrive(&mut self) {
        let packet = self.arriving;
        self.tick_until(packet.slot);
        self.look(packet.slot, packet);
        let candidate = self.candidate();
        let verdict = self.aqm.arrive(&self.view);
        self.tally.arrivals += 1;
        self.tally.verdicts[verdict as usize] += 1;
        if verdict.is_drop() && !self.make_room(verdict, candidate) {
            return;
        }
        if self.completion == NEVER {
            self.count_idle(packet.slot);
            self.serve(packet, packet.slot);
        } else {
            self.hold(packet.slot);
            self.count(packet, 1);
            self.waiting.push(packet);
        }
    }

    /// Draws one of those waiting for the AQM to see, if it wants that, and gives its index.
    #[inline(always)]
    fn candidate(&mut self) -> Option<usize> {
        if !self.wants_candidate || self.waiting.is_empty() {
            return None;
        }
        let index = below(self.random.next_u64(), self.waiting.len());
        self.view.candidate_flow_hash = self.waiting.get(index)?.flow;
        Some(index)
    }

    /// Drops the victim, or the candidate; false where the arriving packet is lost.
    fn make_room(&mut self, verdict: Verdict, candidate: Option<usize>) -> bool {
        if verdict == Verdict::DropBoth {
            if candidate.is_some_and(|index| self.lose(index)) {
                self.tally.verdicts[verdict as usize] += 1;
            }
            return false;
        }
        match self.setting.discipline.victim {
            Victim::Tail => false,
            Victim::Front => self.lose(0),
            Victim::Random => {
                let index = below(self.random.next_u64(), self.waiting.len());
                self.lose(index)
            }
        }
    }

    /// Drops the waiting packet at `index`, if there is one.
    fn lose(&mut self, index: usize) -> bool {
        self.hold(self.arriving.slot);
        let lost = self.waiting.remove(index);
        if let Some(packet) = lost {
            self.count(packet, -1);
        }
        lost.is_some()
    }

    /// Tells the AQM that a packet joins those that wait, or has left them.
    #[inline(always)]
    fn count(&mut self, packet: Packet, change: i64) {
        if self.watches_occupancy {
            self.describe(packet);
            self.view.queue_packets = self.waiting.len() as u32;
            self.view.queue_bytes = self.waiting.bytes();
            self.aqm.occupancy(&self.view, change);
        }
    }

    #[inline]
    fn serve(&mut self, packet: Packet, now: u64) {
        self.completion = self.server.completion(now, packet.bytes);
        self.serving = Serving {
            arrival: packet.slot,
            start: now,
            bytes: packet.bytes,
        };
    }

    #[inline(always)]
    fn complete(&mut self) {
        let now = self.completion;
        self.tick_until(now);
        self.tally.serve(&self.serving, now);
        self.completion = NEVER;
        self.idle_counted = now;
        self.view.idle_since_ns = now * self.setting.slot_ns;
        if !self.waiting.is_empty() {
            self.hold(now);
        }
        while let Some(packet) = self.waiting.pop() {
            self.count(packet, -1);
            if self.watches_departures && !self.may_depart(packet, now) {
                continue;
            }
            self.serve(packet, now);
            return;
        }
    }

    /// Asks the AQM about a packet at the head of the queue, as its service would start.
    fn may_depart(&mut self, packet: Packet, now: u64) -> bool {
        self.look(now, packet);
        self.view.idle = 0;
        self.view.sojourn_ns = (now - packet.slot) * self.setting.slot_ns;
        let verdict = self.aqm.depart(&self.view);
        if verdict as usize != 0 {
            self.tally.verdicts[verdict as usize] += 1;
        }
        !verdict.is_drop()
    }
}
