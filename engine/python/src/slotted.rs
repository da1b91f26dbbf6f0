//! The slotted world.

use std::sync::Arc;

use numpy::PyReadonlyArray1;
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
    types::PyDict,
};
use sluice_aqm::{Discipline, Victim};
use sluice_slotted::{Arrivals, Control, Outcome, Plan, Recording, Service, simulate as run};
use sluice_traffic::Modulator;

use crate::{
    aqm::PyConfigured,
    counts::Tally,
    foreign::{Failure, Foreign},
    interruptible::interruptible,
};

/// The packets of a capture as a source of arrivals.
#[pyclass(frozen, name = "SlotRecording", module = "sluicegate._engine")]
struct PyRecording(Arc<Recording>);

/// A part of one replication, after its warm-up: what the intervals rest on.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct Unit {
    replication: u32,
    tally: Py<Tally>,
}

/// What a run gives.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct SlottedOutcome {
    /// In the order of replications and time.
    units: Vec<Py<Unit>>,
    /// Left out at the start of each replication.
    warm_up_slots: u64,
    /// Of all replications together, warm-up included.
    slots: u64,
    interrupted: bool,
}

impl SlottedOutcome {
    fn new(py: Python<'_>, outcome: &Outcome) -> PyResult<Self> {
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

#[pymethods]
impl PyRecording {
    #[new]
    fn new(
        slots: PyReadonlyArray1<'_, u64>,
        bytes: PyReadonlyArray1<'_, u32>,
        flows: PyReadonlyArray1<'_, u32>,
        ecn_capable: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<Self> {
        Recording::new(
            slots.as_slice()?,
            bytes.as_slice()?,
            flows.as_slice()?,
            ecn_capable.as_slice()?,
        )
        .map(|recording| Self(Arc::new(recording)))
        .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

pub(crate) fn field<'py, T: FromPyObjectOwned<'py>>(
    table: &Bound<'py, PyDict>,
    name: &str,
) -> PyResult<T> {
    let value = table
        .get_item(name)?
        .ok_or_else(|| PyValueError::new_err(format!("the plan lacks {name}")))?;
    value.extract().map_err(Into::into)
}

fn arrivals(table: &Bound<'_, PyDict>) -> PyResult<Arrivals> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "geometric" => Arrivals::Geometric {
            rate: field(table, "rate")?,
        },
        "self-similar" => Arrivals::SelfSimilar(modulator(table)?),
        "fgn" => Arrivals::Fgn {
            rate: field(table, "rate")?,
            deviation: field(table, "deviation")?,
            hurst: field(table, "hurst")?,
            frame: field(table, "frame")?,
        },
        "replay" => {
            let recording: Py<PyRecording> = field(table, "recording")?;
            Arrivals::Replay(recording.get().0.clone())
        }
        kind => {
            return Err(PyValueError::new_err(format!(
                "{kind} is not a law of arrivals"
            )));
        }
    })
}

pub fn modulator(table: &Bound<'_, PyDict>) -> PyResult<Modulator> {
    Ok(Modulator {
        a: field(table, "a")?,
        q: field(table, "q")?,
        states: field(table, "states")?,
    })
}

fn service(table: &Bound<'_, PyDict>) -> PyResult<Service> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "geometric" => Service::Geometric {
            mu: field(table, "mu")?,
        },
        "deterministic" => Service::Deterministic {
            slots: field(table, "slots")?,
        },
        "packet-size" => Service::PacketSize {
            bytes_per_slot: field(table, "bytes_per_slot")?,
        },
        kind => {
            return Err(PyValueError::new_err(format!(
                "{kind} is not a law of service"
            )));
        }
    })
}

fn victim(name: &str) -> PyResult<Victim> {
    match name {
        "tail" => Ok(Victim::Tail),
        "front" => Ok(Victim::Front),
        "random" => Ok(Victim::Random),
        _ => Err(PyValueError::new_err(format!("{name} is not a victim"))),
    }
}

pub(crate) fn discipline(table: &Bound<'_, PyDict>) -> PyResult<Discipline> {
    Ok(Discipline {
        limit: field(table, "limit")?,
        victim: victim(&field::<String>(table, "victim")?)?,
        ecn: field(table, "ecn")?,
    })
}

fn plan(table: &Bound<'_, PyDict>) -> PyResult<Plan> {
    Ok(Plan {
        arrivals: arrivals(&field(table, "arrivals")?)?,
        service: service(&field(table, "service")?)?,
        packet_bytes: field(table, "packet_bytes")?,
        discipline: discipline(table)?,
        slots: field(table, "slots")?,
        replications: field(table, "replications")?,
        seed: field(table, "seed")?,
        slot_ns: field(table, "slot_ns")?,
    })
}

/// Runs a plan; the dictionary's fields are those of `sluice_slotted::Plan`.
///
/// `aqm` is a ConfiguredAqm or a callable that returns a fresh Python AQM. `watch(slots)` is
/// called now and then with the slots done. Ctrl-C ends the run and keeps what is
/// finished; `interrupted` then says so.
#[pyfunction]
fn simulate<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyDict>,
    aqm: &Bound<'py, PyAny>,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<SlottedOutcome> {
    let plan = plan(table)?;
    let (control, failure) = (Arc::new(Control::default()), Failure::default());
    let outcome = if let Ok(configured) = aqm.cast::<PyConfigured>() {
        let configured = configured.get().0.clone();
        stopped_by_ctrl_c(py, &control, watch, || {
            run(&plan, || configured.start(), threads, &control)
        })?
    } else {
        let factory = aqm.clone().unbind();
        stopped_by_ctrl_c(py, &control, watch, || {
            run(
                &plan,
                || Foreign::start(&factory, &failure, &control),
                threads,
                &control,
            )
        })?
    };
    if let Some(error) = failure.lock().unwrap().take() {
        return Err(error);
    }
    SlottedOutcome::new(py, &outcome)
}

/// Runs `work`; after Ctrl-C its outcome is what was finished by then.
fn stopped_by_ctrl_c(
    py: Python<'_>,
    control: &Control,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce() -> Outcome + Send,
) -> PyResult<Outcome> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (control.done(),)).map(drop),
        None => Ok(()),
    };
    match interruptible(py, || control.cancel(), report, work) {
        (_, Err(error)) if !error.is_instance_of::<PyKeyboardInterrupt>(py) => Err(error),
        (outcome, _) => Ok(outcome),
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyRecording>()?;
    module.add_class::<Unit>()?;
    module.add_class::<SlottedOutcome>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
