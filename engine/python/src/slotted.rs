//! The slotted world.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*, types::PyDict};
use sluice_slotted::{Control, Outcome, Plan, Tally, Unit, simulate as run};

use crate::{
    attended::attended,
    foreign::{Failure, Foreign},
    scenario::{PyDiscipline, PyScenario, refused},
};

/// Runs a discipline on a scenario. `watch(slots)` is called now and then with the slots done.
/// Ctrl-C ends the run and keeps what is finished; `interrupted` then says so.
#[pyfunction]
fn simulate<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = Plan::of(scenario.slotted()?, &discipline.0).map_err(refused)?;
    let (control, failure) = (Arc::new(Control::default()), Failure::default());
    let outcome = match discipline.0.configured() {
        Some(configured) => stopped_by_ctrl_c(py, &control, watch, || {
            run(&plan, || configured.start(), threads, &control)
        })?,
        None => {
            let factory = discipline.foreign()?;
            let start = || Foreign::start(&factory, &failure, &control);
            stopped_by_ctrl_c(py, &control, watch, || run(&plan, start, threads, &control))?
        }
    };
    if let Some(error) = failure.lock().unwrap().take() {
        return Err(error);
    }
    record(py, &outcome)
}

/// Runs `work`; after Ctrl-C its outcome is what was finished by then.
fn stopped_by_ctrl_c(
    py: Python<'_>,
    control: &Control,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce() -> Outcome + Send,
) -> PyResult<Outcome> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (control.done(),)).map(drop),
        None => Ok(()),
    };
    match attended(py, || control.cancel(), report, work) {
        (_, Err(error)) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        (outcome, _) => Ok(outcome),
    }
}

fn record<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let units: Vec<_> = outcome
        .units
        .iter()
        .map(|unit| counts(py, unit))
        .collect::<PyResult<_>>()?;
    let table = PyDict::new(py);
    table.set_item("units", units)?;
    table.set_item("warm_up_slots", outcome.warm_up_slots)?;
    table.set_item("slots", outcome.slots)?;
    table.set_item("interrupted", outcome.interrupted)?;
    Ok(table)
}

fn counts<'py>(py: Python<'py>, unit: &Unit) -> PyResult<Bound<'py, PyDict>> {
    let Tally {
        slots,
        idle_slots,
        queue,
        wait,
        served_bytes,
        arrivals,
        verdicts,
    } = &unit.tally;
    let table = PyDict::new(py);
    table.set_item("replication", unit.replication)?;
    table.set_item("slots", slots)?;
    table.set_item("idle_slots", idle_slots)?;
    table.set_item("queue", PyArray1::from_slice(py, queue))?;
    table.set_item("wait", PyArray1::from_vec(py, wait.bins()))?;
    table.set_item("wait_bin_slots", wait.width())?;
    table.set_item("served", wait.count())?;
    table.set_item("served_bytes", served_bytes)?;
    table.set_item("wait_sum", wait.sum())?;
    table.set_item("wait_square_sum", wait.square_sum())?;
    table.set_item("arrivals", arrivals)?;
    table.set_item("verdicts", verdicts.to_vec())?;
    Ok(table)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
