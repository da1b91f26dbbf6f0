//! The exact chain: it is built once from a plan and then solved for several questions.

mod losses;
mod passage;
mod sensitivity;
mod source;
mod steady;
mod transient;

use pyo3::prelude::*;
use sluice_chain::{Chain, ChainError, Plan, Progress};

use crate::{
    interruptible::interruptible,
    scenario::{PyDiscipline, PyScenario, refused},
};

/// The grid of the average: its step (packets), or its levels (packets).
#[derive(FromPyObject)]
enum Grid {
    Step(f64),
    Levels(Vec<f64>),
}

/// The chain of a plan.
#[pyclass(name = "Chain", module = "sluicegate._engine", frozen)]
pub struct PyChain {
    chain: Chain,
    plan: Plan,
}

#[pymethods]
impl PyChain {
    /// Builds the chain of a discipline on a scenario. `grid` is the step of the average or its
    /// levels, packets; `memory` is the most memory that building and solving may take, bytes.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &PyScenario,
        discipline: &PyDiscipline,
        grid: Grid,
        memory: f64,
    ) -> PyResult<Self> {
        let step = match grid {
            Grid::Step(step) => step,
            // there is no step: `Chain::on` gets the levels
            Grid::Levels(_) => f64::NAN,
        };
        let plan = Plan::of(scenario.slotted()?, &discipline.0, step, memory).map_err(refused)?;
        let chain = py
            .detach(|| match &grid {
                Grid::Step(_) => Chain::new(&plan),
                Grid::Levels(levels) => Chain::on(&plan, levels),
            })
            .map_err(refused)?;
        Ok(Self { chain, plan })
    }
}

impl PyChain {
    /// Runs `question` on the chain and returns its result. Ctrl-C ends it. `watch(method, done,
    /// all)` is called from time to time: with `direct`, the sizes eliminated and all sizes, or
    /// with `iterative`, the sweeps done and the residual.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        watch: Option<Py<PyAny>>,
        question: impl FnOnce(&Chain) -> Result<T, ChainError> + Send,
    ) -> PyResult<T> {
        let (chain, monitor) = (&self.chain, self.chain.monitor());
        monitor.start();
        let report = |py: Python<'_>| {
            let (Some(watch), Some(progress)) = (&watch, monitor.progress()) else {
                return Ok(());
            };
            match progress {
                Progress::Eliminated { sizes, of } => watch.call1(py, ("direct", sizes, of)),
                Progress::Swept { sweeps, residual } => {
                    watch.call1(py, ("iterative", sweeps, residual))
                }
            }
            .map(drop)
        };
        let (found, raised) = interruptible(py, || monitor.cancel(), report, || question(chain));
        raised?;
        found.map_err(refused)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyChain>()?;
    steady::register(module)?;
    losses::register(module)?;
    passage::register(module)?;
    sensitivity::register(module)?;
    source::register(module)?;
    transient::register(module)
}
