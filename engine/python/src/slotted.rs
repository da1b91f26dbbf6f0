//! The slotted world.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use sluice_aqm::AqmSource;
use sluice_slotted::{Monitor, Outcome, Plan, simulate as run, simulate_logged};

use crate::{
    counts::Tally,
    decisions::{self, unwritable},
    foreign::{Calls, source},
    interruptible::interruptible,
    scenario::{PyDiscipline, PyScenario, refused},
};

/// A part of one replication after its warm-up; the intervals are computed from these parts.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct Unit {
    replication: u32,
    tally: Py<Tally>,
}

/// Results of a run.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct SlottedOutcome {
    /// In the order of replications and time.
    units: Vec<Py<Unit>>,
    /// Slots that are left out at the start of each replication.
    warm_up_slots: u64,
    /// Slots of all replications together, including warm-up.
    slots: u64,
    interrupted: bool,
}

impl SlottedOutcome {
    pub fn new(py: Python<'_>, outcome: &Outcome) -> PyResult<Self> {
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

/// Runs a discipline on a scenario. `watch(slots)` is called from time to time with the slots done.
/// With `decisions`, only the first replication is run, and its decision log is written to that
/// file. Ctrl-C ends the run and keeps what is finished; `interrupted` is then true.
#[pyfunction]
fn simulate(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
    decisions: Option<PathBuf>,
) -> PyResult<SlottedOutcome> {
    let plan = Plan::of(scenario.slotted()?, &discipline.0).map_err(refused)?;
    let monitor = Arc::new(Monitor::default());
    let calls = Calls::new(monitor.clone());
    let aqm = source(&discipline.0, &calls)?;
    let ends = Ends { monitor, calls };
    let outcome = match decisions {
        None => stopped_by_ctrl_c(py, &ends, watch, || {
            run(&plan, &aqm, threads, &ends.monitor)
        })?,
        Some(path) => {
            let work = || logged(&plan, &aqm, &ends.monitor, &path);
            let outcome = stopped_by_ctrl_c(py, &ends, watch, work)?;
            outcome.map_err(|error| unwritable(&path, &error))?
        }
    };
    if let Some(wrong) = aqm.wrong() {
        return Err(refused(wrong));
    }
    ends.calls.raise()?;
    SlottedOutcome::new(py, &outcome)
}

/// Handles that end a run.
struct Ends {
    monitor: Arc<Monitor>,
    calls: Arc<Calls>,
}

/// Runs the first replication and writes its decisions to the file at `path`.
fn logged(plan: &Plan, aqm: &AqmSource, monitor: &Monitor, path: &Path) -> io::Result<Outcome> {
    let mut file = decisions::create(path, || monitor.cancel())?;
    let mut log = decisions::log(&mut file);
    let outcome = simulate_logged(plan, aqm, plan.aqm_words(0), monitor, &mut log);
    log.finish()?;
    Ok(outcome)
}

/// Runs `work`; after Ctrl-C, returns what was finished by then.
fn stopped_by_ctrl_c<T: Send>(
    py: Python<'_>,
    ends: &Ends,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (ends.monitor.done(),)).map(drop),
        None => Ok(()),
    };
    match interruptible(py, || ends.calls.cancel(), report, work) {
        (_, Err(error)) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        (outcome, _) => Ok(outcome),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Unit>()?;
    module.add_class::<SlottedOutcome>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
