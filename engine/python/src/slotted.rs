//! The slotted world.

use std::sync::Arc;

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use sluice_slotted::{Control, Outcome, Plan, simulate as run};

use crate::{
    counts::Tally,
    foreign::{Failure, Foreign},
    interruptible::interruptible,
    scenario::{PyDiscipline, PyScenario, refused},
};

/// A part of one replication, after its warm-up: what the intervals rest on.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct Unit {
    replication: u32,
    tally: Py<Tally>,
}

/// What a run gives.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct SlottedOutcome {
    /// In the order of replications and time.
    units: Vec<Py<Unit>>,
    /// Left out at the start of each replication.
    warm_up_slots: u64,
    /// Of all replications together, warm-up included.
    slots: u64,
    interrupted: bool,
}

impl SlottedOutcome {
    fn new(py: Python<'_>, outcome: &Outcome) -> PyResult<Self> {
        let unit = |unit: &sluice_slotted::Unit| {
            let unit = Unit {
                replication: unit.replication,
                tally: Tally::of_slots(py, &unit.tally)?,
            };
            Py::new(py, unit)
        };
        Ok(Self {
            units: outcome.units.iter().map(unit).collect::<PyResult<_>>()?,
            warm_up_slots: outcome.warm_up_slots,
            slots: outcome.slots,
            interrupted: outcome.interrupted,
        })
    }
}

/// Runs a discipline on a scenario. `watch(slots)` is called now and then with the slots done.
/// Ctrl-C ends the run and keeps what is finished; `interrupted` then says so.
#[pyfunction]
fn simulate(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<SlottedOutcome> {
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
    SlottedOutcome::new(py, &outcome)
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
    match interruptible(py, || control.cancel(), report, work) {
        (_, Err(error)) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        (outcome, _) => Ok(outcome),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Unit>()?;
    module.add_class::<SlottedOutcome>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
