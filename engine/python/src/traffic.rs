//! `fgn`: exact fractional Gaussian noise as a NumPy array.

use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sluice_traffic::fgn_of_seed;

/// Adds this file's functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(fgn, module)?)
}

/// Return n samples of unit-variance fractional Gaussian noise; one seed, one path.
#[pyfunction]
fn fgn(py: Python<'_>, hurst: f64, n: usize, seed: u64) -> PyResult<Bound<'_, PyArray1<f64>>> {
    py.detach(|| fgn_of_seed(hurst, n, seed))
        .map(|path| path.into_pyarray(py))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}
