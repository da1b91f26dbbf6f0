//! The network world.

mod classes;
mod offered;
mod outcome;
mod outside;
mod rates;

use std::{fmt::Display, path::PathBuf, sync::Arc};

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use sluice_aqm::Scheduler;
use sluice_network::{self as network, Monitor, NetworkError, Plan, simulate, simulate_traced};
use sluice_scenario::Discipline;
use sluice_tap::record;

use crate::{
    decisions::{self, unwritable},
    foreign::{self, Calls},
    interruptible::interruptible,
    scenario::{PyDiscipline, PyScenario, refused},
};

pub use outcome::{Column, Replication};

/// A run, with what ends it.
pub struct Run {
    pub plan: Plan,
    pub monitor: Arc<Monitor>,
    pub calls: Arc<Calls>,
}

impl Run {
    /// The run of a discipline on a scenario.
    ///
    /// # Errors
    /// If flows cannot be simulated, or if a capture cannot be read.
    pub fn of(scenario: &PyScenario, discipline: &PyDiscipline) -> PyResult<Self> {
        let monitor = Arc::new(Monitor::default());
        let calls = Calls::new(monitor.clone());
        let source = |of: &Discipline| {
            let source = foreign::source(of, &calls);
            source.map_err(|error| NetworkError(error.to_string()))
        };
        let plan = Plan::with_aqms(scenario.network()?, &discipline.0, source).map_err(refused)?;
        Ok(Self {
            plan,
            monitor,
            calls,
        })
    }

    /// Calls `run`, which Ctrl-C can end, and `watch` from time to time.
    fn watched<T, E>(
        &self,
        py: Python<'_>,
        watch: Option<Py<PyAny>>,
        run: impl FnOnce(&Plan, &Monitor) -> Result<T, E> + Send,
    ) -> PyResult<Vec<Replication>>
    where
        T: IntoIterator<Item = network::Replication> + Send,
        E: Display,
    {
        let report = |py: Python<'_>| match &watch {
            Some(watch) => watch.call1(py, (self.monitor.done_ns(),)).map(drop),
            None => Ok(()),
        };
        let run = || run(&self.plan, &self.monitor).map_err(|error| error.to_string());
        let (found, raised) = interruptible(py, || self.calls.cancel(), report, run);
        self.calls.raise()?;
        if let Err(error) = raised
            && !error.is_instance_of::<PyKeyboardInterrupt>(py)
        {
            return Err(error);
        }
        let found = found.map_err(refused)?.into_iter();
        found.map(|run| Replication::new(py, run)).collect()
    }
}

/// Runs a discipline on a scenario and returns the replications that were finished; Ctrl-C ends the
/// run. `watch(done_ns)` is called from time to time with the time simulated so far, summed over
/// all replications.
#[pyfunction]
fn simulate_network(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<Replication>> {
    Run::of(scenario, discipline)?
        .watched(py, watch, |plan, monitor| simulate(plan, threads, monitor))
}

/// Runs the first replication of a discipline on a scenario and writes its packets to the file at
/// `path`; otherwise as `simulate_network`.
#[pyfunction]
fn record_network(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    path: PathBuf,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<Replication>> {
    Run::of(scenario, discipline)?.watched(py, watch, |plan, monitor| record(plan, &path, monitor))
}

/// Runs the first replication of a discipline on a scenario and writes its decision log to the file
/// at `path`; otherwise as `simulate_network`.
#[pyfunction]
fn log_network_decisions(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    path: PathBuf,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<Replication>> {
    let run = Run::of(scenario, discipline)?;
    let monitor = run.monitor.clone();
    let file = decisions::create(&path, move || monitor.cancel());
    let mut file = file.map_err(|error| unwritable(&path, &error))?;
    let mut log = decisions::log(&mut file);
    let found = run.watched(py, watch, |plan, monitor| {
        simulate_traced(plan, monitor, &mut log)
    })?;
    log.finish().map_err(|error| unwritable(&path, &error))?;
    Ok(found)
}

/// Returns the band of each traffic class at the queue with this number, among those of the scenario's links;
/// `None` if its discipline has no bands.
#[pyfunction]
fn bands_of_traffic_classes(
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    queue: usize,
) -> PyResult<Option<Vec<usize>>> {
    let plan = Plan::of(scenario.network()?, &discipline.0).map_err(refused)?;
    let ports = plan.topology.links.iter();
    let port = ports.filter_map(|link| link.port.as_ref()).nth(queue);
    let scheduler = port.and_then(|port| port.scheduler.as_ref());
    let bands = scheduler.and_then(Scheduler::bands_of_traffic_classes);
    Ok(bands.map(Vec::from))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    classes::register(module)?;
    offered::register(module)?;
    rates::register(module)?;
    outcome::register(module)?;
    outside::register(module)?;
    module.add_function(wrap_pyfunction!(simulate_network, module)?)?;
    module.add_function(wrap_pyfunction!(record_network, module)?)?;
    module.add_function(wrap_pyfunction!(log_network_decisions, module)?)?;
    module.add_function(wrap_pyfunction!(bands_of_traffic_classes, module)?)
}
