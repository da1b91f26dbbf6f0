//! What flows send whatever becomes of it, to Python.

use numpy::PyArray1;
use pyo3::{prelude::*, types::PyDict};
use sluice_network::{NEVER, OfferedDatagram, OfferedTcp, offered};

use super::plan;
use crate::scenario::{PyDiscipline, PyScenario, refused};

/// Most datagrams of a replication: a minute of a link of 10 Gbit/s with packets of 1500 bytes.
const MOST_DATAGRAMS: usize = 50_000_000;

/// What a replication offers to the network: times and sizes of the TCP flows, and every datagram.
#[pyfunction]
pub fn offered_traffic<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    discipline: &PyDiscipline,
    replication: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = plan(scenario, discipline)?;
    let found = py
        .detach(|| offered(&plan, replication, MOST_DATAGRAMS))
        .map_err(|error| refused(error.to_string()))?;
    let given = |time_ns: u64| (time_ns != NEVER).then_some(time_ns);
    let tcp = |flow: &OfferedTcp| (flow.group, flow.start_ns, given(flow.stop_ns), flow.packets);
    let table = PyDict::new(py);
    let rows: Vec<_> = found.tcp.iter().map(tcp).collect();
    table.set_item("tcp", rows)?;
    table.set_item("datagram_groups", found.datagram_groups)?;
    let sent = &found.datagrams;
    let each = |value: fn(&OfferedDatagram) -> u64| {
        PyArray1::from_vec(py, sent.iter().map(value).collect())
    };
    table.set_item("time_ns", each(|datagram| datagram.time_ns))?;
    table.set_item("flow", each(|datagram| u64::from(datagram.flow)))?;
    table.set_item("bytes", each(|datagram| u64::from(datagram.bytes)))?;
    let capable = sent.iter().map(|datagram| datagram.ecn_capable).collect();
    table.set_item("ecn_capable", PyArray1::<bool>::from_vec(py, capable))?;
    Ok(table)
}
