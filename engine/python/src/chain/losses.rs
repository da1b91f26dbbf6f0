//! The correlation of losses.

use numpy::PyArray1;
use pyo3::prelude::*;

use super::{PyChain, steady::method_of};

/// The correlation of losses in the steady state.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ChainLosses {
    method: &'static str,
    error: f64,
    /// Arriving and lost packets per slot.
    arrivals: f64,
    lost: f64,
    /// Probability of a loss k arrivals after a loss.
    again: Py<PyArray1<f64>>,
}

/// The correlation of losses in the steady state, up to `lag` arrivals apart.
#[pyfunction]
fn chain_losses(
    py: Python<'_>,
    chain: &PyChain,
    method: &str,
    lag: usize,
) -> PyResult<ChainLosses> {
    let method = method_of(method, &chain.chain)?;
    let (solution, losses) = chain.ask(py, None, |chain| {
        let solution = chain.solve(method)?;
        let losses = chain.losses(&solution.probabilities, lag)?;
        Ok((solution, losses))
    })?;
    Ok(ChainLosses {
        method: solution.method.name(),
        error: solution.error,
        arrivals: losses.arrivals,
        lost: losses.lost,
        again: PyArray1::from_vec(py, losses.again).unbind(),
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChainLosses>()?;
    module.add_function(wrap_pyfunction!(chain_losses, module)?)
}
