//! The counts of a class of flows, for Python.

use pyo3::prelude::*;
use sluice_network as network;

use crate::counts::{Tally, Times};

/// The counts of one class in one period of a replication.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ClassCounts {
    /// Its packets at each port.
    ports: Vec<Py<Tally>>,
    acknowledged: u64,
    acknowledged_bytes: u64,
    retransmissions: u64,
    timeouts: u64,
    datagrams_expected: u64,
    datagrams_received: u64,
    reordered: u64,
    /// Runs of missing datagrams; times between two of a flow, summed, ns, and their number.
    loss_runs: u64,
    loss_gaps_ns: u64,
    loss_gaps: u64,
    datagram_bytes: u64,
    /// One-way delays, ns.
    one_way_delay: Py<Times>,
    /// None if nothing arrived.
    least_one_way_delay: Option<u64>,
    jitter_sum: f64,
    jitter_count: u64,
    /// Round trips of TCP, ns.
    round_trip: Py<Times>,
    /// Those that TCP holds, of each flow once a second, ns.
    smoothed_sum: u64,
    smoothed_count: u64,
    /// By size.
    completions: Vec<Py<Completions>>,
    /// Of pages of the web, ns.
    pages: Py<Times>,
    /// Of frames of calls, ns.
    frames: Py<Times>,
    /// Times that videos and calls were seen and stood still, ns, and how often they came to stand still.
    played: u64,
    stalled: u64,
    stalls: u64,
    /// Segments of videos, the sum of their rates and of those of frames, bits/s, and changes of
    /// the rate.
    segments: u64,
    rates_bps: f64,
    switches: u64,
}

impl ClassCounts {
    pub fn new(py: Python<'_>, period: &network::Period, class: usize) -> PyResult<Py<Self>> {
        let network::ClassCounts {
            counts,
            acknowledged_bytes,
            reception,
            completions,
            felt,
        } = &period.classes[class];
        let ports = period.ports.iter().filter_map(|port| port.of_class(class));
        let completions = completions.iter().map(|size| Completions::new(py, size));
        let counts = Self {
            ports: ports
                .map(|tally| Tally::of_port(py, &tally))
                .collect::<PyResult<_>>()?,
            acknowledged: counts.acknowledged,
            acknowledged_bytes: *acknowledged_bytes,
            retransmissions: counts.retransmissions,
            timeouts: counts.timeouts,
            datagrams_expected: reception.datagrams_expected,
            datagrams_received: reception.datagrams,
            reordered: reception.reordered,
            loss_runs: reception.loss_runs,
            loss_gaps_ns: reception.loss_gaps_ns,
            loss_gaps: reception.loss_gaps,
            datagram_bytes: reception.datagram_bytes,
            one_way_delay: Times::new(py, &reception.delay)?,
            least_one_way_delay: reception.least_delay_ns,
            jitter_sum: reception.jitter_sum_ns,
            jitter_count: reception.jitter_count,
            round_trip: Times::new(py, &reception.round_trip)?,
            smoothed_sum: reception.smoothed_sum_ns,
            smoothed_count: reception.smoothed_count,
            completions: completions.collect::<PyResult<_>>()?,
            pages: Times::new(py, &felt.pages)?,
            frames: Times::new(py, &felt.frames)?,
            played: felt.played_ns,
            stalled: felt.stalled_ns,
            stalls: felt.stalls,
            segments: felt.segments,
            rates_bps: felt.rates_bps,
            switches: felt.switches,
        };
        Py::new(py, counts)
    }
}

/// The flows and objects of one class and one range of sizes.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct Completions {
    /// Of those that ended, ns.
    times: Py<Times>,
    /// In thousandths.
    slowdowns: Py<Times>,
    bytes: u64,
    unfinished: u64,
    unfinished_bytes: u64,
}

impl Completions {
    fn new(py: Python<'_>, size: &network::Completions) -> PyResult<Py<Self>> {
        let completions = Self {
            times: Times::new(py, &size.times)?,
            slowdowns: Times::new(py, &size.slowdowns)?,
            bytes: size.bytes,
            unfinished: size.unfinished,
            unfinished_bytes: size.unfinished_bytes,
        };
        Py::new(py, completions)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ClassCounts>()?;
    module.add_class::<Completions>()?;
    module.add("SIZES", network::SIZES)
}
