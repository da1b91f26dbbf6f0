//! Derivatives with respect to parameters.

use pyo3::prelude::*;
use sluice_chain::{Derivative, Plan};

use super::{
    PyChain,
    steady::{ExactCounts, method_of},
};
use crate::scenario::{PyDiscipline, PyScenario, refused};

/// A step of a parameter, and scenario and discipline one to four steps from its value.
type Nearby<'py> = (f64, [(PyRef<'py, PyScenario>, PyRef<'py, PyDiscipline>); 4]);

/// Counts that are linear in the probabilities of a steady state, and their derivatives.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ChainSensitivities {
    method: &'static str,
    value: Py<ExactCounts>,
    /// One element for each parameter.
    derivatives: Vec<Py<ChainDerivative>>,
}

/// Derivatives with respect to one parameter.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct ChainDerivative {
    of: Py<ExactCounts>,
    residual: f64,
    error: f64,
}

/// The counts of the steady state, and their derivatives with respect to each of `parameters`.
#[pyfunction]
fn chain_sensitivities<'py>(
    py: Python<'py>,
    chain: &PyChain,
    parameters: Vec<Nearby<'py>>,
    method: &str,
) -> PyResult<ChainSensitivities> {
    let method = method_of(method, &chain.chain)?;
    let own = &chain.plan;
    let mut near: Vec<(f64, [Plan; 4])> = Vec::new();
    for (step, places) in &parameters {
        let [a, b, c, d] = places.each_ref().map(|(scenario, discipline)| {
            Plan::of(scenario.slotted()?, &discipline.0, own.grid, own.memory).map_err(refused)
        });
        near.push((*step, [a?, b?, c?, d?]));
    }
    let found = chain.ask(py, None, |chain| chain.sensitivities(own, &near, method))?;
    let derivative = |found: &Derivative| {
        let derivative = ChainDerivative {
            of: ExactCounts::of(py, &found.of)?,
            residual: found.residual,
            error: found.error,
        };
        Py::new(py, derivative)
    };
    Ok(ChainSensitivities {
        method: found.method.name(),
        value: ExactCounts::of(py, &found.value)?,
        derivatives: found
            .derivatives
            .iter()
            .map(derivative)
            .collect::<PyResult<_>>()?,
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<ChainSensitivities>()?;
    module.add_class::<ChainDerivative>()?;
    module.add_function(wrap_pyfunction!(chain_sensitivities, module)?)
}
