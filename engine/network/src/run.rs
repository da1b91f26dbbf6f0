//! A run: independent replications on all cores.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use rayon::prelude::*;
use sluice_tcp::Sender;
use sluice_wire::WireTally;

use crate::{
    completions::BySize,
    error::NetworkError,
    plan::Plan,
    reception::Reception,
    series::{FlowSeries, PortSeries},
    sources::Felt,
    tally::Tally,
    trace::Trace,
    world::replicate,
};

/// Progress of a run, and a way to cancel it, for other threads.
#[derive(Debug, Default)]
pub struct Monitor {
    done_ns: AtomicU64,
    cancelled: AtomicBool,
}

impl Monitor {
    /// Returns the time simulated so far, summed over all replications.
    pub fn done_ns(&self) -> u64 {
        self.done_ns.load(Ordering::Relaxed)
    }

    /// Ends the run soon. Finished replications are kept.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// True if `cancel` was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, ns: u64) {
        self.done_ns.fetch_add(ns, Ordering::Relaxed);
    }
}

/// Counts of the endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets acknowledged in sequence, each counted once: the goodput.
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
    /// Adds the counts of a TCP flow.
    pub(crate) fn add_tcp(&mut self, acknowledged: u32, sender: &Sender) {
        self.acknowledged += u64::from(acknowledged);
        self.retransmissions += u64::from(sender.retransmissions());
        self.timeouts += u64::from(sender.timeouts());
    }

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

/// Counts of one period of a replication: the warm-up, or the rest, which is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Period {
    /// Counts of each port, in the order of the links that have one.
    pub ports: Vec<Tally>,
    /// Counts of each wire, in the order of the links that have one.
    pub wires: Vec<WireTally>,
    /// Counts of all flows together.
    pub counts: Counts,
    /// Counts of each class of flows; empty if flows are not counted by class.
    pub classes: Vec<ClassCounts>,
}

/// Counts of the endpoints of one class in one period.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassCounts {
    /// As for all flows together.
    pub counts: Counts,
    /// Bytes on the wire of the data packets that were acknowledged.
    pub acknowledged_bytes: u64,
    /// What arrived.
    pub reception: Reception,
    /// How long flows and objects took, by size.
    pub completions: BySize,
    /// What people felt of the applications.
    pub felt: Felt,
}

/// The outcome of a TCP flow.
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
    /// Time from its start until all that it sent was acknowledged; `None` if it did not finish.
    pub completion_ns: Option<u64>,
}

/// The outcome of a datagram flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramOutcome {
    /// Index of its group.
    pub group: u32,
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// When it sent its first datagram; `None` if it sent none.
    pub start_ns: Option<u64>,
}

/// The result of one replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Replication {
    /// The warm-up, if there is one, and the rest.
    pub periods: Vec<Period>,
    /// Outcomes of the TCP flows, in the order of their groups.
    pub tcp: Vec<TcpOutcome>,
    /// Outcomes of the datagram flows, in the order of their groups.
    pub datagrams: Vec<DatagramOutcome>,
    /// Series of each port, with samples every `sample_ns` from 0 on.
    pub ports: Vec<PortSeries>,
    /// Series of all TCP flows together, at the same times.
    pub flows: FlowSeries,
}

/// Runs all replications of `plan` on `threads` threads (all cores if `None`); the result does
/// not depend on their number. Returns the replications that were finished, in order.
///
/// # Errors
/// If the plan is refused, if too many flows arrive or packets are in transit, if an AQM returns an
/// invalid verdict, or if no threads can be started.
pub fn simulate(
    plan: &Plan,
    threads: Option<usize>,
    monitor: &Monitor,
) -> Result<Vec<Replication>, NetworkError> {
    let (routes, clock) = plan.check()?;
    let plan = &Arc::new(plan.clone());
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|error| NetworkError(format!("no threads to run on: {error}")))?;
    let finished: Vec<_> = pool.install(|| {
        (0..plan.replications)
            .into_par_iter()
            .map(|number| replicate(plan, (routes.clone(), clock), number, monitor, ()))
            .collect::<Result<_, NetworkError>>()
    })?;
    plan.topology.check_answers()?;
    Ok(finished.into_iter().flatten().collect())
}

/// Runs the first replication of `plan` with a trace, which does not change the result. Returns
/// `None` if it was cancelled.
///
/// # Errors
/// As `simulate`. If the plan is refused, `trace` gets nothing.
pub fn simulate_traced(
    plan: &Plan,
    monitor: &Monitor,
    trace: &mut impl Trace,
) -> Result<Option<Replication>, NetworkError> {
    let checked = plan.check()?;
    let plan = &Arc::new(plan.clone());
    let finished = replicate(plan, checked, 0, monitor, trace)?;
    plan.topology.check_answers()?;
    Ok(finished)
}
