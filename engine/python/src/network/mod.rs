//! The network world.

mod outcome;

use std::{path::PathBuf, sync::Arc};

use numpy::PyReadonlyArray1;
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyValueError},
    prelude::*,
    types::PyDict,
};
use sluice_network::{
    Control, Datagrams, Extent, Group, Law, Link, LongTcp, Noise, Pace, Plan, Port, Recording,
    Replay, ShortTcp, Size, Source, TcpFlow, TcpKind, Topology, Web, simulate,
};
use sluice_queue::Scheduler;
use sluice_tap::record;
use sluice_tcp::{Config, GREEDY, Variant};

use crate::{
    aqm::PyConfigured,
    interruptible::interruptible,
    slotted::{discipline, field, modulator},
};

/// The packets of a capture as a source of datagrams.
#[pyclass(frozen, name = "Recording")]
struct PyRecording(Arc<Recording>);

#[pymethods]
impl PyRecording {
    #[new]
    fn new(
        time_ns: PyReadonlyArray1<'_, u64>,
        bytes: PyReadonlyArray1<'_, u32>,
        flows: PyReadonlyArray1<'_, u32>,
        ecn_capable: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<Self> {
        Recording::new(
            time_ns.as_slice()?,
            bytes.as_slice()?,
            flows.as_slice()?,
            ecn_capable.as_slice()?,
        )
        .map(|recording| Self(Arc::new(recording)))
        .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

fn unknown<T>(kind: &str, what: &str) -> PyResult<T> {
    Err(PyValueError::new_err(format!("{kind} is not {what}")))
}

fn scheduler(table: &Bound<'_, PyDict>) -> PyResult<Scheduler> {
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
        kind => return unknown(kind, "a scheduler"),
    })
}

fn port(table: &Bound<'_, PyDict>) -> PyResult<Port> {
    let aqm: Py<PyConfigured> = field(table, "aqm")?;
    Ok(Port {
        discipline: discipline(table)?,
        scheduler: scheduler(&field(table, "scheduler")?)?,
        aqm: aqm.get().0.clone(),
    })
}

/// A link with `queue` gets the plan's discipline.
fn link(table: &Bound<'_, PyDict>, port: &Port) -> PyResult<Link> {
    let queue: bool = field(table, "queue")?;
    Ok(Link {
        from: field(table, "from")?,
        to: field(table, "to")?,
        rate_bps: field(table, "rate_bps")?,
        delay_ns: field(table, "delay_ns")?,
        port: queue.then(|| port.clone()),
    })
}

fn law(table: &Bound<'_, PyDict>) -> PyResult<Law> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "constant" => Law::Constant(field(table, "mean_ns")?),
        "uniform" => Law::Uniform(field(table, "least_ns")?, field(table, "greatest_ns")?),
        "exponential" => Law::Exponential(field(table, "mean_ns")?),
        "pareto" => Law::Pareto {
            mean: field(table, "mean_ns")?,
            shape: field(table, "shape")?,
        },
        kind => return unknown(kind, "a law of times"),
    })
}

fn size(table: &Bound<'_, PyDict>) -> PyResult<Size> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "constant" => Size::Constant(field(table, "packets")?),
        "geometric" => Size::Geometric(field(table, "mean")?),
        "pareto" => Size::Pareto {
            mean: field(table, "mean")?,
            shape: field(table, "shape")?,
        },
        kind => return unknown(kind, "a law of sizes"),
    })
}

fn pace(table: &Bound<'_, PyDict>) -> PyResult<Pace> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "regular" => Pace::Constant {
            gap_ns: field(table, "gap_ns")?,
        },
        "poisson" => Pace::Poisson {
            mean_gap_ns: field(table, "gap_ns")?,
        },
        "on-off" => Pace::OnOff {
            gap_ns: field(table, "gap_ns")?,
            on: law(&field(table, "on")?)?,
            off: law(&field(table, "off")?)?,
        },
        "fgn" => Pace::Noisy {
            mean_gap_ns: field(table, "mean_ns")?,
            noise: Noise {
                hurst: field(table, "hurst")?,
                deviation: field(table, "deviation")?,
                frame_ns: field(table, "frame_ns")?,
            },
        },
        "self-similar" => Pace::Modulated {
            slot_ns: field(table, "slot_ns")?,
            law: modulator(table)?,
        },
        _ => Pace::Gaps(law(table)?),
    })
}

fn tcp_kind(table: &Bound<'_, PyDict>) -> PyResult<TcpKind> {
    let variant = match field::<String>(table, "variant")?.as_str() {
        "tahoe" => Variant::Tahoe,
        "reno" => Variant::Reno,
        "newreno" => Variant::NewReno,
        "sack" => Variant::Sack,
        "cubic" => Variant::Cubic,
        kind => return unknown(kind, "a variant of TCP"),
    };
    let receiver_window = field(table, "receiver_window")?;
    let mut config = match field::<String>(table, "like")?.as_str() {
        "rfc" => Config::rfc(variant),
        "ns2" => Config::ns2(variant, receiver_window),
        kind => return unknown(kind, "a way of TCP"),
    };
    config.receiver_window = receiver_window;
    config.ecn = field(table, "ecn")?;
    let given: Bound<'_, PyDict> = field(table, "given")?;
    for (name, value) in given {
        match name.extract::<String>()?.as_str() {
            "initial_window" => config.initial_window = value.extract()?,
            "min_rto_ns" => config.min_rto_ns = value.extract()?,
            "initial_rto_ns" => config.initial_rto_ns = value.extract()?,
            "tick_ns" => config.tick_ns = value.extract()?,
            "delayed_ack_ns" => config.delayed_ack_ns = value.extract()?,
            name => return unknown(name, "a setting of TCP"),
        }
    }
    Ok(TcpKind {
        config,
        packet_bytes: field(table, "packet_bytes")?,
        ack_bytes: field(table, "ack_bytes")?,
    })
}

fn source(table: &Bound<'_, PyDict>) -> PyResult<Source> {
    Ok(match field::<String>(table, "kind")?.as_str() {
        "tcp" => Source::Long(LongTcp {
            kind: tcp_kind(&field(table, "tcp")?)?,
            flow: TcpFlow {
                packets: field::<Option<u32>>(table, "packets")?.unwrap_or(GREEDY),
                start_ns: field(table, "start_ns")?,
                stop_ns: field(table, "stop_ns")?,
            },
            spread_ns: field(table, "spread_ns")?,
        }),
        "short-tcp" => Source::Short(ShortTcp {
            kind: tcp_kind(&field(table, "tcp")?)?,
            arrivals: pace(&field(table, "arrivals")?)?,
            from_ns: field(table, "start_ns")?,
            to_ns: field(table, "stop_ns")?,
            extent: match field::<Option<Bound<'_, PyDict>>>(table, "packets")? {
                Some(packets) => Extent::Packets(size(&packets)?),
                None => Extent::Duration(law(&field(table, "duration")?)?),
            },
        }),
        "web" => Source::Web(Web {
            kind: tcp_kind(&field(table, "tcp")?)?,
            objects: size(&field(table, "objects")?)?,
            think: law(&field(table, "think")?)?,
            start_ns: field(table, "start_ns")?,
            spread_ns: field(table, "spread_ns")?,
            stop_ns: field(table, "stop_ns")?,
        }),
        "datagrams" => Source::Datagrams(Datagrams {
            bytes: field(table, "packet_bytes")?,
            pace: pace(&field(table, "pace")?)?,
            start_ns: field(table, "start_ns")?,
            spread_ns: field(table, "spread_ns")?,
            stop_ns: field(table, "stop_ns")?,
        }),
        "replay" => Source::Replay(Replay {
            recording: field::<Py<PyRecording>>(table, "recording")?
                .get()
                .0
                .clone(),
            start_ns: field(table, "start_ns")?,
            spread_ns: field(table, "spread_ns")?,
            stop_ns: field(table, "stop_ns")?,
        }),
        kind => return unknown(kind, "a source"),
    })
}

fn group(table: &Bound<'_, PyDict>) -> PyResult<Group> {
    Ok(Group {
        from: field(table, "from")?,
        to: field(table, "to")?,
        count: field(table, "count")?,
        source: source(table)?,
    })
}

fn plan(table: &Bound<'_, PyDict>) -> PyResult<Plan> {
    let port = port(table)?;
    let links: Vec<Bound<'_, PyDict>> = field(table, "links")?;
    let groups: Vec<Bound<'_, PyDict>> = field(table, "groups")?;
    Ok(Plan {
        topology: Topology {
            nodes: field(table, "nodes")?,
            links: links
                .iter()
                .map(|table| link(table, &port))
                .collect::<PyResult<_>>()?,
        },
        groups: groups.iter().map(group).collect::<PyResult<_>>()?,
        duration_ns: field(table, "duration_ns")?,
        warm_up_ns: field(table, "warm_up_ns")?,
        sample_ns: field(table, "sample_ns")?,
        windows: field(table, "windows")?,
        replications: field(table, "replications")?,
        seed: field(table, "seed")?,
    })
}

/// Runs a plan; the dictionary's fields are those of `sluice_network::Plan`. Gives the
/// replications that were finished; Ctrl-C ends the run. `watch(done_ns)` is called now and
/// then with the time simulated so far, of all replications together.
#[pyfunction]
fn simulate_network<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyDict>,
    threads: Option<usize>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<outcome::Replication>> {
    let plan = plan(table)?;
    let control = Control::default();
    let run = || simulate(&plan, threads, &control).map_err(|error| error.to_string());
    watched(py, &control, watch, run)?
        .into_iter()
        .map(|run| outcome::Replication::new(py, run))
        .collect()
}

/// Runs the first replication of a plan and writes its packets to the file at `path`; as
/// `simulate_network` otherwise.
#[pyfunction]
fn record_network<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyDict>,
    path: PathBuf,
    watch: Option<Py<PyAny>>,
) -> PyResult<Vec<outcome::Replication>> {
    let plan = plan(table)?;
    let control = Control::default();
    let run = || record(&plan, &path, &control).map_err(|error| error.to_string());
    watched(py, &control, watch, run)?
        .into_iter()
        .map(|run| outcome::Replication::new(py, run))
        .collect()
}

/// Runs while Ctrl-C can end it, and calls `watch`.
fn watched<T: Send>(
    py: Python<'_>,
    control: &Control,
    watch: Option<Py<PyAny>>,
    run: impl FnOnce() -> Result<T, String> + Send,
) -> PyResult<T> {
    let report = |py: Python<'_>| match &watch {
        Some(watch) => watch.call1(py, (control.done_ns(),)).map(drop),
        None => Ok(()),
    };
    let (outcome, raised) = interruptible(py, || control.cancel(), report, run);
    if let Err(error) = raised
        && !error.is_instance_of::<PyKeyboardInterrupt>(py)
    {
        return Err(error);
    }
    outcome.map_err(PyValueError::new_err)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyRecording>()?;
    outcome::register(module)?;
    module.add_function(wrap_pyfunction!(simulate_network, module)?)?;
    module.add_function(wrap_pyfunction!(record_network, module)?)
}
