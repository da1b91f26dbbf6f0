//! First passages.

use pyo3::{prelude::*, types::PyDict};
use sluice_chain::Bounds;

use super::{PyChain, refused, steady::method, transient::steady_start};

/// The slots until the queue and the average lie within the bounds (packets; none of both is no
/// bound), from a named state or from the steady state of `before`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the bounds, the two starts")]
fn chain_passage<'py>(
    py: Python<'py>,
    chain: &PyChain,
    queue_bounds: (Option<u32>, Option<u32>),
    average_bounds: (Option<f64>, Option<f64>),
    queue: u32,
    average: f64,
    before: Option<&PyChain>,
    method_name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let bounds = Bounds {
        queue_below: queue_bounds.0,
        queue_at_least: queue_bounds.1,
        average_below: average_bounds.0,
        average_at_least: average_bounds.1,
    };
    let start = match before {
        Some(before) => steady_start(py, &chain.chain, before, method_name)?,
        None => chain.chain.start(queue, average).map_err(refused)?,
    };
    let method = method(method_name, &chain.chain)?;
    let passage = chain.ask(py, None, |chain| {
        let set = chain.set(&bounds)?;
        chain.first_passage(&start, &set, method)
    })?;
    let table = PyDict::new(py);
    table.set_item("mean", passage.mean)?;
    table.set_item("variance", passage.variance)?;
    table.set_item("error", passage.error)?;
    table.set_item("residual", passage.residual)?;
    table.set_item("method", passage.method.name())?;
    table.set_item("states", chain.chain.states())?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(chain_passage, module)?)
}
