//! A run: replications on all cores, their warm-up left out, their batches kept apart.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use sluice_aqm::{Aqm, Discipline};
use sluice_random::stream;
use sluice_traffic::ModulatedSlots;

use crate::{
    arrivals::{Arrivals, FgnSlots, GeometricSlots, Replayed, Source, Uniform},
    service::{DeterministicServer, GeometricServer, PacketSizeServer, Server, Service},
    station::{Setting, Station},
    tally::Tally,
    warm_up::warm_up,
};

/// Everything that determines a run but the AQM.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Law of the arrivals.
    pub arrivals: Arrivals,
    /// Size of every packet that the law of arrivals draws, bytes.
    pub packet_bytes: u32,
    /// Law of the service.
    pub service: Service,
    /// Limit, victim and marking.
    pub discipline: Discipline,
    /// Slots of one replication.
    pub slots: u64,
    /// Independent replications.
    pub replications: u32,
    /// Of every random stream.
    pub seed: u64,
    /// What the AQM's clock takes a slot for, ns.
    pub slot_ns: u64,
}

/// Watched and set from outside while a run goes on.
#[derive(Debug, Default)]
pub struct Control {
    done: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// Slots simulated so far, of all replications together.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Ends the run at the next batch; what is finished is kept.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether `cancel` was called: what is simulated from then on is thrown away.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// A stretch of one replication, after its warm-up: the unit of all statistics.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Which replication it belongs to.
    pub replication: u32,
    /// What it counted.
    pub tally: Tally,
}

/// What a run gives.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// In the order of replications and time.
    pub units: Vec<Unit>,
    /// Slots left out as warm-up at the start of each replication.
    pub warm_up_slots: u64,
    /// Slots simulated, warm-up included.
    pub slots: u64,
    /// Whether it was cancelled before its end.
    pub interrupted: bool,
}

/// Batches in which a replication runs: the grain of warm-up detection. Fewer where there are
/// many replications, so that memory does not grow with both.
fn batches_of(plan: &Plan) -> u64 {
    (1024 / u64::from(plan.replications)).clamp(8, 64)
}

/// Slots, or ticks of an AQM where a slot has several, after which a run looks whether it was
/// cancelled.
const STRETCH: u64 = 1 << 20;
/// Units that a run gives at least, so that intervals have enough degrees of freedom.
const UNITS: u32 = 32;

/// Runs `plan` with one AQM per replication from `start_aqm`, on `threads` threads (all cores
/// if `None`). The result does not depend on the number of threads.
pub fn simulate<Q, F>(
    plan: &Plan,
    start_aqm: F,
    threads: Option<usize>,
    control: &Control,
) -> Outcome
where
    Q: Aqm,
    F: Fn() -> Q + Sync,
{
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .expect("threads to run on");
    let replicate = |number: u32| replicate(plan, start_aqm(), number, control);
    let finished: Vec<Replication> = pool.install(|| {
        (0..plan.replications)
            .into_par_iter()
            .map(replicate)
            .collect()
    });
    let left_out = match plan.arrivals {
        // a capture is what it is, and every packet of it counts
        Arrivals::Replay(_) => 0,
        _ => warm_up(&common_means(&finished)),
    };
    let mut outcome = Outcome {
        interrupted: control.is_cancelled(),
        warm_up_slots: batch_end(plan, left_out as u64),
        ..Outcome::default()
    };
    for (number, batches) in (0..).zip(&finished) {
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

/// The batches that a replication finished, in time.
type Replication = Vec<Tally>;

/// The mean queue of each batch, over the replications, as far as all that started have come.
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

fn replicate<Q: Aqm>(plan: &Plan, aqm: Q, number: u32, control: &Control) -> Replication {
    let (seed, replication) = (plan.seed, u64::from(number));
    match &plan.arrivals {
        Arrivals::Geometric { rate } => {
            let slots = GeometricSlots::new(*rate, seed, replication, plan.slots);
            serve(
                plan,
                Uniform::new(slots, plan.packet_bytes),
                aqm,
                number,
                control,
            )
        }
        Arrivals::SelfSimilar(law) => {
            let slots = ModulatedSlots::new(*law, stream(seed, "arrivals", replication));
            serve(
                plan,
                Uniform::new(slots, plan.packet_bytes),
                aqm,
                number,
                control,
            )
        }
        Arrivals::Fgn {
            rate,
            deviation,
            hurst,
            frame,
        } => {
            let law = (*rate, *deviation, *hurst, *frame);
            let slots = FgnSlots::new(law, seed, replication, plan.slots);
            serve(
                plan,
                Uniform::new(slots, plan.packet_bytes),
                aqm,
                number,
                control,
            )
        }
        Arrivals::Replay(recording) => {
            let source = Replayed::new(recording.clone());
            serve(plan, source, aqm, number, control)
        }
    }
}

fn serve<A: Source, Q: Aqm>(
    plan: &Plan,
    source: A,
    aqm: Q,
    number: u32,
    control: &Control,
) -> Replication {
    match &plan.service {
        Service::Geometric { mu } => {
            let server = GeometricServer::new(*mu, plan.seed, u64::from(number), plan.slots);
            batches(plan, source, server, aqm, number, control)
        }
        Service::Deterministic { slots } => batches(
            plan,
            source,
            DeterministicServer(*slots),
            aqm,
            number,
            control,
        ),
        Service::PacketSize { bytes_per_slot } => batches(
            plan,
            source,
            PacketSizeServer(*bytes_per_slot),
            aqm,
            number,
            control,
        ),
    }
}

fn batches<A: Source, S: Server, Q: Aqm>(
    plan: &Plan,
    source: A,
    server: S,
    aqm: Q,
    number: u32,
    control: &Control,
) -> Replication {
    let setting = Setting {
        discipline: plan.discipline,
        slot_ns: plan.slot_ns,
        rate_bps: rate_bps(plan),
    };
    let random = stream(plan.seed, "aqm", u64::from(number));
    let ticks_per_slot = aqm.tick_interval_ns().map_or(0, |ns| plan.slot_ns / ns);
    let stretch = (STRETCH / ticks_per_slot.max(1)).max(1);
    let mut station = Station::new(setting, source, server, aqm, random);
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

/// Runs the batch of these slots; none of it counts if the run is cancelled meanwhile.
fn run_batch<A: Source, S: Server, Q: Aqm>(
    station: &mut Station<A, S, Q>,
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

/// The slot before which the first `batches` batches of a replication lie.
fn batch_end(plan: &Plan, batches: u64) -> u64 {
    (u128::from(plan.slots) * u128::from(batches) / u128::from(batches_of(plan))) as u64
}

/// The link's rate as an AQM sees it: packets per slot turned into bits per second.
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
