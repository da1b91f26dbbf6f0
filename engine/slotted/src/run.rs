//! A run: replications on all cores, their warm-up left out, their batches kept apart.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;
use sluice_aqm::{Aqm, Discipline};

use crate::{
    arrivals::{Arrivals, FgnSlots, GeometricSlots, ModulatedSlots, Replayed, Source, Uniform},
    random::stream,
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

    fn is_cancelled(&self) -> bool {
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
    /// Slots left out as warm-up, by replication.
    pub warm_up_slots: Vec<u64>,
    /// Slots simulated, warm-up included.
    pub slots: u64,
    /// Whether it was cancelled before its end.
    pub interrupted: bool,
}

/// Batches in which a replication runs: the grain of warm-up detection and of cancelling.
const BATCHES: u64 = 64;
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
    let mut outcome = Outcome {
        interrupted: control.is_cancelled(),
        ..Outcome::default()
    };
    for (number, replication) in (0..).zip(finished) {
        let units = replication.tallies.into_iter().map(|tally| Unit {
            replication: number,
            tally,
        });
        outcome.units.extend(units);
        outcome.warm_up_slots.push(replication.warm_up_slots);
        outcome.slots += replication.slots;
    }
    outcome
}

struct Replication {
    tallies: Vec<Tally>,
    warm_up_slots: u64,
    slots: u64,
}

fn replicate<Q: Aqm>(plan: &Plan, aqm: Q, number: u32, control: &Control) -> Replication {
    let (seed, replication) = (plan.seed, u64::from(number));
    match &plan.arrivals {
        Arrivals::Geometric { rate } => {
            let slots = GeometricSlots::new(*rate, seed, replication);
            serve(
                plan,
                Uniform::new(slots, plan.packet_bytes),
                aqm,
                number,
                control,
            )
        }
        Arrivals::SelfSimilar { a, q, states } => {
            let slots = ModulatedSlots::new(*a, *q, *states, seed, replication);
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
            let slots = FgnSlots::new((*rate, *deviation, *hurst, *frame), seed, replication);
            serve(
                plan,
                Uniform::new(slots, plan.packet_bytes),
                aqm,
                number,
                control,
            )
        }
        Arrivals::Replay(trace) => serve(plan, Replayed::new(trace.clone()), aqm, number, control),
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
            let server = GeometricServer::new(*mu, plan.seed, u64::from(number));
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
    let mut station = Station::new(setting, source, server, aqm, random);
    let mut finished = Vec::new();
    let (mut from, mut means) = (0, Vec::new());
    for batch in 1..=BATCHES {
        if control.is_cancelled() {
            break;
        }
        let end = (u128::from(plan.slots) * u128::from(batch) / u128::from(BATCHES)) as u64;
        let tally = station.run_until(end);
        control.done.fetch_add(end - from, Ordering::Relaxed);
        from = end;
        means.push(tally.queue_mean());
        finished.push(tally);
    }
    let left_out = warm_up(&means);
    Replication {
        warm_up_slots: finished[..left_out].iter().map(|tally| tally.slots).sum(),
        tallies: group(
            &finished[left_out..],
            UNITS.div_ceil(plan.replications) as usize,
        ),
        slots: from,
    }
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
