//! What a replication gives, to Python.

use numpy::{Element, PyArray1};
use pyo3::{prelude::*, types::PyDict};
use sluice_network::{
    Counts, DatagramOutcome, FlowSeries, PortSeries, Replication, Stretch, Tally, TcpOutcome,
};

/// Where a flow has no such time.
const NO_TIME: u64 = u64::MAX;

/// What a replication gives, as a dictionary.
pub fn replication<'py>(py: Python<'py>, run: Replication) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let stretches: Vec<_> = run
        .stretches
        .iter()
        .map(|part| stretch(py, part))
        .collect::<PyResult<_>>()?;
    table.set_item("stretches", stretches)?;
    table.set_item("tcp", tcp_outcomes(py, &run.tcp)?)?;
    table.set_item("datagrams", datagram_outcomes(py, &run.datagrams)?)?;
    let ports = run.ports.into_iter();
    let ports: Vec<_> = ports
        .map(|port| port_series(py, port))
        .collect::<PyResult<_>>()?;
    table.set_item("ports", ports)?;
    table.set_item("flows", flow_series(py, run.flows)?)?;
    Ok(table)
}

fn column<'py, T: Element>(
    py: Python<'py>,
    values: impl Iterator<Item = T>,
) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_vec(py, values.collect())
}

fn tcp_outcomes<'py>(py: Python<'py>, flows: &[TcpOutcome]) -> PyResult<Bound<'py, PyDict>> {
    let of = |value: fn(&TcpOutcome) -> u32| column(py, flows.iter().map(value));
    let completion_ns = |flow: &TcpOutcome| flow.completion_ns.unwrap_or(NO_TIME);
    let table = PyDict::new(py);
    table.set_item("group", of(|flow| flow.group))?;
    table.set_item("acknowledged", of(|flow| flow.acknowledged))?;
    table.set_item("retransmissions", of(|flow| flow.retransmissions))?;
    table.set_item("timeouts", of(|flow| flow.timeouts))?;
    table.set_item(
        "start_ns",
        column(py, flows.iter().map(|flow| flow.start_ns)),
    )?;
    table.set_item("completion_ns", column(py, flows.iter().map(completion_ns)))?;
    Ok(table)
}

fn datagram_outcomes<'py>(
    py: Python<'py>,
    flows: &[DatagramOutcome],
) -> PyResult<Bound<'py, PyDict>> {
    let start_ns = |flow: &DatagramOutcome| flow.start_ns.unwrap_or(NO_TIME);
    let table = PyDict::new(py);
    table.set_item("group", column(py, flows.iter().map(|flow| flow.group)))?;
    table.set_item(
        "received",
        column(py, flows.iter().map(|flow| flow.received)),
    )?;
    table.set_item("start_ns", column(py, flows.iter().map(start_ns)))?;
    Ok(table)
}

fn port_series<'py>(py: Python<'py>, series: PortSeries) -> PyResult<Bound<'py, PyDict>> {
    let PortSeries {
        queue,
        arrivals,
        losses,
        sent_bytes,
        average,
        probability,
    } = series;
    let table = PyDict::new(py);
    table.set_item("queue", PyArray1::from_vec(py, queue))?;
    table.set_item("arrivals", PyArray1::from_vec(py, arrivals))?;
    table.set_item("losses", PyArray1::from_vec(py, losses))?;
    table.set_item("sent_bytes", PyArray1::from_vec(py, sent_bytes))?;
    table.set_item("average", PyArray1::from_vec(py, average))?;
    table.set_item("probability", PyArray1::from_vec(py, probability))?;
    Ok(table)
}

fn flow_series<'py>(py: Python<'py>, series: FlowSeries) -> PyResult<Bound<'py, PyDict>> {
    let FlowSeries {
        acknowledged,
        window,
    } = series;
    let table = PyDict::new(py);
    table.set_item("acknowledged", PyArray1::from_vec(py, acknowledged))?;
    table.set_item("window", PyArray1::from_vec(py, window))?;
    Ok(table)
}

fn stretch<'py>(py: Python<'py>, part: &Stretch) -> PyResult<Bound<'py, PyDict>> {
    let Counts {
        acknowledged,
        retransmissions,
        timeouts,
        datagrams_sent,
        datagrams_received,
    } = part.counts;
    let table = PyDict::new(py);
    let ports: Vec<_> = part
        .ports
        .iter()
        .map(|port| tally(py, port))
        .collect::<PyResult<_>>()?;
    table.set_item("ports", ports)?;
    table.set_item("acknowledged", acknowledged)?;
    table.set_item("retransmissions", retransmissions)?;
    table.set_item("timeouts", timeouts)?;
    table.set_item("datagrams_sent", datagrams_sent)?;
    table.set_item("datagrams_received", datagrams_received)?;
    Ok(table)
}

fn tally<'py>(py: Python<'py>, port: &Tally) -> PyResult<Bound<'py, PyDict>> {
    let Tally {
        duration_ns,
        idle_ns,
        queue_ns,
        arrivals,
        verdicts,
        sent,
        sent_bytes,
        wait,
    } = port;
    let table = PyDict::new(py);
    table.set_item("duration_ns", duration_ns)?;
    table.set_item("idle_ns", idle_ns)?;
    table.set_item("queue_ns", PyArray1::from_slice(py, queue_ns))?;
    table.set_item("arrivals", arrivals)?;
    table.set_item("verdicts", verdicts.to_vec())?;
    table.set_item("sent", sent)?;
    table.set_item("sent_bytes", sent_bytes)?;
    table.set_item("wait", PyArray1::from_vec(py, wait.bins()))?;
    table.set_item("wait_bin_ns", wait.width())?;
    table.set_item("wait_sum_ns", wait.sum())?;
    table.set_item("wait_square_sum_ns2", wait.square_sum())?;
    Ok(table)
}
