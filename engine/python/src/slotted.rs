//! The slotted world.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
    types::PyDict,
};
use sluice_aqm::{Aqm, Discipline, Victim};
use sluice_queue::Scheduler;
use sluice_slotted::{
    Arrivals, Control, Outcome, Plan, Service, Tally, Trace, Unit, simulate as run,
    simulate_observed,
};
use sluice_traffic::Modulator;

use crate::{
    aqm::PyConfigured,
    attended::attended,
    decisions::{self, refused},
    foreign::{Failure, Foreign},
};

/// The packets of a capture as a source of arrivals.
#[pyclass(frozen, name = "Trace")]
struct PyTrace(Arc<Trace>);

#[pymethods]
impl PyTrace {
    #[new]
    fn new(
        slots: PyReadonlyArray1<'_, u64>,
        bytes: PyReadonlyArray1<'_, u32>,
        flows: PyReadonlyArray1<'_, u32>,
        ecn_capable: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<Self> {
        Trace::new(
            slots.as_slice()?,
            bytes.as_slice()?,
            flows.as_slice()?,
            ecn_capable.as_slice()?,
        )
        .map(|trace| Self(Arc::new(trace)))
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
            let trace: Py<PyTrace> = field(table, "trace")?;
            Arrivals::Replay(trace.get().0.clone())
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
        limit_bytes: match table.get_item("limit_bytes")? {
            Some(bytes) => bytes.extract()?,
            None => None,
        },
        victim: victim(&field::<String>(table, "victim")?)?,
        ecn: field(table, "ecn")?,
    })
}

pub(crate) fn scheduler(table: &Bound<'_, PyDict>) -> PyResult<Scheduler> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "fifo" => Scheduler::Fifo,
        "sfq" => Scheduler::Sfq {
            queues: field(table, "queues")?,
            perturbation_ns: field(table, "perturbation_ns")?,
        },
        "drr" => Scheduler::Drr {
            queues: field(table, "queues")?,
            quantum_bytes: field(table, "quantum_bytes")?,
        },
        "fq" => Scheduler::Fq {
            queues: field(table, "queues")?,
            quantum_bytes: field(table, "quantum_bytes")?,
        },
        kind => {
            let message = format!("{kind} is not a scheduler");
            return Err(PyValueError::new_err(message));
        }
    })
}

fn plan(table: &Bound<'_, PyDict>) -> PyResult<Plan> {
    Ok(Plan {
        arrivals: arrivals(&field(table, "arrivals")?)?,
        service: service(&field(table, "service")?)?,
        packet_bytes: field(table, "packet_bytes")?,
        discipline: discipline(table)?,
        scheduler: scheduler(&field(table, "scheduler")?)?,
        slots: field(table, "slots")?,
        replications: field(table, "replications")?,
        seed: field(table, "seed")?,
        slot_ns: field(table, "slot_ns")?,
    })
}

/// Runs a plan; the dictionary's fields are those of `sluice_slotted::Plan`.
///
/// `aqm` is a ConfiguredAqm or a callable that returns a fresh Python AQM. `watch(slots)` is
/// called now and then with the slots done. With `decisions`, the first replication alone is run,
/// and its decision log is written to that file. Ctrl-C ends the run and keeps what is
/// finished; `interrupted` then says so.
#[pyfunction]
#[pyo3(signature = (table, aqm, threads, watch, decisions=None))]
fn simulate<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyDict>,
    aqm: &Bound<'py, PyAny>,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
    decisions: Option<PathBuf>,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = plan(table)?;
    let (control, failure) = (Arc::new(Control::default()), Failure::default());
    let configured = aqm.cast::<PyConfigured>().ok();
    let configured = configured.map(|configured| configured.get().0.clone());
    let factory = aqm.clone().unbind();
    let foreign = || Foreign::start(&factory, &failure, &control);
    let outcome = if let Some(path) = decisions {
        let start = || -> Box<dyn Aqm> {
            match &configured {
                Some(configured) => Box::new(configured.start()),
                None => Box::new(foreign()),
            }
        };
        let run = || logged(&plan, start, &control, &path);
        stopped_by_ctrl_c(py, &control, watch, run)?.map_err(|error| refused(&path, &error))?
    } else if let Some(configured) = &configured {
        let run = || run(&plan, || configured.start(), threads, &control);
        stopped_by_ctrl_c(py, &control, watch, run)?
    } else {
        let run = || run(&plan, foreign, threads, &control);
        stopped_by_ctrl_c(py, &control, watch, run)?
    };
    if let Some(error) = failure.lock().unwrap().take() {
        return Err(error);
    }
    record(py, &outcome)
}

/// Runs the first replication and writes its decisions to the file at `path`.
fn logged(
    plan: &Plan,
    start: impl Fn() -> Box<dyn Aqm>,
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
    control: &Control,
    watch: Option<Py<PyAny>>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (control.done(),)).map(drop),
        None => Ok(()),
    };
    match attended(py, || control.cancel(), report, work) {
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
    module.add_class::<PyTrace>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}
