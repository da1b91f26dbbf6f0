//! AQMs that are Python objects: slow, for first experiments.

use std::{
    ffi::{c_long, c_ulong},
    sync::{Arc, Mutex},
};

use pyo3::{exceptions::PyKeyboardInterrupt, ffi, prelude::*, types::PyBool};
use sluice_aqm::{Aqm, AqmSource, Verdict, View};
use sluice_scenario::Discipline;

use crate::scenario::{PyDiscipline, refused};

/// Everything that an AQM may see; the fields of `struct aqm_view`.
#[pyclass(frozen, name = "View")]
struct PyView(View);

#[pymethods]
impl PyView {
    /// Time of the call by the world's clock, ns.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now_ns
    }

    /// Time at which server and queue fell empty, ns; meaningful only while `idle`.
    #[getter]
    fn idle_since_ns(&self) -> u64 {
        self.0.idle_since_ns
    }

    /// In `depart`: how long the packet has waited, ns.
    #[getter]
    fn sojourn_ns(&self) -> u64 {
        self.0.sojourn_ns
    }

    /// Rate of the link behind the queue, bits/s.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate_bps
    }

    /// In `arrive` and `depart`: a fresh random word of 64 bits.
    #[getter]
    fn random(&self) -> u64 {
        self.0.random
    }

    /// The random word as a number in [0, 1): drop if it is below the drop probability.
    #[getter]
    fn uniform(&self) -> f64 {
        (self.0.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Bytes that wait, without the packet in service; with a scheduler, in this AQM's queue.
    #[getter]
    fn queue_bytes(&self) -> u64 {
        self.0.queue_bytes
    }

    /// Bytes that wait in all queues together, without the packet in service; 0 at ticks.
    #[getter]
    fn buffer_bytes(&self) -> u64 {
        self.0.buffer_bytes
    }

    /// Packets that wait, without the one in service; with a scheduler, in this AQM's queue.
    #[getter]
    fn queue_packets(&self) -> u32 {
        self.0.queue_packets
    }

    /// Limit of the buffer, packets; with a scheduler, of all queues together.
    #[getter]
    fn limit_packets(&self) -> u32 {
        self.0.limit_packets
    }

    /// Size of the packet of this call, bytes.
    #[getter]
    fn packet_bytes(&self) -> u32 {
        self.0.packet_bytes
    }

    /// Hash of the packet's flow.
    #[getter]
    fn flow_hash(&self) -> u32 {
        self.0.flow_hash
    }

    /// In `arrive`, if the AQM wants a candidate: hash of the flow of a waiting packet that was
    /// drawn at random.
    #[getter]
    fn candidate_flow_hash(&self) -> u32 {
        self.0.candidate_flow_hash
    }

    /// In `arrive`: True if the buffer has no room for the packet.
    #[getter]
    fn full(&self) -> bool {
        self.0.full != 0
    }

    /// True while no packet waits and none is in service.
    #[getter]
    fn idle(&self) -> bool {
        self.0.idle != 0
    }

    /// Number of this AQM's queue; without a scheduler 0.
    #[getter]
    fn lane(&self) -> u32 {
        self.0.lane
    }

    /// ECN codepoint of the packet: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[getter]
    fn ecn(&self) -> u8 {
        self.0.traffic_class & 3
    }

    /// The packet's differentiated services codepoint, 0 to 63.
    #[getter]
    fn dscp(&self) -> u8 {
        self.0.traffic_class >> 2
    }

    /// True if the packet may be marked instead of dropped.
    #[getter]
    fn ecn_capable(&self) -> bool {
        self.0.ecn_capable != 0
    }
}

/// Ends a run of any world.
pub trait Stop: Send + Sync {
    /// Ends the run.
    fn cancel(&self);

    /// True if the run shall end; its results from then on are thrown away.
    fn is_cancelled(&self) -> bool;
}

impl Stop for sluice_slotted::Monitor {
    fn cancel(&self) {
        self.cancel();
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

impl Stop for sluice_network::Monitor {
    fn cancel(&self) {
        self.cancel();
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled()
    }
}

/// State that all Python AQMs of a run share.
pub struct Calls {
    stop: Arc<dyn Stop>,
    /// The first exception, until the run has ended.
    failure: Mutex<Option<PyErr>>,
    /// Python's identifiers of the threads that are in a Python AQM now.
    inside: Mutex<Vec<c_ulong>>,
}

impl Calls {
    /// Returns the shared state of the run that `stop` ends.
    pub fn new(stop: Arc<dyn Stop>) -> Arc<Self> {
        Arc::new(Self {
            stop,
            failure: Mutex::default(),
            inside: Mutex::default(),
        })
    }

    /// Ends the run, and interrupts the Python AQMs that run now: one may be in an endless loop.
    pub fn cancel(&self) {
        self.stop.cancel();
        Python::attach(|py| {
            let interrupt = py.get_type::<PyKeyboardInterrupt>();
            for thread in self.inside.lock().unwrap().iter() {
                // SAFETY: Python is attached, and takes a reference of its own; the identifier of
                // a thread that has ended has no effect.
                unsafe { ffi::PyThreadState_SetAsyncExc(*thread as c_long, interrupt.as_ptr()) };
            }
        });
    }

    /// Raises the first exception of a Python AQM, if there was one.
    ///
    /// # Errors
    /// That exception.
    pub fn raise(&self) -> PyResult<()> {
        self.failure.lock().unwrap().take().map_or(Ok(()), Err)
    }

    /// Calls Python and returns the result; an exception ends the run and gives `None`.
    fn attached<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        // the results of a cancelled run are thrown away, so it need not wait for Python
        if self.stop.is_cancelled() {
            return None;
        }
        Python::attach(|py| {
            // SAFETY: only reads the identifier of this thread.
            let thread = unsafe { ffi::PyThread_get_thread_ident() };
            self.inside.lock().unwrap().push(thread);
            let said = call(py);
            self.inside.lock().unwrap().retain(|other| *other != thread);
            said.map_err(|error| self.fail(py, error)).ok()
        })
    }

    fn fail(&self, py: Python<'_>, error: PyErr) {
        // then `cancel` raised it
        let interrupted = error.is_instance_of::<PyKeyboardInterrupt>(py);
        if !(interrupted && self.stop.is_cancelled()) {
            self.failure.lock().unwrap().get_or_insert(error);
        }
        self.stop.cancel();
    }
}

/// An AQM that is one Python object; its methods are called with the GIL held.
pub struct Foreign {
    object: Option<Py<PyAny>>,
    watches_departures: bool,
    watches_occupancy: bool,
    wants_candidate: bool,
    tick_interval_ns: Option<u64>,
    calls: Arc<Calls>,
}

/// Returns the source of the AQMs of a discipline in a run.
///
/// # Errors
/// If the AQM is neither a header nor a Python class.
pub fn source(discipline: &Discipline, calls: &Arc<Calls>) -> PyResult<AqmSource> {
    match discipline.source() {
        Some(source) => Ok(source),
        None => Ok(Foreign::source(
            PyDiscipline(discipline.clone()).foreign()?,
            calls,
        )),
    }
}

impl Foreign {
    /// Calls `factory` for a new AQM. An exception ends the run.
    fn start(factory: &Py<PyAny>, calls: &Arc<Calls>) -> Self {
        let mut foreign = Self {
            object: None,
            watches_departures: false,
            watches_occupancy: false,
            wants_candidate: false,
            tick_interval_ns: None,
            calls: calls.clone(),
        };
        foreign.object = calls.attached(|py| {
            let object = factory.bind(py).call0()?;
            foreign.watches_departures = object.hasattr("depart")?;
            foreign.watches_occupancy = object.hasattr("occupancy")?;
            if object.hasattr("wants_candidate")? {
                foreign.wants_candidate = object.getattr("wants_candidate")?.extract()?;
            }
            if object.hasattr("tick")? {
                let interval: u64 = object.getattr("tick_interval_ns")?.extract()?;
                if interval == 0 {
                    return Err(refused("tick_interval_ns = 0 must be at least 1 (ns)"));
                }
                foreign.tick_interval_ns = Some(interval);
            }
            Ok(object.unbind())
        });
        foreign
    }

    /// Returns the source of the AQMs of a run: each queue calls `factory`.
    fn source(factory: Py<PyAny>, calls: &Arc<Calls>) -> AqmSource {
        let calls = calls.clone();
        AqmSource::Foreign(Arc::new(move || Box::new(Self::start(&factory, &calls))))
    }

    /// Calls a method of the object; `None` if the object could not be made, or if the call fails.
    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        let object = self.object.as_ref()?;
        self.calls.attached(|py| call(object.bind(py)))
    }

    /// Returns the verdict of a method; `Admit` if it fails.
    fn ask(&self, method: &str, view: &View, may_drop_both: bool) -> Verdict {
        let verdict = self.call(|object| {
            let said = object.call_method1(method, (PyView(*view),))?;
            let both = may_drop_both;
            verdict_of(&said, both).ok_or_else(|| no_verdict(object, method, &said, both))
        });
        verdict.unwrap_or(Verdict::Admit)
    }
}

/// Returns the verdict for a Python object; `None` if the AQM must not return it.
fn verdict_of(said: &Bound<'_, PyAny>, may_drop_both: bool) -> Option<Verdict> {
    // True counts as 1 in Python
    if said.is_instance_of::<PyBool>() {
        return None;
    }
    match said.extract::<u32>() {
        Ok(0) => Some(Verdict::Admit),
        Ok(1) => Some(Verdict::DropEarly),
        Ok(2) => Some(Verdict::DropForced),
        Ok(5) if may_drop_both => Some(Verdict::DropBoth),
        _ => None,
    }
}

fn no_verdict(
    object: &Bound<'_, PyAny>,
    method: &str,
    said: &Bound<'_, PyAny>,
    may_drop_both: bool,
) -> PyErr {
    let verdicts = match may_drop_both {
        true => "ADMIT, DROP_EARLY, DROP_FORCED or DROP_BOTH",
        false => "ADMIT, DROP_EARLY or DROP_FORCED",
    };
    let message = || {
        let (class, said) = (object.get_type().name()?, said.repr()?);
        PyResult::Ok(format!(
            "{class}.{method} returned {said}; it must return {verdicts} (of sluicegate)"
        ))
    };
    message().map_or_else(|error| error, refused)
}

impl Aqm for Foreign {
    fn arrive(&mut self, view: &View) -> Verdict {
        Self::settle(self.ask("arrive", view, self.wants_candidate), view)
    }

    fn watches_departures(&self) -> bool {
        self.watches_departures
    }

    fn depart(&mut self, view: &View) -> Verdict {
        self.ask("depart", view, false)
    }

    fn wants_candidate(&self) -> bool {
        self.wants_candidate
    }

    fn watches_occupancy(&self) -> bool {
        self.watches_occupancy
    }

    fn occupancy(&mut self, view: &View, change: i64) {
        self.call(|object| {
            object
                .call_method1("occupancy", (PyView(*view), change))
                .map(drop)
        });
    }

    fn tick_interval_ns(&self) -> Option<u64> {
        self.tick_interval_ns
    }

    fn tick(&mut self, view: &View) {
        self.call(|object| object.call_method1("tick", (PyView(*view),)).map(drop));
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ADMIT", Verdict::Admit as u32)?;
    module.add("DROP_EARLY", Verdict::DropEarly as u32)?;
    module.add("DROP_FORCED", Verdict::DropForced as u32)?;
    module.add("DROP_BOTH", Verdict::DropBoth as u32)?;
    module.add_class::<PyView>()
}
