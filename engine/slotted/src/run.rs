//! A run: replications on all cores, without their warm-up, split into units for the statistics.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use rayon::prelude::*;
use sluice_aqm::{Aqm, AqmSource, Configured, Discipline};
use sluice_queue::{DecisionLog, Observer, Queue};
use sluice_random::{Stream, stream};
use sluice_traffic::ModulatedSlots;

use crate::{
    arrivals::{Arrivals, FgnSlots, GeometricSlots, Replayed, SlotSource, Source, Uniform},
    packet::Packet,
    service::{DeterministicServer, GeometricServer, PacketSizeServer, Server, Service},
    station::Station,
    tally::Tally,
    warm_up::warm_up,
};

/// Everything that determines a run, except the AQM.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The arrival process.
    pub arrivals: Arrivals,
    /// Size of every packet, bytes; the packets of a capture have their own sizes.
    pub packet_bytes: u32,
    /// Distribution of the service time.
    pub service: Service,
    /// Limits, victim and marking.
    pub discipline: Discipline,
    /// How packets are spread over several queues.
    pub scheduler: Option<Configured>,
    /// Slots of one replication.
    pub slots: u64,
    /// Number of independent replications.
    pub replications: u32,
    /// Seed of every random stream.
    pub seed: u64,
    /// Duration of a slot on the AQM's clock, ns.
    pub slot_ns: u64,
}

impl Plan {
    /// Returns the random words for the AQM and the choice of victims in a replication.
    pub fn aqm_words(&self, replication: u32) -> Stream {
        stream(self.seed, "aqm", u64::from(replication))
    }
}

/// Progress of a run, and a way to cancel it, for other threads.
#[derive(Debug, Default)]
pub struct Control {
    done: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// Returns the slots simulated so far, summed over all replications.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends the run soon. Finished batches are kept, unfinished ones are discarded.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// True if `cancel` was called: what is simulated from then on is discarded.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// Successive batches of one replication, after its warm-up: one sample for all statistics.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Number of the replication, from 0.
    pub replication: u32,
    /// What it counted.
    pub tally: Tally,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The units, in the order of replications and, within each, of time.
    pub units: Vec<Unit>,
    /// Slots left out as warm-up at the start of each replication.
    pub warm_up_slots: u64,
    /// Slots simulated, warm-up included.
    pub slots: u64,
    /// True if the run was cancelled before its end.
    pub interrupted: bool,
}

/// Returns the number of batches of a replication, which is the resolution of warm-up detection.
/// It falls with the number of replications, to limit the memory.
fn batches_of(plan: &Plan) -> u64 {
    (1024 / u64::from(plan.replications)).clamp(8, 64)
}

/// Slots, or ticks of an AQM if a slot has several, between two checks for cancellation.
const STRETCH: u64 = 1 << 20;
/// Minimum number of units of a run, so that intervals have enough degrees of freedom.
const UNITS: u32 = 32;

/// Runs `plan` with fresh AQMs from `aqm`, on `threads` threads (all cores if `None`). The result
/// does not depend on the number of threads.
pub fn simulate(
    plan: &Plan,
    aqm: &AqmSource,
    threads: Option<usize>,
    control: &Control,
) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .expect("threads to run on");
    let replicate = |number: u32| {
        let words = plan.aqm_words(number);
        match aqm {
            AqmSource::Configured(header) => {
                Start::new(plan, number, || header.start(), words, ()).run(control)
            }
            AqmSource::Foreign(_) => run_any(plan, number, aqm, words, None, control),
        }
    };
    let finished: Vec<Replication> = pool.install(|| {
        (0..plan.replications)
            .into_par_iter()
            .map(replicate)
            .collect()
    });
    outcome(plan, &finished, control)
}

/// Runs the first replication of `plan` and logs the decisions; the log does not change the
/// result. `words` gives the AQM's random words: [`Plan::aqm_words`], or those of another world
/// whose decisions are to be repeated.
pub fn simulate_logged(
    plan: &Plan,
    aqm: &AqmSource,
    words: Stream,
    control: &Control,
    log: &mut Log<'_>,
) -> Outcome {
    let replication = run_any(plan, 0, aqm, words, Some(log), control);
    outcome(plan, &[replication], control)
}

/// A decision log to any writer.
type Log<'a> = DecisionLog<&'a mut (dyn Write + Send)>;

/// Runs one replication with any AQM, logged or not. It is compiled once for all AQMs, so it is
/// slower than a run that is compiled for one.
fn run_any(
    plan: &Plan,
    number: u32,
    aqm: &AqmSource,
    words: Stream,
    log: Option<&mut Log<'_>>,
    control: &Control,
) -> Replication {
    Start::new(plan, number, || aqm.start(), words, log).run(control)
}

/// Returns the result of the replications without the warm-up, which is the same for all.
fn outcome(plan: &Plan, finished: &[Replication], control: &Control) -> Outcome {
    let left_out = match plan.arrivals {
        // no warm-up in a capture: all its packets count
        Arrivals::Replay(_) => 0,
        _ => warm_up(&common_means(finished)),
    };
    let mut outcome = Outcome {
        interrupted: control.is_cancelled(),
        warm_up_slots: batch_end(plan, left_out as u64),
        ..Outcome::default()
    };
    for (number, batches) in (0..).zip(finished) {
        let kept = batches.get(left_out..).unwrap_or_default();
        let units = group(kept, UNITS.div_ceil(plan.replications) as usize);
        outcome.units.extend(units.into_iter().map(|tally| Unit {
            replication: number,
            tally,
        }));
        outcome.slots += batches.iter().map(|tally| tally.slots).sum::<u64>();
    }
    outcome
}

/// The batches that a replication finished, in the order of time.
type Replication = Vec<Tally>;

/// Returns the mean queue of each batch, in packets, over the replications that finished a batch.
/// Only batches that all of these finished are included.
fn common_means(finished: &[Replication]) -> Vec<f64> {
    let started = || finished.iter().filter(|batches| !batches.is_empty());
    let common = started().map(Vec::len).min().unwrap_or(0);
    let mean = |batch: usize| {
        started()
            .map(|batches| batches[batch].queue_mean())
            .sum::<f64>()
            / started().count() as f64
    };
    (0..common).map(mean).collect()
}

/// A replication before its start.
struct Start<'a, Q, O> {
    plan: &'a Plan,
    number: u64,
    queue: Queue<Packet, Q>,
    words: Stream,
    observer: O,
}

impl<'a, Q: Aqm, O: Observer<Packet>> Start<'a, Q, O> {
    fn new(
        plan: &'a Plan,
        number: u32,
        start_aqm: impl Fn() -> Q,
        words: Stream,
        observer: O,
    ) -> Self {
        Self {
            plan,
            number: u64::from(number),
            queue: Queue::new(
                plan.discipline,
                plan.scheduler.as_ref(),
                start_aqm,
                rate_bps(plan),
            ),
            words,
            observer,
        }
    }

    fn run(self, control: &Control) -> Replication {
        let (seed, end) = (self.plan.seed, self.plan.slots);
        match &self.plan.arrivals {
            Arrivals::Geometric { rate } => {
                let slots = GeometricSlots::new(*rate, seed, self.number, end);
                self.draw(slots, control)
            }
            Arrivals::SelfSimilar(process) => {
                let slots = ModulatedSlots::new(*process, stream(seed, "arrivals", self.number));
                self.draw(slots, control)
            }
            Arrivals::Fgn {
                rate,
                deviation,
                hurst,
                frame,
            } => {
                let process = (*rate, *deviation, *hurst, *frame);
                let slots = FgnSlots::new(process, seed, self.number, end);
                self.draw(slots, control)
            }
            Arrivals::Replay(recording) => {
                let source = Replayed::new(recording.clone());
                self.serve(source, control)
            }
        }
    }

    fn draw(self, slots: impl SlotSource, control: &Control) -> Replication {
        let source = Uniform::new(slots, self.plan.packet_bytes);
        self.serve(source, control)
    }

    fn serve(self, source: impl Source, control: &Control) -> Replication {
        let plan = self.plan;
        match plan.service {
            Service::Geometric { mu } => {
                let server = GeometricServer::new(mu, plan.seed, self.number, plan.slots);
                self.batches(source, server, control)
            }
            Service::Deterministic { slots } => {
                self.batches(source, DeterministicServer(slots), control)
            }
            Service::PacketSize { bytes_per_slot } => {
                self.batches(source, PacketSizeServer::new(bytes_per_slot), control)
            }
        }
    }

    fn batches<A: Source, S: Server>(self, source: A, server: S, control: &Control) -> Replication {
        let Self {
            plan,
            queue,
            words,
            observer,
            ..
        } = self;
        let ticks_per_slot = queue.tick_interval_ns().map_or(0, |ns| plan.slot_ns / ns);
        let stretch = (STRETCH / ticks_per_slot.max(1)).max(1);
        let mut station = Station::new((source, server), queue, plan.slot_ns, words, observer);
        let mut finished = Vec::new();
        for batch in 0..batches_of(plan) {
            let span = (batch_end(plan, batch), batch_end(plan, batch + 1));
            match run_batch(&mut station, span, stretch, control) {
                Some(tally) => finished.push(tally),
                None => break,
            }
        }
        finished
    }
}

/// Runs the batch of these slots. Returns `None` if the run is cancelled meanwhile.
fn run_batch<A: Source, S: Server, Q: Aqm, O: Observer<Packet>>(
    station: &mut Station<A, S, Q, O>,
    (mut from, end): (u64, u64),
    stretch: u64,
    control: &Control,
) -> Option<Tally> {
    let mut tally = Tally::new();
    while from < end {
        if control.is_cancelled() {
            return None;
        }
        let next = end.min(from + stretch);
        tally.merge(&station.run_until(next));
        control.done.fetch_add(next - from, Ordering::Relaxed);
        from = next;
    }
    (!control.is_cancelled()).then_some(tally)
}

/// Returns the slot at which the first `batches` batches of a replication have ended.
fn batch_end(plan: &Plan, batches: u64) -> u64 {
    (u128::from(plan.slots) * u128::from(batches) / u128::from(batches_of(plan))) as u64
}

/// Returns the link's rate as an AQM sees it, in bits per second.
fn rate_bps(plan: &Plan) -> u64 {
    let bytes_per_slot =
        plan.service.rate(f64::from(plan.packet_bytes)) * f64::from(plan.packet_bytes);
    (bytes_per_slot * 8e9 / plan.slot_ns as f64).round() as u64
}

/// Merges batches into at most `count` units of nearly equal length.
fn group(batches: &[Tally], count: usize) -> Vec<Tally> {
    let count = count.min(batches.len());
    let merge = |unit: usize| {
        let mut merged = Tally::new();
        let part = unit * batches.len() / count..(unit + 1) * batches.len() / count;
        batches[part].iter().for_each(|tally| merged.merge(tally));
        merged
    };
    (0..count).map(merge).collect()
}
