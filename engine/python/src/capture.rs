//! `read_capture`: the columns of a capture as NumPy arrays.

use std::path::PathBuf;

use numpy::IntoPyArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::attended::abandonable;

/// Adds this file's functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read_capture, module)?)
}

/// Read a pcap or pcapng file; return its columns and counts as a dict.
#[pyfunction]
fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyDict>> {
    let capture = abandonable(py, || sluice_capture::read(path))?
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let columns = PyDict::new(py);
    columns.set_item("time_ns", capture.time_ns.into_pyarray(py))?;
    columns.set_item("bytes", capture.bytes.into_pyarray(py))?;
    columns.set_item("flow", capture.flow.into_pyarray(py))?;
    columns.set_item("protocol", capture.protocol.into_pyarray(py))?;
    columns.set_item("ecn_capable", capture.ecn_capable.into_pyarray(py))?;
    columns.set_item("not_ip", capture.not_ip)?;
    columns.set_item("link_types", capture.link_types)?;
    Ok(columns)
}
