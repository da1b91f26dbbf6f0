//! The counts of a queue, the same in every world.

use numpy::PyArray1;
use pyo3::prelude::*;
use sluice_histogram::Histogram;

/// Times of packets in the world's ticks (slots or ns): a histogram and exact sums.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct Times {
    /// Number of packets in each bin; bin k has the times from `k bin` to `(k + 1) bin`.
    bins: Py<PyArray1<u64>>,
    bin: u64,
    sum: u128,
    square_sum: u128,
}

impl Times {
    pub fn new(py: Python<'_>, times: &Histogram) -> PyResult<Py<Self>> {
        let times = Self {
            bins: PyArray1::from_vec(py, times.bins()).unbind(),
            bin: times.width(),
            sum: times.sum(),
            square_sum: times.square_sum(),
        };
        Py::new(py, times)
    }
}

/// The counts of a queue in a part of a run.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct Tally {
    /// Length of the part, ticks.
    duration: u64,
    /// Ticks in which no packet was in service.
    idle: u64,
    /// Ticks in which k packets waited, by k.
    queue: Py<PyArray1<u64>>,
    arrivals: u64,
    /// Packets with each verdict, in the order of the verdicts' numbers.
    verdicts: Vec<u64>,
    /// Packets whose times and bytes are counted.
    served: u64,
    served_bytes: u64,
    /// Of a class of a network, those served that had to wait.
    waited: u64,
    sojourn: Py<Times>,
    delay: Py<Times>,
}

impl Tally {
    pub fn of_slots(py: Python<'_>, tally: &sluice_slotted::Tally) -> PyResult<Py<Self>> {
        let tally = Self {
            duration: tally.slots,
            idle: tally.idle_slots,
            queue: PyArray1::from_slice(py, &tally.queue).unbind(),
            arrivals: tally.arrivals,
            verdicts: tally.verdicts.to_vec(),
            served: tally.delay.count(),
            served_bytes: tally.served_bytes,
            waited: 0,
            sojourn: Times::new(py, &tally.sojourn)?,
            delay: Times::new(py, &tally.delay)?,
        };
        Py::new(py, tally)
    }

    pub fn of_port(py: Python<'_>, tally: &sluice_network::Tally) -> PyResult<Py<Self>> {
        let tally = Self {
            duration: tally.duration_ns,
            idle: tally.idle_ns,
            queue: PyArray1::from_slice(py, &tally.queue_ns).unbind(),
            arrivals: tally.arrivals,
            verdicts: tally.verdicts.to_vec(),
            served: tally.sent,
            served_bytes: tally.sent_bytes,
            waited: tally.waited,
            sojourn: Times::new(py, &tally.sojourn)?,
            delay: Times::new(py, &tally.delay)?,
        };
        Py::new(py, tally)
    }
}

/// The counts of the packets of one kind at a port in a part of a run.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
pub struct KindTally {
    arrivals: u64,
    lost: u64,
    delay: Py<Times>,
}

impl KindTally {
    pub fn new(py: Python<'_>, cell: &sluice_network::Cell) -> PyResult<Py<Self>> {
        let tally = Self {
            arrivals: cell.arrivals,
            lost: cell.lost(),
            delay: Times::new(py, &cell.delay)?,
        };
        Py::new(py, tally)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Times>()?;
    module.add_class::<KindTally>()?;
    module.add_class::<Tally>()
}
