//! The steady state.

use numpy::PyArray1;
use pyo3::{exceptions::PyValueError, prelude::*};
use sluice_aqm::Victim;
use sluice_chain::{Chain, ChainError, Linear, Measures, Method, Solution, Sums};

use super::PyChain;

/// Distributions of times are computed until the remaining probability is less than this.
const TIMES_REST: f64 = 1e-20;

pub fn method_of(name: &str, chain: &Chain) -> PyResult<Method> {
    match name {
        "auto" => Ok(chain.suitable()),
        "direct" => Ok(Method::Direct),
        "iterative" => Ok(Method::Iterative),
        _ => Err(PyValueError::new_err(format!(
            "method = {name} must be auto, direct or iterative"
        ))),
    }
}

/// Times of the packets that are served in a slot, on average; slots.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ExactTimes {
    /// Probability of each number of slots; empty if it is not known.
    distribution: Py<PyArray1<f64>>,
    /// Sum of the times per slot; NaN if it is not known.
    sum: f64,
    /// Sum of their squares per slot; NaN if it is not known.
    square_sum: f64,
}

impl ExactTimes {
    fn new(py: Python<'_>, distribution: Vec<f64>, sums: Sums) -> PyResult<Py<Self>> {
        let times = Self {
            distribution: PyArray1::from_vec(py, distribution).unbind(),
            sum: sums.sum,
            square_sum: sums.square_sum,
        };
        Py::new(py, times)
    }
}

/// The counts of a queue in a slot, on average.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ExactCounts {
    /// Probability that k packets wait, by k.
    queue: Py<PyArray1<f64>>,
    /// Probability that the server is busy.
    busy: f64,
    arrivals: f64,
    served: f64,
    /// Packets with each verdict, in the order of the verdicts' numbers.
    verdicts: Vec<f64>,
    sojourn: Py<ExactTimes>,
    delay: Py<ExactTimes>,
}

impl ExactCounts {
    /// Converts counts, without the distributions of times.
    pub fn of(py: Python<'_>, of: &Linear) -> PyResult<Py<Self>> {
        Self::new(py, of, Times::default())
    }

    fn new(py: Python<'_>, of: &Linear, times: Times) -> PyResult<Py<Self>> {
        let fates = &of.fates;
        let counts = Self {
            queue: PyArray1::from_slice(py, &of.queue).unbind(),
            busy: of.utilization,
            arrivals: fates.arrivals,
            served: of.admitted,
            verdicts: vec![
                fates.arrivals - fates.lost() - fates.marked,
                fates.early,
                fates.forced,
                fates.overflow,
                fates.marked,
                0.0,
            ],
            sojourn: ExactTimes::new(py, times.sojourn, of.sojourn)?,
            delay: ExactTimes::new(py, times.delay, of.delay)?,
        };
        Py::new(py, counts)
    }
}

/// A chain's steady state.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct SteadyState {
    method: &'static str,
    states: usize,
    residual: f64,
    error: f64,
    sweeps: usize,
    /// Levels of the average, packets, and the probability of each.
    levels: Py<PyArray1<f64>>,
    average: Py<PyArray1<f64>>,
    counts: Py<ExactCounts>,
    /// Bound of the probability that the distributions of times lack.
    times_error: f64,
}

/// The steady state of a chain and its counts; `watch` as in `PyChain::ask`. With `front_times`,
/// also the distributions of times with drop from front.
#[pyfunction]
#[pyo3(signature = (chain, method, watch=None, front_times=false))]
fn solve_chain(
    py: Python<'_>,
    chain: &PyChain,
    method: &str,
    watch: Option<Py<PyAny>>,
    front_times: bool,
) -> PyResult<SteadyState> {
    let method = method_of(method, &chain.chain)?;
    let victim = chain.plan.discipline.victim;
    let (solution, measures, linear, times) = chain.ask(py, watch, |chain| {
        let solution = chain.solve(method)?;
        let measures = chain.measures(&solution.probabilities);
        let linear = chain.linear(&solution.probabilities)?;
        let times = Times::of(chain, victim, front_times, &solution, &measures)?;
        Ok((solution, measures, linear, times))
    })?;
    Ok(SteadyState {
        method: solution.method.name(),
        states: chain.chain.states(),
        residual: solution.residual,
        error: solution.error,
        sweeps: solution.sweeps,
        levels: PyArray1::from_slice(py, chain.chain.averages()).unbind(),
        average: PyArray1::from_slice(py, &measures.average).unbind(),
        times_error: times.error,
        counts: ExactCounts::new(py, &linear, times)?,
    })
}

/// Distributions of the times of the packets served, empty if they are not known, and the bound of
/// their error.
#[derive(Default)]
struct Times {
    sojourn: Vec<f64>,
    delay: Vec<f64>,
    error: f64,
}

impl Times {
    fn of(
        chain: &Chain,
        victim: Victim,
        front_times: bool,
        solution: &Solution,
        measures: &Measures,
    ) -> Result<Self, ChainError> {
        match victim {
            Victim::Tail => {
                let sojourn = chain.sojourns(&measures.admitted, TIMES_REST);
                let delay = chain.delays(&measures.admitted, TIMES_REST);
                Ok(Self {
                    sojourn: sojourn.unwrap_or_default(),
                    delay: delay.unwrap_or_default(),
                    error: TIMES_REST,
                })
            }
            Victim::Front if front_times => {
                let times = chain.front_times(&solution.probabilities)?;
                let total: f64 = times.delays.iter().sum();
                let shares =
                    |times: Vec<f64>| times.iter().map(|packets| packets / total).collect();
                Ok(Self {
                    sojourn: shares(times.sojourns),
                    delay: shares(times.delays),
                    error: times.unknown / total,
                })
            }
            Victim::Front | Victim::Random => Ok(Self::default()),
        }
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ExactTimes>()?;
    module.add_class::<ExactCounts>()?;
    module.add_class::<SteadyState>()?;
    module.add_function(wrap_pyfunction!(solve_chain, module)?)
}
