//! `read_trace`: results for the flows and links of an ns-2 trace.
//!
//! It returns no arrays, because they would load NumPy, which takes longer than reading a million
//! lines.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sluice_trace::{Flow, Link, Summary};

use crate::interruptible::abandonable;

/// Results for a trace; each `course` has a sum for each bin of `bin_s`, as the bytes of doubles.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct TraceSummary {
    lines: u64,
    cut_off: bool,
    start_s: f64,
    end_s: f64,
    bin_s: f64,
    flows: Vec<Py<TraceFlow>>,
    links: Vec<Py<TraceLink>>,
}

/// One flow of a trace; a ratio is `None` if its divisor is 0.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct TraceFlow {
    kind: String,
    id: u32,
    source: String,
    destination: String,
    sent: u64,
    received: u64,
    lost: u64,
    loss_ratio: Option<f64>,
    throughput_bps: Option<f64>,
    delay_mean_s: Option<f64>,
    delay_min_s: Option<f64>,
    delay_max_s: Option<f64>,
    jitter_s: Option<f64>,
    /// Bytes that arrived at the destination.
    course: Py<PyBytes>,
}

/// One direction of a link in a trace; a ratio is `None` if its divisor is 0.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct TraceLink {
    source: u32,
    sink: u32,
    arrivals: u64,
    departures: u64,
    drops: u64,
    corrupted: u64,
    loss_ratio: Option<f64>,
    throughput_bps: Option<f64>,
    queue_mean: Option<f64>,
    queue_max: u64,
    /// Waiting packets, integrated over time: packets times seconds.
    course: Py<PyBytes>,
}

/// Adds this file's classes and function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<TraceSummary>()?;
    module.add_class::<TraceFlow>()?;
    module.add_class::<TraceLink>()?;
    module.add_function(wrap_pyfunction!(read_trace, module)?)
}

/// Reads an ns-2 trace.
#[pyfunction]
fn read_trace(py: Python<'_>, path: PathBuf) -> PyResult<TraceSummary> {
    let summary = abandonable(py, || sluice_trace::read(path))?
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let flows = summary.flows.iter().map(|flow| trace_flow(py, flow));
    let links = summary.links.iter();
    let links = links.map(|link| trace_link(py, link, &summary));
    Ok(TraceSummary {
        lines: summary.lines,
        cut_off: summary.cut_off,
        start_s: summary.start_s,
        end_s: summary.end_s,
        bin_s: summary.bin_s,
        flows: flows.collect::<PyResult<_>>()?,
        links: links.collect::<PyResult<_>>()?,
    })
}

fn trace_flow(py: Python<'_>, flow: &Flow) -> PyResult<Py<TraceFlow>> {
    let found = TraceFlow {
        kind: flow.kind.clone(),
        id: flow.id,
        source: flow.source.to_string(),
        destination: flow.destination.to_string(),
        sent: flow.sent,
        received: flow.received,
        lost: flow.lost,
        loss_ratio: flow.loss_ratio(),
        throughput_bps: flow.throughput_bps(),
        delay_mean_s: flow.delay_mean_s(),
        delay_min_s: flow.delay_min_s(),
        delay_max_s: flow.delay_max_s(),
        jitter_s: flow.jitter_s(),
        course: doubles(py, &flow.course),
    };
    Py::new(py, found)
}

fn trace_link(py: Python<'_>, link: &Link, trace: &Summary) -> PyResult<Py<TraceLink>> {
    let found = TraceLink {
        source: link.from,
        sink: link.to,
        arrivals: link.arrivals,
        departures: link.departures,
        drops: link.drops,
        corrupted: link.corrupted,
        loss_ratio: link.loss_ratio(),
        throughput_bps: link.throughput_bps(trace),
        queue_mean: link.queue_mean(trace),
        queue_max: link.queue_max,
        course: doubles(py, &link.course),
    };
    Py::new(py, found)
}

fn doubles(py: Python<'_>, values: &[f64]) -> Py<PyBytes> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    PyBytes::new(py, &bytes).unbind()
}
