//! Sessions of the slotted world.

use std::sync::Arc;

use pyo3::prelude::*;
use sluice_scenario::Queue;
use sluice_slotted::{Monitor, Plan, Session};

use super::{Held, QueueState, in_parts};
use crate::{
    foreign::{Calls, source},
    scenario::{PyDiscipline, PyScenario, of_object, refused},
    slotted::SlottedOutcome,
};

/// Length of the first part of an advance, slots.
const FIRST: u64 = 1 << 16;

struct AtWork {
    session: Session,
    monitor: Arc<Monitor>,
    calls: Arc<Calls>,
    part: u64,
}

impl AtWork {
    fn advance(&mut self, py: Python<'_>, until: u64) -> PyResult<()> {
        let (session, monitor) = (&mut self.session, &self.monitor);
        let span = (session.now(), until);
        in_parts(py, (&mut self.part, &self.calls), span, |until| {
            session.advance(until, monitor)
        })
    }
}

/// A run of a discipline on a scenario that is advanced in parts: of its first replication.
#[pyclass(frozen, module = "sluicegate._engine")]
struct SlottedSession(Held<AtWork>);

#[pymethods]
impl SlottedSession {
    #[new]
    fn new(py: Python<'_>, scenario: &PyScenario, discipline: &PyDiscipline) -> PyResult<Self> {
        let plan = Plan::of(scenario.slotted()?, &discipline.0).map_err(refused)?;
        let monitor = Arc::new(Monitor::default());
        let calls = Calls::new(monitor.clone());
        let aqm = source(&discipline.0, &calls)?;
        let session = py.detach(|| Session::new(plan, aqm));
        calls.raise()?;
        Ok(Self(Held::new(AtWork {
            session,
            monitor,
            calls,
            part: FIRST,
        })))
    }

    /// Slots that are over.
    #[getter]
    fn now(&self) -> PyResult<u64> {
        self.0.with(|at_work| Ok(at_work.session.now()))
    }

    /// Runs the slots before `until`.
    fn advance(&self, py: Python<'_>, until: u64) -> PyResult<()> {
        self.0.with(|at_work| at_work.advance(py, until))
    }

    fn observe(&self, py: Python<'_>) -> PyResult<Observation> {
        self.0.with(|at_work| {
            let seen = at_work.session.observe();
            Ok(Observation {
                now: seen.now,
                queue: QueueState::new(py, &seen.queue)?,
                in_service: seen.in_service,
                idle_slots: seen.idle_slots,
                arrivals: seen.arrivals,
                served: seen.served,
                served_bytes: seen.served_bytes,
            })
        })
    }

    /// Puts the queue under another discipline; `queue` is the buffer.
    fn retune(
        &self,
        py: Python<'_>,
        discipline: &PyDiscipline,
        queue: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let queue: Queue = of_object(queue)?;
        self.0.with(|at_work| {
            let aqm = source(&discipline.0, &at_work.calls)?;
            if let Some(what) = discipline.0.unfit(&queue) {
                return Err(refused(what));
            }
            let scheduler = discipline.0.in_lanes();
            let with_limits = discipline.0.on(&queue);
            let session = &mut at_work.session;
            let done = py.detach(|| session.retune(with_limits, scheduler.as_ref(), &aqm));
            at_work.calls.raise()?;
            done.map_err(refused)
        })
    }

    /// Runs to the end and returns the result; the session is then over.
    fn end(&self, py: Python<'_>) -> PyResult<SlottedOutcome> {
        self.0.with(|at_work| {
            let slots = at_work.session.slots();
            at_work.advance(py, slots)
        })?;
        let AtWork {
            session, monitor, ..
        } = self.0.take()?;
        let ended = session.end(&monitor).map_err(refused)?;
        SlottedOutcome::new(py, &ended.expect("it has come to its end"))
    }
}

/// What can be seen of a slotted queue at one moment.
#[pyclass(
    frozen,
    get_all,
    name = "SlottedObservation",
    module = "sluicegate._engine"
)]
struct Observation {
    now: u64,
    queue: Py<QueueState>,
    in_service: bool,
    idle_slots: u64,
    arrivals: u64,
    served: u64,
    served_bytes: u64,
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SlottedSession>()?;
    module.add_class::<Observation>()
}
