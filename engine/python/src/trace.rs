//! `read_trace`: what an ns-2 trace says, as columns.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sluice_trace::{Flow, Link, Summary};

/// Adds this file's functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_trace, module)?)
}

/// Read an ns-2 trace; return a dict of its figures, of its flows' and of its links'.
#[pyfunction]
fn read_trace(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let summary = py
        .detach(|| sluice_trace::read(path))
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
    table.set_item("flows", flows(py, &summary)?)?;
    table.set_item("links", links(py, &summary)?)?;
    Ok(table)
}

fn courses<'py, 'a>(
    py: Python<'py>,
    courses: impl Iterator<Item = &'a Vec<f64>>,
) -> PyResult<Bound<'py, PyList>> {
    let arrays: Vec<_> = courses
        .map(|course| PyArray1::from_slice(py, course))
        .collect();
    PyList::new(py, arrays)
}

fn flows<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let flows = &summary.flows;
    let table = PyDict::new(py);
    let text = |read: fn(&Flow) -> String| flows.iter().map(read).collect::<Vec<_>>();
    let count =
        |read: fn(&Flow) -> u64| flows.iter().map(read).collect::<Vec<_>>().into_pyarray(py);
    let number =
        |read: fn(&Flow) -> f64| flows.iter().map(read).collect::<Vec<_>>().into_pyarray(py);
    table.set_item("type", text(|flow| flow.kind.clone()))?;
    table.set_item("id", count(|flow| flow.id.into()))?;
    table.set_item("source", text(|flow| flow.source.to_string()))?;
    table.set_item("destination", text(|flow| flow.destination.to_string()))?;
    table.set_item("sent", count(|flow| flow.sent))?;
    table.set_item("received", count(|flow| flow.received))?;
    table.set_item("lost", count(|flow| flow.lost))?;
    table.set_item("received_bytes", count(|flow| flow.received_bytes))?;
    table.set_item("first_sent_s", number(|flow| flow.first_sent_s))?;
    table.set_item("last_received_s", number(|flow| flow.last_received_s))?;
    table.set_item("delays", count(|flow| flow.delays))?;
    table.set_item("delay_sum_s", number(|flow| flow.delay_sum_s))?;
    table.set_item("delay_min_s", number(|flow| flow.delay_min_s))?;
    table.set_item("delay_max_s", number(|flow| flow.delay_max_s))?;
    table.set_item("delay_change_sum_s", number(|flow| flow.delay_change_sum_s))?;
    Ok(table)
}

fn links<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let links = &summary.links;
    let table = PyDict::new(py);
    let count =
        |read: fn(&Link) -> u64| links.iter().map(read).collect::<Vec<_>>().into_pyarray(py);
    table.set_item("from", count(|link| link.from.into()))?;
    table.set_item("to", count(|link| link.to.into()))?;
    table.set_item("arrivals", count(|link| link.arrivals))?;
    table.set_item("departures", count(|link| link.departures))?;
    table.set_item("drops", count(|link| link.drops))?;
    table.set_item("corrupted", count(|link| link.corrupted))?;
    table.set_item("departed_bytes", count(|link| link.departed_bytes))?;
    table.set_item("queue_max", count(|link| link.queue_max))?;
    let areas: Vec<f64> = links.iter().map(|link| link.queue_area).collect();
    table.set_item("queue_area", areas.into_pyarray(py))?;
    Ok(table)
}
