//! Losses in time.

use numpy::PyArray1;
use pyo3::{prelude::*, types::PyDict};

use super::{PyChain, steady::method};

/// How losses follow each other in the steady state, up to `lag` arrivals apart.
#[pyfunction]
fn chain_losses<'py>(
    py: Python<'py>,
    chain: &PyChain,
    method_name: &str,
    lag: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let method = method(method_name, &chain.chain)?;
    let (solution, losses) = chain.ask(py, None, |chain| {
        let solution = chain.solve(method)?;
        let losses = chain.losses(&solution.probabilities, lag)?;
        Ok((solution, losses))
    })?;
    let table = PyDict::new(py);
    table.set_item("error", solution.error)?;
    table.set_item("arrivals", losses.arrivals)?;
    table.set_item("lost", losses.lost)?;
    table.set_item("again", PyArray1::from_vec(py, losses.again))?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(chain_losses, module)?)
}
