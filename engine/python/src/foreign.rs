//! An AQM that is a Python object: slow, for a first idea.

use std::sync::{Arc, Mutex};

use pyo3::{exceptions::PyValueError, prelude::*};
use sluice_aqm::{Aqm, Verdict, View};
use sluice_slotted::Control;

/// Everything that an AQM may see of the world; the fields of `struct aqm_view`.
#[pyclass(frozen, name = "View")]
struct PyView(View);

#[pymethods]
impl PyView {
    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now_ns
    }

    #[getter]
    fn idle_since_ns(&self) -> u64 {
        self.0.idle_since_ns
    }

    #[getter]
    fn sojourn_ns(&self) -> u64 {
        self.0.sojourn_ns
    }

    #[getter]
    fn rate_bps(&self) -> u64 {
        self.0.rate_bps
    }

    #[getter]
    fn random(&self) -> u64 {
        self.0.random
    }

    /// The random word as a number in [0, 1).
    #[getter]
    fn uniform(&self) -> f64 {
        (self.0.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[getter]
    fn queue_bytes(&self) -> u64 {
        self.0.queue_bytes
    }

    #[getter]
    fn queue_packets(&self) -> u32 {
        self.0.queue_packets
    }

    #[getter]
    fn limit_packets(&self) -> u32 {
        self.0.limit_packets
    }

    #[getter]
    fn packet_bytes(&self) -> u32 {
        self.0.packet_bytes
    }

    #[getter]
    fn flow_hash(&self) -> u32 {
        self.0.flow_hash
    }

    #[getter]
    fn candidate_flow_hash(&self) -> u32 {
        self.0.candidate_flow_hash
    }

    #[getter]
    fn full(&self) -> bool {
        self.0.full != 0
    }

    #[getter]
    fn idle(&self) -> bool {
        self.0.idle != 0
    }

    #[getter]
    fn ecn_capable(&self) -> bool {
        self.0.ecn_capable != 0
    }
}

/// Where the first exception of a Python AQM waits until the run has ended.
pub type Failure = Arc<Mutex<Option<PyErr>>>;

/// One Python object at work; it is asked under the GIL.
pub struct Foreign {
    object: Option<Py<PyAny>>,
    watches_departures: bool,
    watches_occupancy: bool,
    wants_candidate: bool,
    tick_interval_ns: Option<u64>,
    failure: Failure,
    control: Arc<Control>,
}

impl Foreign {
    /// Calls `factory` for a fresh AQM. An exception ends the run through `control`.
    pub fn start(factory: &Py<PyAny>, failure: &Failure, control: &Arc<Control>) -> Self {
        let mut foreign = Self {
            object: None,
            watches_departures: false,
            watches_occupancy: false,
            wants_candidate: false,
            tick_interval_ns: None,
            failure: failure.clone(),
            control: control.clone(),
        };
        let made = Python::attach(|py| {
            let object = factory.bind(py).call0()?;
            foreign.watches_departures = object.hasattr("depart")?;
            foreign.watches_occupancy = object.hasattr("occupancy")?;
            if object.hasattr("wants_candidate")? {
                foreign.wants_candidate = object.getattr("wants_candidate")?.extract()?;
            }
            if object.hasattr("tick")? {
                let interval: u64 = object.getattr("tick_interval_ns")?.extract()?;
                if interval == 0 {
                    let message = "tick_interval_ns = 0 must be at least 1 (ns)";
                    return Err(PyValueError::new_err(message));
                }
                foreign.tick_interval_ns = Some(interval);
            }
            Ok(object.unbind())
        });
        foreign.object = made.map_err(|error| foreign.fail(error)).ok();
        foreign
    }

    fn fail(&self, error: PyErr) {
        self.failure.lock().unwrap().get_or_insert(error);
        self.control.cancel();
    }

    /// What `call` gets from the object; an exception ends the run.
    fn attached(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<Verdict>) -> Verdict {
        // of a cancelled run the rest is thrown away, and need not wait for Python
        let Some(object) = self
            .object
            .as_ref()
            .filter(|_| !self.control.is_cancelled())
        else {
            return Verdict::Admit;
        };
        Python::attach(|py| call(object.bind(py))).unwrap_or_else(|error| {
            self.fail(error);
            Verdict::Admit
        })
    }

    fn ask(&self, method: &str, view: &View) -> Verdict {
        self.attached(|object| {
            let said = object.call_method1(method, (PyView(*view),))?;
            if said.is_none() {
                return Ok(Verdict::Admit);
            }
            let words = match said.extract::<u32>() {
                Ok(0) => return Ok(Verdict::Admit),
                Ok(1) => return Ok(Verdict::DropEarly),
                Ok(2) => return Ok(Verdict::DropForced),
                Ok(5) if self.wants_candidate => return Ok(Verdict::DropBoth),
                _ if self.wants_candidate => "ADMIT, DROP_EARLY, DROP_FORCED or DROP_BOTH",
                _ => "ADMIT, DROP_EARLY or DROP_FORCED",
            };
            let said = said.repr()?;
            let message = format!("{method} returned {said}; it must return {words}");
            Err(PyValueError::new_err(message))
        })
    }
}

impl Aqm for Foreign {
    fn arrive(&mut self, view: &View) -> Verdict {
        Self::settle(self.ask("arrive", view), view)
    }

    fn watches_departures(&self) -> bool {
        self.watches_departures
    }

    fn depart(&mut self, view: &View) -> Verdict {
        self.ask("depart", view)
    }

    fn wants_candidate(&self) -> bool {
        self.wants_candidate
    }

    fn watches_occupancy(&self) -> bool {
        self.watches_occupancy
    }

    fn occupancy(&mut self, view: &View, change: i64) {
        self.attached(|object| {
            object.call_method1("occupancy", (PyView(*view), change))?;
            Ok(Verdict::Admit)
        });
    }

    fn tick_interval_ns(&self) -> Option<u64> {
        self.tick_interval_ns
    }

    fn tick(&mut self, view: &View) {
        self.ask("tick", view);
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ADMIT", Verdict::Admit as u32)?;
    module.add("DROP_EARLY", Verdict::DropEarly as u32)?;
    module.add("DROP_FORCED", Verdict::DropForced as u32)?;
    module.add("DROP_BOTH", Verdict::DropBoth as u32)?;
    module.add_class::<PyView>()
}
