//! Results of a replication, for Python.

use numpy::{Element, PyArray1};
use pyo3::prelude::*;
use sluice_network::{self as network, Kind};

use super::classes::ClassCounts;
use crate::counts::{KindTally, Tally};

/// A column of a table.
pub type Column<T> = Py<PyArray1<T>>;

pub(super) fn column<T: Element>(py: Python<'_>, values: impl Iterator<Item = T>) -> Column<T> {
    PyArray1::from_vec(py, values.collect()).unbind()
}

/// Converts a time to seconds; NaN if there is none.
fn seconds(ns: Option<u64>) -> f64 {
    ns.map_or(f64::NAN, |ns| ns as f64 / 1e9)
}

/// Results of one replication.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct Replication {
    /// The warm-up, if there was one, and the measured period.
    periods: Vec<Py<Period>>,
    tcp: Py<TcpFlows>,
    datagrams: Py<DatagramFlows>,
    /// One element per port.
    ports: Vec<Py<PortSeries>>,
    flows: Py<FlowSeries>,
}

impl Replication {
    pub fn new(py: Python<'_>, run: network::Replication) -> PyResult<Self> {
        let periods = run.periods.iter().map(|period| Period::new(py, period));
        let ports = run.ports.into_iter().map(|port| PortSeries::new(py, port));
        Ok(Self {
            periods: periods.collect::<PyResult<_>>()?,
            tcp: TcpFlows::new(py, &run.tcp)?,
            datagrams: DatagramFlows::new(py, &run.datagrams)?,
            ports: ports.collect::<PyResult<_>>()?,
            flows: FlowSeries::new(py, run.flows)?,
        })
    }
}

/// The counts of one period of a replication.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct Period {
    /// One element per port.
    ports: Vec<Py<Tally>>,
    /// For each port the counts of TCP's data packets, of ACKs and feedback, and of datagrams.
    kinds: Vec<Vec<Py<KindTally>>>,
    /// For each wire the packets that entered, were lost, and came out behind later ones.
    wires: Vec<(u64, u64, u64)>,
    /// For each port the counts of each band of its discipline; none if it has none, or if flows are
    /// not counted by class.
    bands: Vec<Vec<Py<Tally>>>,
    /// One element per class of flows; none if flows are not counted by class.
    classes: Vec<Py<ClassCounts>>,
    acknowledged: u64,
    retransmissions: u64,
    timeouts: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
}

impl Period {
    fn new(py: Python<'_>, period: &network::Period) -> PyResult<Py<Self>> {
        let ports = period.ports.iter().map(|port| Tally::of_port(py, port));
        let kinds = |port: &network::Tally| {
            let kinds = Kind::COUNTED.into_iter();
            kinds
                .map(|kinds| KindTally::new(py, &port.of_kinds(kinds)))
                .collect()
        };
        let bands = |port: &network::Tally| {
            let bands = port.of_bands();
            bands.map(|band| Tally::of_port(py, &band)).collect()
        };
        let classes = 0..period.classes.len();
        let period = Self {
            ports: ports.collect::<PyResult<_>>()?,
            kinds: period.ports.iter().map(kinds).collect::<PyResult<_>>()?,
            wires: period
                .wires
                .iter()
                .map(|wire| (wire.entered, wire.lost, wire.reordered))
                .collect(),
            bands: period.ports.iter().map(bands).collect::<PyResult<_>>()?,
            classes: classes
                .map(|class| ClassCounts::new(py, period, class))
                .collect::<PyResult<_>>()?,
            acknowledged: period.counts.acknowledged,
            retransmissions: period.counts.retransmissions,
            timeouts: period.counts.timeouts,
            datagrams_sent: period.counts.datagrams_sent,
            datagrams_received: period.counts.datagrams_received,
        };
        Py::new(py, period)
    }
}

/// Results of the TCP flows: each column has one element per flow.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct TcpFlows {
    group: Column<u32>,
    acknowledged: Column<u32>,
    retransmissions: Column<u32>,
    timeouts: Column<u32>,
    start_s: Column<f64>,
    /// NaN for flows that did not finish.
    completion_s: Column<f64>,
}

impl TcpFlows {
    fn new(py: Python<'_>, flows: &[network::TcpOutcome]) -> PyResult<Py<Self>> {
        let of = |value: fn(&network::TcpOutcome) -> u32| column(py, flows.iter().map(value));
        let starts = flows.iter().map(|flow| seconds(Some(flow.start_ns)));
        let completions = flows.iter().map(|flow| seconds(flow.completion_ns));
        let columns = Self {
            group: of(|flow| flow.group),
            acknowledged: of(|flow| flow.acknowledged),
            retransmissions: of(|flow| flow.retransmissions),
            timeouts: of(|flow| flow.timeouts),
            start_s: column(py, starts),
            completion_s: column(py, completions),
        };
        Py::new(py, columns)
    }
}

/// Results of the flows of datagrams: each column has one element per flow.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct DatagramFlows {
    group: Column<u32>,
    sent: Column<u64>,
    received: Column<u64>,
    /// NaN for flows that had nothing to send.
    start_s: Column<f64>,
}

impl DatagramFlows {
    fn new(py: Python<'_>, flows: &[network::DatagramOutcome]) -> PyResult<Py<Self>> {
        let columns = Self {
            group: column(py, flows.iter().map(|flow| flow.group)),
            sent: column(py, flows.iter().map(|flow| flow.sent)),
            received: column(py, flows.iter().map(|flow| flow.received)),
            start_s: column(py, flows.iter().map(|flow| seconds(flow.start_ns))),
        };
        Py::new(py, columns)
    }
}

/// Samples of one port; see `sluice_network::PortSeries`.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct PortSeries {
    queue: Column<u32>,
    arrivals: Column<u64>,
    losses: Column<u64>,
    sent_bytes: Column<u64>,
    rate_bps: Column<u64>,
    average: Column<f64>,
    probability: Column<f64>,
    /// Of each band queue, packets sent and the sum of their sojourns, ns.
    bands: Vec<(Column<u32>, Column<u64>, Column<u64>)>,
}

impl PortSeries {
    fn new(py: Python<'_>, series: network::PortSeries) -> PyResult<Py<Self>> {
        let bands = series.bands.into_iter().map(|band| {
            (
                PyArray1::from_vec(py, band.queue).unbind(),
                PyArray1::from_vec(py, band.sent).unbind(),
                PyArray1::from_vec(py, band.sojourn_ns).unbind(),
            )
        });
        let series = Self {
            bands: bands.collect(),
            queue: PyArray1::from_vec(py, series.queue).unbind(),
            arrivals: PyArray1::from_vec(py, series.arrivals).unbind(),
            losses: PyArray1::from_vec(py, series.losses).unbind(),
            sent_bytes: PyArray1::from_vec(py, series.sent_bytes).unbind(),
            rate_bps: PyArray1::from_vec(py, series.rate_bps).unbind(),
            average: PyArray1::from_vec(py, series.average).unbind(),
            probability: PyArray1::from_vec(py, series.probability).unbind(),
        };
        Py::new(py, series)
    }
}

/// Samples of all TCP flows together; see `sluice_network::FlowSeries`.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct FlowSeries {
    acknowledged: Column<u64>,
    window: Column<f64>,
}

impl FlowSeries {
    fn new(py: Python<'_>, series: network::FlowSeries) -> PyResult<Py<Self>> {
        let series = Self {
            acknowledged: PyArray1::from_vec(py, series.acknowledged).unbind(),
            window: PyArray1::from_vec(py, series.window).unbind(),
        };
        Py::new(py, series)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Replication>()?;
    module.add_class::<Period>()?;
    module.add_class::<TcpFlows>()?;
    module.add_class::<DatagramFlows>()?;
    module.add_class::<PortSeries>()?;
    module.add_class::<FlowSeries>()
}
