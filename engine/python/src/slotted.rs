//! The slotted world.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use numpy::PyArray1;
use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*, types::PyDict};
use sluice_aqm::Aqm;
use sluice_slotted::{Control, Outcome, Plan, Tally, Unit, simulate as run, simulate_observed};

use crate::{
    attended::attended,
    decisions::{self, unwritable},
    foreign::{Calls, Foreign},
    scenario::{PyDiscipline, PyScenario, refused},
};

/// Runs a discipline on a scenario. `watch(slots)` is called now and then with the slots done.
/// With `decisions`, the first replication alone is run, and its decision log is written to that
/// file. Ctrl-C ends the run and keeps what is finished; `interrupted` then says so.
#[pyfunction]
fn simulate<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
    decisions: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = Plan::of(scenario.slotted()?, &discipline.0).map_err(refused)?;
    let control = Arc::new(Control::default());
    let calls = Calls::new(control.clone());
    let ends = Ends { control, calls };
    let outcome = match discipline.0.configured() {
        Some(configured) => {
            let start = || configured.start();
            let outcome = run_or_log(py, &plan, start, threads, &ends, watch, decisions)?;
            configured
                .wrong()
                .map_or(Ok(outcome), |wrong| Err(refused(wrong)))?
        }
        None => {
            let factory = discipline.foreign()?;
            let start = || Foreign::start(&factory, &ends.calls);
            run_or_log(py, &plan, start, threads, &ends, watch, decisions)?
        }
    };
    ends.calls.raise()?;
    record(py, &outcome)
}

/// What ends a run.
struct Ends {
    control: Arc<Control>,
    calls: Arc<Calls>,
}

fn run_or_log<Q: Aqm>(
    py: Python<'_>,
    plan: &Plan,
    start: impl Fn() -> Q + Sync + Send,
    threads: Option<usize>,
    ends: &Ends,
    watch: Option<Py<PyAny>>,
    decisions: Option<PathBuf>,
) -> PyResult<Outcome> {
    let control = &*ends.control;
    match decisions {
        None => stopped_by_ctrl_c(py, ends, watch, || run(plan, start, threads, control)),
        Some(path) => {
            let work = || logged(plan, start, control, &path);
            stopped_by_ctrl_c(py, ends, watch, work)?.map_err(|error| unwritable(&path, &error))
        }
    }
}

/// Runs the first replication and writes its decisions to the file at `path`.
fn logged<Q: Aqm>(
    plan: &Plan,
    start: impl Fn() -> Q,
    control: &Control,
    path: &Path,
) -> io::Result<Outcome> {
    let mut log = decisions::open(path, || control.cancel())?;
    let outcome = simulate_observed(plan, start, plan.aqm_words(0), control, &mut log);
    log.finish()?;
    Ok(outcome)
}

/// Runs `work`; after Ctrl-C its outcome is what was finished by then.
fn stopped_by_ctrl_c<T: Send>(
    py: Python<'_>,
    ends: &Ends,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (ends.control.done(),)).map(drop),
        None => Ok(()),
    };
    match attended(py, || ends.calls.cancel(), report, work) {
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
