//! First passages.

use pyo3::prelude::*;
use sluice_chain::Bounds;

use super::{PyChain, refused, steady::method_of, transient::steady_start};

/// The time until a set of states is reached, slots.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ChainPassage {
    mean: f64,
    variance: f64,
    error: f64,
    residual: f64,
    method: &'static str,
    states: usize,
}

/// The time (slots) until the queue and the average are within the bounds (packets; None: no
/// bound), from the state with this queue and average, or from the steady state of `before`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the bounds, the two starts")]
fn chain_passage(
    py: Python<'_>,
    chain: &PyChain,
    queue_bounds: (Option<u32>, Option<u32>),
    average_bounds: (Option<f64>, Option<f64>),
    queue: u32,
    average: f64,
    before: Option<&PyChain>,
    method: &str,
) -> PyResult<ChainPassage> {
    let bounds = Bounds {
        queue_below: queue_bounds.0,
        queue_at_least: queue_bounds.1,
        average_below: average_bounds.0,
        average_at_least: average_bounds.1,
    };
    let start = match before {
        Some(before) => steady_start(py, &chain.chain, before, method)?,
        None => chain.chain.start(queue, average).map_err(refused)?,
    };
    let method = method_of(method, &chain.chain)?;
    let passage = chain.ask(py, None, |chain| {
        let set = chain.set(&bounds)?;
        chain.first_passage(&start, &set, method)
    })?;
    Ok(ChainPassage {
        mean: passage.mean,
        variance: passage.variance,
        error: passage.error,
        residual: passage.residual,
        method: passage.method.name(),
        states: chain.chain.states(),
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChainPassage>()?;
    module.add_function(wrap_pyfunction!(chain_passage, module)?)
}
