//! The network world.

mod outcome;

use std::{path::PathBuf, sync::Arc};

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use sluice_network::{Control, Plan, simulate, simulate_traced};
use sluice_tap::record;

use crate::{
    decisions::{self, unwritable},
    foreign::{Calls, Foreign},
    interruptible::interruptible,
    scenario::{PyDiscipline, PyScenario, refused},
};

/// What a run is, and what ends it.
struct Run {
    plan: Plan,
    control: Arc<Control>,
    calls: Arc<Calls>,
}

impl Run {
    fn of(scenario: &PyScenario, discipline: &PyDiscipline) -> PyResult<Self> {
        let control = Arc::new(Control::default());
        let calls = Calls::new(control.clone());
        let aqm = match discipline.0.configured() {
            Some(configured) => configured.into(),
            None => Foreign::source(discipline.foreign()?, &calls),
        };
        let plan = Plan::with_aqm(scenario.network()?, &discipline.0, aqm).map_err(refused)?;
        Ok(Self {
            plan,
            control,
            calls,
        })
    }
}

/// Runs a discipline on a scenario and gives the replications that were finished; Ctrl-C ends the
/// run. `watch(done_ns)` is called now and then with the time simulated so far, of all replications
/// together.
#[pyfunction]
fn simulate_network(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<outcome::Replication>> {
    let Run {
        plan,
        control,
        calls,
    } = Run::of(scenario, discipline)?;
    let run = || simulate(&plan, threads, &control).map_err(|error| error.to_string());
    watched(py, &control, &calls, watch, run)?
        .into_iter()
        .map(|run| outcome::Replication::new(py, run))
        .collect()
}

/// Runs the first replication of a discipline on a scenario and writes its packets to the file at
/// `path`; as `simulate_network` otherwise.
#[pyfunction]
fn record_network(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    path: PathBuf,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<outcome::Replication>> {
    let Run {
        plan,
        control,
        calls,
    } = Run::of(scenario, discipline)?;
    let run = || record(&plan, &path, &control).map_err(|error| error.to_string());
    watched(py, &control, &calls, watch, run)?
        .into_iter()
        .map(|run| outcome::Replication::new(py, run))
        .collect()
}

/// Runs the first replication of a discipline on a scenario and writes its decision log to the file
/// at `path`; as `simulate_network` otherwise.
#[pyfunction]
fn log_network_decisions(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    path: PathBuf,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<outcome::Replication>> {
    let Run {
        plan,
        control,
        calls,
    } = Run::of(scenario, discipline)?;
    let log = decisions::open(&path, || control.cancel());
    let mut log = log.map_err(|error| unwritable(&path, &error))?;
    let run = || simulate_traced(&plan, &control, &mut log).map_err(|error| error.to_string());
    let outcome = watched(py, &control, &calls, watch, run)?;
    log.finish().map_err(|error| unwritable(&path, &error))?;
    outcome
        .into_iter()
        .map(|run| outcome::Replication::new(py, run))
        .collect()
}

/// Runs while Ctrl-C can end it, and calls `watch`.
fn watched<T: Send>(
    py: Python<'_>,
    control: &Control,
    calls: &Calls,
    watch: Option<Py<PyAny>>,
    run: impl FnOnce() -> Result<T, String> + Send,
) -> PyResult<T> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (control.done_ns(),)).map(drop),
        None => Ok(()),
    };
    let (outcome, raised) = interruptible(py, || calls.cancel(), report, run);
    calls.raise()?;
    if let Err(error) = raised
        && !error.is_instance_of::<PyKeyboardInterrupt>(py)
    {
        return Err(error);
    }
    outcome.map_err(refused)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    outcome::register(module)?;
    module.add_function(wrap_pyfunction!(simulate_network, module)?)?;
    module.add_function(wrap_pyfunction!(record_network, module)?)?;
    module.add_function(wrap_pyfunction!(log_network_decisions, module)?)
}
