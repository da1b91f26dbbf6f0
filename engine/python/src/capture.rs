//! `read_capture`: the columns of a capture as NumPy arrays.

use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::interruptible::abandonable;

/// The IP packets of a capture: each column has one element per packet.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct CaptureColumns {
    time_ns: Py<PyArray1<u64>>,
    bytes: Py<PyArray1<u32>>,
    flow: Py<PyArray1<u32>>,
    protocol: Py<PyArray1<u8>>,
    ecn_capable: Py<PyArray1<bool>>,
    opens: Py<PyArray1<bool>>,
    not_ip: u64,
    link_types: Vec<&'static str>,
    notes: Vec<String>,
}

/// Adds this file's class and function to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CaptureColumns>()?;
    module.add_function(wrap_pyfunction!(read_capture, module)?)
}

/// Reads a pcap or pcapng file, which may be compressed.
#[pyfunction]
fn read_capture(py: Python<'_>, path: PathBuf) -> PyResult<CaptureColumns> {
    let capture = abandonable(py, || sluice_capture::read(path))?
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(CaptureColumns {
        time_ns: PyArray1::from_vec(py, capture.time_ns).unbind(),
        bytes: PyArray1::from_vec(py, capture.bytes).unbind(),
        flow: PyArray1::from_vec(py, capture.flow).unbind(),
        protocol: PyArray1::from_vec(py, capture.protocol).unbind(),
        ecn_capable: PyArray1::from_iter(py, capture.ecn.iter().map(|ecn| ecn.is_capable()))
            .unbind(),
        opens: PyArray1::from_vec(py, capture.opens).unbind(),
        not_ip: capture.not_ip,
        link_types: capture.link_types,
        notes: capture.notes,
    })
}
