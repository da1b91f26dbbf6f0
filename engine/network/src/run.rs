//! A run: independent replications on all cores.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use crate::{
    error::NetworkError,
    plan::Plan,
    series::{FlowSeries, PortSeries},
    tally::Tally,
    trace::Trace,
    world::World,
};

/// Watched and set from outside while a run goes on.
#[derive(Debug, Default)]
pub struct Control {
    done_ns: AtomicU64,
    cancelled: AtomicBool,
}

impl Control {
    /// Time simulated so far, of all replications together.
    pub fn done_ns(&self) -> u64 {
        self.done_ns.load(Ordering::Relaxed)
    }

    /// Ends the run; replications that are finished by then are kept.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether `cancel` was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, ns: u64) {
        self.done_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// What the endpoints counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets acknowledged in sequence, each once: the goodput.
    pub acknowledged: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Datagrams that arrived.
    pub datagrams_received: u64,
}

impl Counts {
    pub(crate) fn without(&self, earlier: &Self) -> Self {
        Self {
            acknowledged: self.acknowledged - earlier.acknowledged,
            retransmissions: self.retransmissions - earlier.retransmissions,
            timeouts: self.timeouts - earlier.timeouts,
            datagrams_sent: self.datagrams_sent - earlier.datagrams_sent,
            datagrams_received: self.datagrams_received - earlier.datagrams_received,
        }
    }
}

/// What was counted in one period of a replication: its warm-up, or what is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// By port, in the order of the links that have one.
    pub ports: Vec<Tally>,
    /// All flows together.
    pub counts: Counts,
}

/// What became of a TCP flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOutcome {
    /// Index of its group.
    pub group: u32,
    /// Data packets acknowledged in sequence.
    pub acknowledged: u32,
    /// Packets sent again.
    pub retransmissions: u32,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// When it started.
    pub start_ns: u64,
    /// From there until all that it ever sent was acknowledged; `None` if it did not finish.
    pub completion_ns: Option<u64>,
}

/// What became of a datagram flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramOutcome {
    /// Index of its group.
    pub group: u32,
    /// Datagrams received.
    pub received: u64,
    /// When it sent, or would have sent, its first; `None` if it had none to send.
    pub start_ns: Option<u64>,
}

/// What one replication gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Replication {
    /// The warm-up, if there was one, and the rest.
    pub periods: Vec<Period>,
    /// Each TCP flow, in the order of their groups.
    pub tcp: Vec<TcpOutcome>,
    /// Each datagram flow, in the order of their groups.
    pub datagrams: Vec<DatagramOutcome>,
    /// Each port, every `sample_ns` from 0 on.
    pub ports: Vec<PortSeries>,
    /// All TCP flows together at the same times.
    pub flows: FlowSeries,
}

/// Runs all replications of `plan` on `threads` threads (all cores if `None`); the result does
/// not depend on their number. Gives those that were finished, in order.
///
/// # Errors
/// If the plan makes no sense, if more packets are on their way than memory should hold, if an AQM
/// answers what is no verdict, or if the system gives no threads.
pub fn simulate(
    plan: &Plan,
    threads: Option<usize>,
    control: &Control,
) -> Result<Vec<Replication>, NetworkError> {
    let (routes, clock) = plan.check()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|error| NetworkError(format!("no threads to run on: {error}")))?;
    let finished: Vec<_> = pool.install(|| {
        (0..plan.replications)
            .into_par_iter()
            .map(|number| World::new(plan, (routes.clone(), clock), number, control, ())?.run())
            .collect::<Result<_, NetworkError>>()
    })?;
    plan.topology.check_answers()?;
    Ok(finished.into_iter().flatten().collect())
}

/// Runs the first replication of `plan` and shows it to `trace`; what it gives is the same as
/// without. `None` if it was cancelled.
///
/// # Errors
/// If the plan makes no sense (then nothing was shown), or as `simulate`.
pub fn simulate_traced(
    plan: &Plan,
    control: &Control,
    trace: &mut impl Trace,
) -> Result<Option<Replication>, NetworkError> {
    let checked = plan.check()?;
    let finished = World::new(plan, checked, 0, control, trace)?.run()?;
    plan.topology.check_answers()?;
    Ok(finished)
}
