//! The applications of a replication, for Python's senders.

use std::sync::Mutex;

use pyo3::prelude::*;
use sluice_network::{Outside, Plan};

use super::classes::ClassCounts;
use crate::scenario::{PyDiscipline, PyScenario, refused};

/// The applications of one replication: the users and players of the network world, told what happens
/// to real packets. Times are of the run, ns.
#[pyclass(frozen, module = "sluicegate._engine")]
pub struct Applications(Mutex<Outside>);

impl Applications {
    /// Calls with what it holds.
    fn with<T>(&self, act: impl FnOnce(&mut Outside) -> T) -> T {
        let mut held = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        act(&mut held)
    }
}

#[pymethods]
impl Applications {
    #[new]
    fn new(scenario: &PyScenario, discipline: &PyDiscipline, replication: u32) -> PyResult<Self> {
        let plan = Plan::of(scenario.network()?, &discipline.0).map_err(refused)?;
        let outside = Outside::new(&plan, replication).map_err(refused)?;
        Ok(Self(Mutex::new(outside)))
    }

    /// A TCP flow's application gives it packets. Returns how many, and when it gives the next
    /// whatever becomes of them; None if that decides.
    fn supply(&self, flow: u32, now_ns: u64) -> PyResult<(u32, Option<u64>)> {
        let supply = self.with(|held| held.supply(flow, now_ns));
        let supply = supply.map_err(refused)?;
        Ok((supply.packets, supply.again_ns))
    }

    /// All that its application gave a TCP flow is there. Returns when which flows get packets: the
    /// time, the first flow, and that after the last; None if none does.
    fn arrived(&self, flow: u32, now_ns: u64) -> PyResult<Option<(u64, u32, u32)>> {
        let next = self.with(|held| held.arrived(flow, now_ns));
        Ok(next
            .map_err(refused)?
            .map(|(due_ns, flows)| (due_ns, flows.start, flows.end)))
    }

    /// What was counted of the applications of each class since the last call; with `last` also what
    /// is unfinished.
    fn take(&self, py: Python<'_>, now_ns: u64, last: bool) -> PyResult<Vec<Py<ClassCounts>>> {
        let period = self.with(|held| held.take(now_ns, last));
        let classes = 0..period.classes.len();
        classes
            .map(|class| ClassCounts::new(py, &period, class))
            .collect()
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Applications>()
}
