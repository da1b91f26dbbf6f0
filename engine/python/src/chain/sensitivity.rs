//! Derivatives with respect to parameters.

use numpy::PyArray1;
use pyo3::{
    prelude::*,
    types::{PyDict, PyList},
};
use sluice_chain::{Derivative, Linear, Plan};

use super::{
    PyChain,
    steady::{method, verdicts},
};
use crate::scenario::{PyDiscipline, PyScenario, refused};

/// A parameter: a step, and scenario and discipline one to four steps away.
type Nearby<'py> = (f64, [(PyRef<'py, PyScenario>, PyRef<'py, PyDiscipline>); 4]);

/// The measures of the steady state, and their derivatives with respect to each of `parameters`.
#[pyfunction]
fn chain_sensitivities<'py>(
    py: Python<'py>,
    chain: &PyChain,
    parameters: Vec<Nearby<'py>>,
    method_name: &str,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyList>)> {
    let method = method(method_name, &chain.chain)?;
    let own = &chain.plan;
    let mut near: Vec<(f64, [Plan; 4])> = Vec::new();
    for (step, places) in &parameters {
        let [a, b, c, d] = places.each_ref().map(|(scenario, discipline)| {
            Plan::of(scenario.slotted()?, &discipline.0, own.grid, own.memory).map_err(refused)
        });
        near.push((*step, [a?, b?, c?, d?]));
    }
    let found = chain.ask(py, None, |chain| chain.sensitivities(own, &near, method))?;
    let value = linear(py, &found.value)?;
    value.set_item("method", found.method.name())?;
    let derivatives = found.derivatives.iter().map(|found: &Derivative| {
        let table = linear(py, &found.of)?;
        table.set_item("residual", found.residual)?;
        table.set_item("error", found.error)?;
        Ok(table)
    });
    let derivatives = derivatives.collect::<PyResult<Vec<_>>>()?;
    Ok((value, PyList::new(py, derivatives)?))
}

fn linear<'py>(py: Python<'py>, of: &Linear) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("queue", PyArray1::from_slice(py, &of.queue))?;
    table.set_item("busy", of.utilization)?;
    table.set_item("served", of.admitted)?;
    table.set_item("arrivals", of.fates.arrivals)?;
    table.set_item("verdicts", verdicts(&of.fates))?;
    table.set_item("wait_sum", of.wait_sum)?;
    table.set_item("wait_square_sum", of.wait_square_sum)?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(chain_sensitivities, module)?)
}
