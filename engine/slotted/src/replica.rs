//! A replication in progress: begun from a plan, advanced in parts, observed between them.

use std::sync::atomic::Ordering;

use sluice_aqm::{Aqm, BufferPolicy, Configured};
use sluice_queue::{Observer, Queue, QueueState};
use sluice_random::{Stream, stream};
use sluice_traffic::ModulatedSlots;

use crate::{
    arrivals::{Arrivals, FgnSlots, GeometricSlots, Replayed, SlotSource, Source, Uniform},
    environment::{Found, Step},
    packet::Packet,
    run::{Monitor, Plan},
    service::{DeterministicServer, GeometricServer, PacketSizeServer, Server, Service},
    station::Station,
    tally::Tally,
};

/// The batches that a replication finished, in the order of time.
pub type Replication = Vec<Tally>;

/// Slots, or ticks of an AQM if a slot has several, between two checks for cancellation.
const STRETCH: u64 = 1 << 20;

/// How the slots of a replication are divided.
#[derive(Clone, Copy)]
pub struct Batches {
    slots: u64,
    /// The resolution of warm-up detection. It falls with the number of replications, to limit the
    /// memory.
    count: u64,
}

impl Batches {
    /// Returns those of a replication of `plan`.
    pub fn of(plan: &Plan) -> Self {
        Self {
            slots: plan.slots,
            count: (1024 / u64::from(plan.replications)).clamp(8, 64),
        }
    }

    /// Returns the slot at which the first `batches` of them have ended.
    pub fn end(self, batches: u64) -> u64 {
        (u128::from(self.slots) * u128::from(batches) / u128::from(self.count)) as u64
    }
}

/// The state of a slotted queue at a time: all slots before it are over. Counts are since the start
/// of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The time: slots that are over.
    pub now: u64,
    /// What waits, and what was decided.
    pub queue: QueueState,
    /// True if a packet is in service.
    pub in_service: bool,
    /// Slots at whose end no packet was in service.
    pub idle_slots: u64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets whose service ended.
    pub served: u64,
    /// Their bytes.
    pub served_bytes: u64,
    /// Sum of the slots that they waited before their service.
    pub sojourn: u128,
}

/// A replication in progress, of any source, server, AQM and observer.
pub trait Progress<Q> {
    /// Runs the slots before `until`, with the same result whatever the times of the calls. Returns
    /// false if the run was cancelled meanwhile: then what came last is not among the finished
    /// batches.
    fn advance(&mut self, until: u64, monitor: &Monitor) -> bool;

    /// Returns the number of slots that are over.
    fn now(&self) -> u64;

    /// Puts the queue under another discipline; see [`Queue::retune`].
    fn retune(
        &mut self,
        to: (BufferPolicy, Option<&Configured>),
        keep: &dyn Fn(u32, &mut Q) -> bool,
        start: &dyn Fn(u32) -> Q,
    );

    /// Returns what can be seen now.
    fn observe(&self) -> Observation;

    /// As [`Station::step`]. A replication is either stepped or advanced.
    fn step(&mut self, admits: bool, end: u64, deadline: u64) -> Step;

    /// As [`Station::found`].
    fn found(&self) -> Found;

    /// Returns the batches that are finished.
    fn finished(self: Box<Self>) -> Replication;
}

/// A replication in progress, of one kind.
struct Replica<A, S, Q, O> {
    station: Station<A, S, Q, O>,
    batches: Batches,
    finished: Replication,
    /// Counts of the present batch.
    tally: Tally,
    /// Slots that are over.
    now: u64,
    /// Most slots between two checks for cancellation.
    stretch: u64,
}

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Replica<A, S, Q, O> {
    /// Returns the slot at which the present batch ends; `None` if all are over.
    fn batch_end(&self) -> Option<u64> {
        let number = self.finished.len() as u64 + 1;
        (number <= self.batches.count).then(|| self.batches.end(number))
    }
}

impl<A: Source, S: Server, Q: Aqm, O: Observer<Packet>> Progress<Q> for Replica<A, S, Q, O> {
    fn advance(&mut self, until: u64, monitor: &Monitor) -> bool {
        loop {
            if monitor.is_cancelled() {
                return false;
            }
            // a batch may have no slots
            while self.batch_end() == Some(self.now) {
                self.finished.push(std::mem::take(&mut self.tally));
            }
            if self.now == until {
                return true;
            }
            let next = until.min(self.now + self.stretch);
            let next = self.batch_end().map_or(next, |end| next.min(end));
            self.tally.merge(&self.station.run_until(next));
            monitor.done.fetch_add(next - self.now, Ordering::Relaxed);
            self.now = next;
        }
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn retune(
        &mut self,
        to: (BufferPolicy, Option<&Configured>),
        keep: &dyn Fn(u32, &mut Q) -> bool,
        start: &dyn Fn(u32) -> Q,
    ) {
        self.station.retune(to, keep, start);
        self.stretch = stretch(self.station.slot_ns, self.station.queue.tick_interval_ns());
    }

    fn observe(&self) -> Observation {
        let tallies = || self.finished.iter().chain([&self.tally]);
        Observation {
            now: self.now,
            queue: self.station.queue.state(),
            in_service: self.station.is_busy(),
            idle_slots: tallies().map(|tally| tally.idle_slots).sum(),
            arrivals: tallies().map(|tally| tally.arrivals).sum(),
            served: tallies().map(|tally| tally.delay.count()).sum(),
            served_bytes: tallies().map(|tally| tally.served_bytes).sum(),
            sojourn: tallies().map(|tally| tally.sojourn.sum()).sum(),
        }
    }

    fn step(&mut self, admits: bool, end: u64, deadline: u64) -> Step {
        self.station.step(admits, end, deadline)
    }

    fn found(&self) -> Found {
        self.station.found()
    }

    fn finished(self: Box<Self>) -> Replication {
        self.finished
    }
}

/// Begins replication `number` of `plan` with fresh AQMs and their random `words`.
pub fn begin<'a, Q: Aqm + Send + 'a, O: Observer<Packet> + Send + 'a>(
    plan: &Plan,
    number: u32,
    start_aqm: impl Fn(u32) -> Q,
    words: Stream,
    observer: O,
) -> Box<dyn Progress<Q> + Send + 'a> {
    let scheduler = plan.scheduler.as_ref();
    let number = u64::from(number);
    let start = Start {
        plan,
        number,
        queue: Queue::new(plan.discipline, scheduler, start_aqm, plan.rate_bps()),
        words,
        observer,
    };
    let (seed, end) = (plan.seed, plan.slots);
    match &plan.arrivals {
        Arrivals::Geometric { rate } => start.draw(GeometricSlots::new(*rate, seed, number, end)),
        Arrivals::SelfSimilar(process) => {
            let random = stream(seed, "arrivals", number);
            start.draw(ModulatedSlots::new(*process, random))
        }
        Arrivals::Fgn {
            rate,
            deviation,
            hurst,
            frame,
        } => {
            let process = (*rate, *deviation, *hurst, *frame);
            start.draw(FgnSlots::new(process, seed, number, end))
        }
        Arrivals::Replay(recording) => start.serve(Replayed::new(recording.clone())),
    }
}

/// A replication whose source and server are still to be chosen.
struct Start<'p, Q, O> {
    plan: &'p Plan,
    number: u64,
    queue: Queue<Packet, Q>,
    words: Stream,
    observer: O,
}

impl<'a, Q: Aqm + Send + 'a, O: Observer<Packet> + Send + 'a> Start<'_, Q, O> {
    fn draw(self, slots: impl SlotSource + Send + 'a) -> Box<dyn Progress<Q> + Send + 'a> {
        let source = Uniform::new(slots, self.plan.packet_bytes);
        self.serve(source)
    }

    fn serve(self, source: impl Source + Send + 'a) -> Box<dyn Progress<Q> + Send + 'a> {
        let plan = self.plan;
        match plan.service {
            Service::Geometric { mu } => {
                let server = GeometricServer::new(mu, plan.seed, self.number, plan.slots);
                self.replica(source, server)
            }
            Service::Deterministic { slots } => self.replica(source, DeterministicServer(slots)),
            Service::PacketSize { bytes_per_slot } => {
                self.replica(source, PacketSizeServer::new(bytes_per_slot))
            }
        }
    }

    fn replica<A: Source + Send + 'a, S: Server + Send + 'a>(
        self,
        source: A,
        server: S,
    ) -> Box<dyn Progress<Q> + Send + 'a> {
        let stretch = stretch(self.plan.slot_ns, self.queue.tick_interval_ns());
        let ends = (source, server);
        Box::new(Replica {
            station: Station::new(
                ends,
                self.queue,
                self.plan.slot_ns,
                self.words,
                self.observer,
            ),
            batches: Batches::of(self.plan),
            finished: Vec::new(),
            tally: Tally::new(),
            now: 0,
            stretch,
        })
    }
}

/// Returns the most slots between two checks for cancellation.
fn stretch(slot_ns: u64, tick_interval_ns: Option<u64>) -> u64 {
    let ticks_per_slot = tick_interval_ns.map_or(0, |ns| slot_ns / ns);
    (STRETCH / ticks_per_slot.max(1)).max(1)
}
