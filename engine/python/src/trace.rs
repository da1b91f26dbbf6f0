//! `read_trace`: what an ns-2 trace says, as columns.

use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use sluice_trace::{Flow, Link, Summary};

use crate::attended::abandonable;

/// Adds this file's functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_trace, module)?)
}

/// Read an ns-2 trace; return a dict of its figures, of its flows' and of its links'. There are no
/// arrays in it: that would load NumPy, which takes longer than reading a million lines.
#[pyfunction]
fn read_trace(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let summary = abandonable(py, || sluice_trace::read(path))?
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let table = PyDict::new(py);
    table.set_item("lines", summary.lines)?;
    table.set_item("cut_off", summary.cut_off)?;
    table.set_item("start_s", summary.start_s)?;
    table.set_item("end_s", summary.end_s)?;
    table.set_item("bin_s", summary.bin_s)?;
    table.set_item(
        "flow_course",
        courses(py, summary.flows.iter().map(|flow| &flow.course))?,
    )?;
    table.set_item(
        "link_course",
        courses(py, summary.links.iter().map(|link| &link.course))?,
    )?;
    table.set_item("flows", flows(py, &summary.flows)?)?;
    table.set_item("links", links(py, &summary)?)?;
    Ok(table)
}

fn courses<'py, 'a>(
    py: Python<'py>,
    courses: impl Iterator<Item = &'a Vec<f64>>,
) -> PyResult<Bound<'py, PyList>> {
    let bytes = |course: &Vec<f64>| -> Vec<u8> {
        course
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect()
    };
    let rows: Vec<_> = courses
        .map(|course| PyBytes::new(py, &bytes(course)))
        .collect();
    PyList::new(py, rows)
}

fn flows<'py>(py: Python<'py>, flows: &[Flow]) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let text = |read: fn(&Flow) -> String| flows.iter().map(read).collect::<Vec<_>>();
    let count = |read: fn(&Flow) -> u64| flows.iter().map(read).collect::<Vec<_>>();
    let number = |read: fn(&Flow) -> Option<f64>| flows.iter().map(read).collect::<Vec<_>>();
    table.set_item("type", text(|flow| flow.kind.clone()))?;
    table.set_item("id", count(|flow| flow.id.into()))?;
    table.set_item("source", text(|flow| flow.source.to_string()))?;
    table.set_item("destination", text(|flow| flow.destination.to_string()))?;
    table.set_item("sent", count(|flow| flow.sent))?;
    table.set_item("received", count(|flow| flow.received))?;
    table.set_item("lost", count(|flow| flow.lost))?;
    table.set_item("loss_ratio", number(Flow::loss_ratio))?;
    table.set_item("throughput_bps", number(Flow::throughput_bps))?;
    table.set_item("delay_mean_s", number(Flow::delay_mean_s))?;
    table.set_item("delay_min_s", number(Flow::delay_min_s))?;
    table.set_item("delay_max_s", number(Flow::delay_max_s))?;
    table.set_item("jitter_s", number(Flow::jitter_s))?;
    Ok(table)
}

fn links<'py>(py: Python<'py>, trace: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let count = |read: fn(&Link) -> u64| trace.links.iter().map(read).collect::<Vec<_>>();
    let number =
        |read: &dyn Fn(&Link) -> Option<f64>| trace.links.iter().map(read).collect::<Vec<_>>();
    table.set_item("from", count(|link| link.from.into()))?;
    table.set_item("to", count(|link| link.to.into()))?;
    table.set_item("arrivals", count(|link| link.arrivals))?;
    table.set_item("departures", count(|link| link.departures))?;
    table.set_item("drops", count(|link| link.drops))?;
    table.set_item("corrupted", count(|link| link.corrupted))?;
    table.set_item("loss_ratio", number(&Link::loss_ratio))?;
    table.set_item("throughput_bps", number(&|link| link.throughput_bps(trace)))?;
    table.set_item("queue_mean", number(&|link| link.queue_mean(trace)))?;
    table.set_item("queue_max", count(|link| link.queue_max))?;
    Ok(table)
}
