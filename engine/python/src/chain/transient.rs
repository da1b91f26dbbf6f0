//! Distributions some slots after a start.

use numpy::{PyArray1, PyArray2};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use sluice_chain::{Chain, Measures, Transient};

use super::{PyChain, refused, steady::method};

/// The steady state of `before` as a start for `chain`: the same states under other traffic.
fn steady_start(
    py: Python<'_>,
    chain: &Chain,
    before: &PyChain,
    method_name: &str,
) -> PyResult<Vec<f64>> {
    let other = &before.chain;
    let shape = |of: &Chain| (of.sizes(), of.modulator_states());
    if shape(chain) != shape(other) || chain.averages() != other.averages() {
        return Err(PyValueError::new_err(format!(
            "start: its chain has {} levels of the average, {} sizes and {} states of the source; \
             to start from it, this one must have the same, not {}, {} and {}",
            other.level_count(),
            other.sizes(),
            other.modulator_states(),
            chain.level_count(),
            chain.sizes(),
            chain.modulator_states()
        )));
    }
    let method = method(method_name, other)?;
    let solution = before.ask(py, None, |chain| chain.solve(method))?;
    Ok(solution.probabilities)
}

/// What is known of the distribution at one time.
struct Row {
    measures: Measures,
    error: f64,
    multiplications: u64,
}

/// Measures after each of `slots` (rising) from a named state, or from the steady state of
/// `before`; projections add `tolerance` to the error at most, all slots together.
#[pyfunction]
#[pyo3(signature = (chain, slots, tolerance, queue, average, before=None, method_name="auto"))]
#[expect(clippy::too_many_arguments, reason = "the two starts")]
fn chain_transient<'py>(
    py: Python<'py>,
    chain: &PyChain,
    slots: Vec<u64>,
    tolerance: f64,
    queue: u32,
    average: f64,
    before: Option<&PyChain>,
    method_name: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let start = match before {
        Some(before) => steady_start(py, &chain.chain, before, method_name)?,
        None => chain.chain.start(queue, average).map_err(refused)?,
    };
    let each = tolerance / slots.last().map_or(1.0, |last| (*last as f64).max(1.0));
    let rows = chain.ask(py, None, |chain| {
        let mut transient = Transient::new(chain, start);
        let row = |until: u64| {
            transient.advance(until - transient.slot, each)?;
            Ok(Row {
                measures: chain.measures(&transient.probabilities),
                error: transient.error,
                multiplications: transient.multiplications,
            })
        };
        slots.into_iter().map(row).collect::<Result<Vec<Row>, _>>()
    })?;
    let chain = &chain.chain;
    let table = PyDict::new(py);
    let column = |value: fn(&Row) -> f64| -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, rows.iter().map(value))
    };
    let matrix = |value: fn(&Row) -> &Vec<f64>| {
        let lines: Vec<Vec<f64>> = rows.iter().map(|row| value(row).clone()).collect();
        PyArray2::from_vec2(py, &lines)
    };
    table.set_item("levels", PyArray1::from_slice(py, chain.averages()))?;
    table.set_item("queue", matrix(|row| &row.measures.queue)?)?;
    table.set_item("average", matrix(|row| &row.measures.average)?)?;
    table.set_item("arrivals", column(|row| row.measures.fates.arrivals))?;
    table.set_item("lost", column(|row| row.measures.fates.lost()))?;
    table.set_item("error", column(|row| row.error))?;
    let multiplications = rows.iter().map(|row| row.multiplications);
    table.set_item("multiplications", PyArray1::from_iter(py, multiplications))?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(chain_transient, module)?)
}
