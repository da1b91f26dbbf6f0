//! Sessions of the network world.

use std::sync::Arc;

use numpy::PyArray1;
use pyo3::prelude::*;
use sluice_network::{self as network, Monitor, PortPlan, Session};
use sluice_scenario::Queue;

use super::{Held, QueueState, in_parts};
use crate::{
    foreign::{self, Calls},
    network::{Column, Replication, Run},
    scenario::{PyDiscipline, PyScenario, of_object, refused},
};

/// Length of the first part of an advance, ns.
const FIRST_NS: u64 = 1_000_000;

struct AtWork {
    session: Session,
    monitor: Arc<Monitor>,
    calls: Arc<Calls>,
    /// The links that have a queue.
    ports: Vec<usize>,
    part_ns: u64,
}

impl AtWork {
    /// Returns the number of the link behind a port.
    fn link(&self, port: usize) -> PyResult<usize> {
        let link = self.ports.get(port).copied();
        link.ok_or_else(|| refused("there is no such port"))
    }

    fn advance(&mut self, py: Python<'_>, until_ns: u64) -> PyResult<()> {
        let (session, monitor) = (&mut self.session, &self.monitor);
        let span = (session.now_ns(), until_ns);
        in_parts(py, (&mut self.part_ns, &self.calls), span, |until_ns| {
            let came = session.advance(until_ns, monitor);
            came.map_err(|error| error.to_string())
        })
    }
}

/// Returns the numbers of the links that have a queue.
fn ports(scenario: &PyScenario) -> PyResult<Vec<usize>> {
    let links = scenario.network()?.topology.simplex_links();
    let queued = links.iter().enumerate().filter(|(_, link)| link.queue);
    Ok(queued.map(|(number, _)| number).collect())
}

/// A run of a discipline on a scenario that is advanced in parts: of its first replication.
#[pyclass(frozen, module = "sluicegate._engine")]
struct NetworkSession(Held<AtWork>);

#[pymethods]
impl NetworkSession {
    #[new]
    fn new(py: Python<'_>, scenario: &PyScenario, discipline: &PyDiscipline) -> PyResult<Self> {
        let Run {
            plan,
            monitor,
            calls,
        } = Run::of(scenario, discipline)?;
        let session = py.detach(|| Session::new(plan));
        calls.raise()?;
        Ok(Self(Held::new(AtWork {
            session: session.map_err(|error| refused(error.to_string()))?,
            monitor,
            calls,
            ports: ports(scenario)?,
            part_ns: FIRST_NS,
        })))
    }

    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        self.0.with(|at_work| Ok(at_work.session.now_ns()))
    }

    /// Does all that comes before `until_ns`.
    fn advance(&self, py: Python<'_>, until_ns: u64) -> PyResult<()> {
        self.0.with(|at_work| at_work.advance(py, until_ns))
    }

    fn observe(&self, py: Python<'_>) -> PyResult<Observation> {
        self.0
            .with(|at_work| Observation::new(py, &at_work.session.observe()))
    }

    /// Puts the queue before a link, by its number among those that have one, under another
    /// discipline; `queue` is the buffer.
    fn retune(
        &self,
        py: Python<'_>,
        port: usize,
        discipline: &PyDiscipline,
        queue: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let queue: Queue = of_object(queue)?;
        self.0.with(|at_work| {
            let aqm = foreign::source(&discipline.0, &at_work.calls)?;
            let link = at_work.link(port)?;
            if let Some(what) = discipline.0.unfit(&queue) {
                return Err(refused(what));
            }
            let to = PortPlan {
                discipline: discipline.0.on(&queue),
                scheduler: discipline.0.in_lanes(),
                aqm,
            };
            let session = &mut at_work.session;
            let done = py.detach(|| session.retune(link, &to));
            at_work.calls.raise()?;
            done.map_err(|error| refused(error.to_string()))
        })
    }

    /// Sets another rate of the link behind a port.
    fn set_rate(&self, port: usize, rate_bps: u64) -> PyResult<()> {
        self.0.with(|at_work| {
            let link = at_work.link(port)?;
            let done = at_work.session.set_rate(link, rate_bps);
            done.map_err(|error| refused(error.to_string()))
        })
    }

    /// Runs to the end and returns the result; the session is then over.
    fn end(&self, py: Python<'_>) -> PyResult<Replication> {
        self.0.with(|at_work| {
            let end_ns = at_work.session.end_ns();
            at_work.advance(py, end_ns)
        })?;
        let AtWork {
            session, monitor, ..
        } = self.0.take()?;
        let ended = session
            .end(&monitor)
            .map_err(|error| refused(error.to_string()))?;
        Replication::new(py, ended.expect("it has come to its end"))
    }
}

/// What can be seen of a network at one moment.
#[pyclass(
    frozen,
    get_all,
    name = "NetworkObservation",
    module = "sluicegate._engine"
)]
struct Observation {
    now_ns: u64,
    /// One element per port.
    ports: Vec<Py<PortState>>,
    /// One element per group of flows and pair of nodes.
    groups: Vec<Py<GroupState>>,
}

impl Observation {
    fn new(py: Python<'_>, seen: &network::Observation) -> PyResult<Self> {
        let ports = seen.ports.iter().map(|port| PortState::new(py, port));
        let groups = seen.groups.iter().map(|group| GroupState::new(py, group));
        Ok(Self {
            now_ns: seen.now_ns,
            ports: ports.collect::<PyResult<_>>()?,
            groups: groups.collect::<PyResult<_>>()?,
        })
    }
}

/// The queue before a link.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct PortState {
    queue: Py<QueueState>,
    in_service: bool,
    rate_bps: u64,
    arrivals: u64,
    sent: u64,
    sent_bytes: u64,
}

impl PortState {
    fn new(py: Python<'_>, state: &network::PortState) -> PyResult<Py<Self>> {
        let state = Self {
            queue: QueueState::new(py, &state.queue)?,
            in_service: state.in_service,
            rate_bps: state.rate_bps,
            arrivals: state.arrivals,
            sent: state.sent,
            sent_bytes: state.sent_bytes,
        };
        Py::new(py, state)
    }
}

/// A group of flows between one pair of nodes; see `sluice_network::GroupState`.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct GroupState {
    flows: u32,
    windows: Column<f64>,
    srtts_ns: Column<u64>,
    in_flight: Option<u64>,
    delivered: u64,
    delivered_bytes: Option<u64>,
    retransmissions: u64,
    timeouts: u64,
}

impl GroupState {
    fn new(py: Python<'_>, state: &network::GroupState) -> PyResult<Py<Self>> {
        let state = Self {
            flows: state.flows,
            windows: PyArray1::from_slice(py, &state.windows).unbind(),
            srtts_ns: PyArray1::from_slice(py, &state.srtts_ns).unbind(),
            in_flight: state.in_flight,
            delivered: state.delivered,
            delivered_bytes: state.delivered_bytes,
            retransmissions: state.retransmissions,
            timeouts: state.timeouts,
        };
        Py::new(py, state)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NetworkSession>()?;
    module.add_class::<Observation>()?;
    module.add_class::<PortState>()?;
    module.add_class::<GroupState>()
}
