//! The traffic that flows offer, for Python.

use pyo3::prelude::*;
use sluice_network::{NEVER, OfferedDatagram, Plan, Supplied, offered};

use super::outcome::{Column, column};
use crate::scenario::{PyDiscipline, PyScenario, refused};

/// Greatest number of datagrams in a replication: 30 s of a link of 10 Gbit/s with packets of 1500
/// bytes.
const MOST_DATAGRAMS: usize = 25_000_000;

/// The traffic that one replication offers to the network.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct Offered {
    tcp: Vec<Py<OfferedTcp>>,
    /// The group of each datagram flow.
    datagram_groups: Vec<u32>,
    /// Time of each datagram, rising; the columns below have one element per datagram, too.
    time_ns: Column<u64>,
    /// Index of its datagram flow.
    flow: Column<u32>,
    bytes: Column<u32>,
    /// Its ECN codepoint.
    ecn: Column<u8>,
    calls: Vec<Py<OfferedCall>>,
}

/// A video call.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct OfferedCall {
    /// Index of its flow among all datagram flows.
    flow: u32,
    /// When it makes its first frame; None if it makes none.
    start_ns: Option<u64>,
    /// Those of its video, and of the feedback.
    traffic_classes: (u8, u8),
}

/// A TCP flow.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct OfferedTcp {
    group: u32,
    start_ns: u64,
    /// End of its application; None: it does not end.
    stop_ns: Option<u64>,
    /// Packets to send, or those of the first object; None: without limit.
    packets: Option<u32>,
    /// What gives it its packets: "at_once", or an application that gives "objects", each once the one
    /// before is there, or "packets", at times.
    supplied: &'static str,
}

/// Draws the traffic that a replication offers to the network.
#[pyfunction]
pub fn offered_traffic(
    py: Python<'_>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    replication: u32,
) -> PyResult<Offered> {
    let plan = Plan::of(scenario.network()?, &discipline.0).map_err(refused)?;
    let found = py
        .detach(|| offered(&plan, replication, MOST_DATAGRAMS))
        .map_err(|error| refused(error.to_string()))?;
    let tcp = found.tcp.iter().map(|flow| {
        let flow = OfferedTcp {
            group: flow.group,
            start_ns: flow.start_ns,
            stop_ns: (flow.stop_ns != NEVER).then_some(flow.stop_ns),
            packets: flow.packets,
            supplied: match flow.supplied {
                Supplied::AtOnce => "at_once",
                Supplied::Objects => "objects",
                Supplied::Packets => "packets",
            },
        };
        Py::new(py, flow)
    });
    let calls = found.calls.iter().map(|call| {
        let call = OfferedCall {
            flow: call.flow,
            start_ns: call.start_ns,
            traffic_classes: call.traffic_classes.into(),
        };
        Py::new(py, call)
    });
    let sent = &found.datagrams;
    let small = |value: fn(&OfferedDatagram) -> u32| column(py, sent.iter().map(value));
    Ok(Offered {
        tcp: tcp.collect::<PyResult<_>>()?,
        calls: calls.collect::<PyResult<_>>()?,
        time_ns: column(py, sent.iter().map(|datagram| datagram.time_ns)),
        flow: small(|datagram| datagram.flow),
        bytes: small(|datagram| u32::from(datagram.bytes)),
        ecn: column(py, sent.iter().map(|datagram| datagram.ecn.bits())),
        datagram_groups: found.datagram_groups,
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Offered>()?;
    module.add_class::<OfferedTcp>()?;
    module.add_class::<OfferedCall>()?;
    module.add_function(wrap_pyfunction!(offered_traffic, module)?)
}
