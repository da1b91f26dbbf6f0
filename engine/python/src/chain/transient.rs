//! Distributions at given times (slots) after a start.

use numpy::{PyArray1, PyArray2};
use pyo3::{exceptions::PyValueError, prelude::*};
use sluice_chain::{Chain, Measures, Transient};

use super::{PyChain, refused, steady::method_of};

/// The steady state of `before` as a start for `chain`, which must have the same states.
pub(super) fn steady_start(
    py: Python<'_>,
    chain: &Chain,
    before: &PyChain,
    method: &str,
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
    let method = method_of(method, other)?;
    let solution = before.ask(py, None, |chain| chain.solve(method))?;
    Ok(solution.probabilities)
}

/// The distribution at one time.
struct Row {
    measures: Measures,
    error: f64,
    multiplications: u64,
}

/// Measures at several times, one row for each time.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ChainTransient {
    levels: Py<PyArray1<f64>>,
    queue: Py<PyArray2<f64>>,
    average: Py<PyArray2<f64>>,
    arrivals: Py<PyArray1<f64>>,
    lost: Py<PyArray1<f64>>,
    error: Py<PyArray1<f64>>,
    multiplications: Py<PyArray1<u64>>,
}

/// Measures after each of `slots` (rising), from the state with this queue and average (packets) or
/// from the steady state of `before`. All projections together add at most `tolerance` to the
/// error.
#[pyfunction]
#[pyo3(signature = (chain, slots, tolerance, queue, average, before=None, method="auto"))]
#[expect(clippy::too_many_arguments, reason = "the two starts")]
fn chain_transient(
    py: Python<'_>,
    chain: &PyChain,
    slots: Vec<u64>,
    tolerance: f64,
    queue: u32,
    average: f64,
    before: Option<&PyChain>,
    method: &str,
) -> PyResult<ChainTransient> {
    let start = match before {
        Some(before) => steady_start(py, &chain.chain, before, method)?,
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
    let column = |value: fn(&Row) -> f64| PyArray1::from_iter(py, rows.iter().map(value)).unbind();
    let matrix = |value: fn(&Row) -> &Vec<f64>| {
        let lines: Vec<Vec<f64>> = rows.iter().map(|row| value(row).clone()).collect();
        PyArray2::from_vec2(py, &lines).map(Bound::unbind)
    };
    let multiplications = rows.iter().map(|row| row.multiplications);
    Ok(ChainTransient {
        levels: PyArray1::from_slice(py, chain.chain.averages()).unbind(),
        queue: matrix(|row| &row.measures.queue)?,
        average: matrix(|row| &row.measures.average)?,
        arrivals: column(|row| row.measures.fates.arrivals),
        lost: column(|row| row.measures.fates.lost()),
        error: column(|row| row.error),
        multiplications: PyArray1::from_iter(py, multiplications).unbind(),
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChainTransient>()?;
    module.add_function(wrap_pyfunction!(chain_transient, module)?)
}
