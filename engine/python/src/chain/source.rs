//! The source and the service of a chain: what a slot does before an AQM is asked.

use numpy::PyArray1;
use pyo3::prelude::*;
use sluice_chain::Modulator;

use super::PyChain;

/// Changes of a modulator: the states before and after, and the probability, each shape (n,).
type Changes = (Py<PyArray1<u32>>, Py<PyArray1<u32>>, Py<PyArray1<f64>>);

/// What determines a chain's slots, but for the AQM.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ChainSource {
    /// States of the modulator.
    states: usize,
    /// Its changes in slots without a packet, and in slots with one.
    quiet: Changes,
    active: Changes,
    /// Probability that a service ends in a slot.
    mu: f64,
}

/// The source and the service of a chain.
#[pyfunction]
fn chain_source(py: Python<'_>, chain: &PyChain) -> ChainSource {
    let modulator: &Modulator = chain.chain.modulator();
    let changes = |of: &[sluice_chain::Change]| {
        (
            PyArray1::from_iter(py, of.iter().map(|change| change.from as u32)).unbind(),
            PyArray1::from_iter(py, of.iter().map(|change| change.to as u32)).unbind(),
            PyArray1::from_iter(py, of.iter().map(|change| change.probability)).unbind(),
        )
    };
    ChainSource {
        states: modulator.states,
        quiet: changes(&modulator.quiet),
        active: changes(&modulator.active),
        mu: chain.chain.mu(),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChainSource>()?;
    module.add_function(wrap_pyfunction!(chain_source, module)?)
}
