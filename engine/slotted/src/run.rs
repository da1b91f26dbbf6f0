//! A run: replications on all cores, without their warm-up, split into units for the statistics.

use std::{
    io::Write,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use rayon::prelude::*;
use sluice_aqm::{AqmSource, BufferPolicy, Configured};
use sluice_queue::DecisionLog;
use sluice_random::{Stream, stream};

use crate::{
    arrivals::Arrivals,
    replica::{Batches, Progress, Replication, begin},
    service::Service,
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
    pub discipline: BufferPolicy,
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

    /// Returns the link's rate as an AQM sees it, bits/s.
    pub(crate) fn rate_bps(&self) -> u64 {
        let bytes = f64::from(self.packet_bytes);
        let bytes_per_slot = self.service.rate(bytes) * bytes;
        (bytes_per_slot * 8e9 / self.slot_ns as f64).round() as u64
    }
}

/// Progress of a run, and a way to cancel it, for other threads.
#[derive(Debug, Default)]
pub struct Monitor {
    pub(crate) done: AtomicU64,
    cancelled: AtomicBool,
}

impl Monitor {
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

/// Minimum number of units of a run, so that intervals have enough degrees of freedom.
const UNITS: u32 = 32;

/// Runs `plan` with fresh AQMs from `aqm`, on `threads` threads (all cores if `None`). The result
/// does not depend on the number of threads.
pub fn simulate(
    plan: &Plan,
    aqm: &AqmSource,
    threads: Option<usize>,
    monitor: &Monitor,
) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .expect("threads to run on");
    let replicate = |number: u32| {
        let words = plan.aqm_words(number);
        match aqm {
            AqmSource::Configured(header) => whole(
                begin(plan, number, |_| header.start(), words, ()),
                plan,
                monitor,
            ),
            AqmSource::Classes(_) | AqmSource::Foreign(_) => {
                run_any(plan, number, aqm, words, None, monitor)
            }
        }
    };
    let finished: Vec<Replication> = pool.install(|| {
        (0..plan.replications)
            .into_par_iter()
            .map(replicate)
            .collect()
    });
    outcome(plan, &finished, monitor)
}

/// Runs the first replication of `plan` and logs the decisions; the log does not change the
/// result. `words` gives the AQM's random words: [`Plan::aqm_words`], or those of another world
/// whose decisions are to be repeated.
pub fn simulate_logged(
    plan: &Plan,
    aqm: &AqmSource,
    words: Stream,
    monitor: &Monitor,
    log: &mut Log<'_>,
) -> Outcome {
    let replication = run_any(plan, 0, aqm, words, Some(log), monitor);
    outcome(plan, &[replication], monitor)
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
    monitor: &Monitor,
) -> Replication {
    whole(
        begin(plan, number, |lane| aqm.start(lane), words, log),
        plan,
        monitor,
    )
}

/// Runs a replication to its end.
fn whole<Q>(
    mut replica: Box<dyn Progress<Q> + Send + '_>,
    plan: &Plan,
    monitor: &Monitor,
) -> Replication {
    replica.advance(plan.slots, monitor);
    replica.finished()
}

/// Returns the result of the replications without the warm-up, which is the same for all.
pub(crate) fn outcome(plan: &Plan, finished: &[Replication], monitor: &Monitor) -> Outcome {
    let left_out = match plan.arrivals {
        // no warm-up in a capture: all its packets count
        Arrivals::Replay(_) => 0,
        _ => warm_up(&common_means(finished)),
    };
    let mut outcome = Outcome {
        interrupted: monitor.is_cancelled(),
        warm_up_slots: Batches::of(plan).end(left_out as u64),
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
