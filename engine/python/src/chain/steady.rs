//! The steady state.

use numpy::PyArray1;
use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use sluice_aqm::Victim;
use sluice_chain::{Chain, Measures, Method, Solution};

use super::PyChain;

/// Waiting times are computed until less than this is left.
const WAIT_REST: f64 = 1e-20;

pub fn method(name: &str, chain: &Chain) -> PyResult<Method> {
    match name {
        "auto" => Ok(chain.suitable()),
        "direct" => Ok(Method::Direct),
        "iterative" => Ok(Method::Iterative),
        _ => Err(PyValueError::new_err(format!(
            "method = {name} must be auto, direct or iterative"
        ))),
    }
}

/// The steady state of a chain and its measures; `watch` as in `PyChain::ask`.
#[pyfunction]
#[pyo3(signature = (chain, method_name, watch=None))]
fn solve_chain<'py>(
    py: Python<'py>,
    chain: &PyChain,
    method_name: &str,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let method = method(method_name, &chain.chain)?;
    let victim = chain.victim;
    let (solution, measures, waits) = chain.ask(py, watch, |chain| {
        let solution = chain.solve(method)?;
        let measures = chain.measures(&solution.probabilities);
        let waits = Waits::of(chain, victim, &solution, &measures);
        Ok((solution, measures, waits))
    })?;
    result(py, &chain.chain, &solution, &measures, waits)
}

/// Times in the system of the packets served: distribution (slots) where it is known, sums per slot.
struct Waits {
    distribution: Vec<f64>,
    sum: f64,
    square_sum: f64,
}

impl Waits {
    fn of(chain: &Chain, victim: Victim, solution: &Solution, measures: &Measures) -> Self {
        let unknown = Self {
            distribution: Vec::new(),
            sum: f64::NAN,
            square_sum: f64::NAN,
        };
        match victim {
            Victim::Tail => {
                let (sum, square_sum) = chain.wait_sums(&measures.admitted);
                let distribution = chain.waits(&measures.admitted, WAIT_REST);
                Self {
                    distribution: distribution.unwrap_or_default(),
                    sum,
                    square_sum,
                }
            }
            Victim::Front => {
                let front = chain.front_waits(&solution.probabilities);
                Self {
                    sum: front.sum,
                    square_sum: front.square_sum,
                    ..unknown
                }
            }
            Victim::Random => unknown,
        }
    }
}

fn result<'py>(
    py: Python<'py>,
    chain: &Chain,
    solution: &Solution,
    measures: &Measures,
    waits: Waits,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("method", solution.method.name())?;
    table.set_item("states", chain.states())?;
    table.set_item("residual", solution.residual)?;
    table.set_item("error", solution.error)?;
    table.set_item("sweeps", solution.sweeps)?;
    table.set_item("levels", PyArray1::from_slice(py, chain.averages()))?;
    table.set_item("average", PyArray1::from_slice(py, &measures.average))?;
    table.set_item("queue", PyArray1::from_slice(py, &measures.queue))?;
    table.set_item("wait", PyArray1::from_vec(py, waits.distribution))?;
    table.set_item("wait_sum", waits.sum)?;
    table.set_item("wait_square_sum", waits.square_sum)?;
    table.set_item("busy", measures.utilization)?;
    let fates = measures.fates;
    table.set_item("arrivals", fates.arrivals)?;
    let admitted: f64 = measures.admitted.iter().sum();
    let verdicts = [
        fates.arrivals - fates.lost() - fates.marked,
        fates.early,
        fates.forced,
        fates.overflow,
        fates.marked,
    ];
    table.set_item("verdicts", verdicts)?;
    table.set_item("served", admitted)?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(solve_chain, module)?)
}
