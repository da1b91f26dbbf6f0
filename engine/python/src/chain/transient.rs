//! Distributions some slots after a start.

use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use sluice_chain::{Measures, Transient};

use super::{PyChain, refused, steady::method};

/// The steady state of `before` as a start for `chain`: the same states under other traffic.
#[pyfunction]
fn steady_start<'py>(
    py: Python<'py>,
    chain: &PyChain,
    before: &PyChain,
    method_name: &str,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (chain, before) = (&chain.chain, &before.chain);
    let shape = |of: &sluice_chain::Chain| (of.sizes(), of.modulator_states());
    if shape(chain) != shape(before) || chain.averages() != before.averages() {
        return Err(PyValueError::new_err(format!(
            "start: its chain has {} levels of the average, {} sizes and {} states of the source; \
             to start from it, this one must have the same, not {}, {} and {}",
            before.level_count(),
            before.sizes(),
            before.modulator_states(),
            chain.level_count(),
            chain.sizes(),
            chain.modulator_states()
        )));
    }
    let method = method(method_name, before)?;
    let solution = py.detach(|| before.solve(method)).map_err(refused)?;
    Ok(PyArray1::from_vec(py, solution.probabilities))
}

/// What is known of the distribution at one time.
struct Row {
    measures: Measures,
    error: f64,
    multiplications: u64,
}

/// Measures after each of `slots` (rising) from the distribution `start`; projections add
/// `tolerance` to the error at most, all slots together.
#[pyfunction]
fn chain_transient<'py>(
    py: Python<'py>,
    chain: &PyChain,
    start: PyReadonlyArray1<'py, f64>,
    slots: Vec<u64>,
    tolerance: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let PyChain { chain, .. } = chain;
    let start = start.to_vec()?;
    let rows: Vec<Row> = py.detach(|| {
        let each = tolerance / slots.last().map_or(1.0, |last| (*last as f64).max(1.0));
        let mut transient = Transient::new(chain, start);
        let row = |until: u64| {
            transient.advance(until - transient.slot, each);
            Row {
                measures: chain.measures(&transient.probabilities),
                error: transient.error,
                multiplications: transient.multiplications,
            }
        };
        slots.into_iter().map(row).collect()
    });
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
    table.set_item(
        "multiplications",
        PyArray1::from_iter(py, multiplications),
    )?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(steady_start, module)?)?;
    module.add_function(wrap_pyfunction!(chain_transient, module)?)
}
