//! Runs that are advanced in parts.

mod network;
mod slotted;

use std::{
    sync::{Mutex, MutexGuard, TryLockError},
    time::{Duration, Instant},
};

use numpy::PyArray1;
use pyo3::prelude::*;

use crate::{foreign::Calls, network::Column, scenario::refused};

/// About the longest time between two checks for Ctrl-C.
const PART: Duration = Duration::from_millis(25);

/// A session, until its result is taken.
struct Held<S>(Mutex<Option<S>>);

impl<S> Held<S> {
    fn new(session: S) -> Self {
        Self(Mutex::new(Some(session)))
    }

    /// Returns the session, which another thread may have at work.
    fn at_rest(&self) -> PyResult<MutexGuard<'_, Option<S>>> {
        self.0.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => refused("the session is at work in another thread"),
            TryLockError::Poisoned(_) => refused("the session ended with an error"),
        })
    }

    /// Calls `work` with the session.
    fn with<T>(&self, work: impl FnOnce(&mut S) -> PyResult<T>) -> PyResult<T> {
        work(self.at_rest()?.as_mut().ok_or_else(over)?)
    }

    /// Takes the session out.
    fn take(&self) -> PyResult<S> {
        self.at_rest()?.take().ok_or_else(over)
    }
}

fn over() -> PyErr {
    refused("the session has ended: its record was taken, or it failed; start another one")
}

/// Advances a session in parts from `now` to `until`, which gives the same as at once. Between parts
/// Ctrl-C is heeded: then the session stands where it came to. `part` is the length of a part, which
/// is kept from call to call.
///
/// # Errors
/// Those of `advance`, that of a Python AQM, and that of a signal.
fn in_parts(
    py: Python<'_>,
    (part, calls): (&mut u64, &Calls),
    (now, until): (u64, u64),
    mut advance: impl FnMut(u64) -> Result<bool, String> + Send,
) -> PyResult<()> {
    let mut at = now;
    loop {
        let next = match until.checked_sub(at) {
            Some(left) => at + left.min(*part),
            None => until,
        };
        let begin = Instant::now();
        let done = py.detach(|| advance(next));
        calls.raise()?;
        done.map_err(refused)?;
        py.check_signals()?;
        let took = begin.elapsed();
        if took < PART / 2 {
            *part = part.saturating_mul(2);
        } else if took > PART {
            *part = (*part / 2).max(1);
        }
        at = next;
        if at == until {
            return Ok(());
        }
    }
}

/// What waits before a link, and what was decided.
#[pyclass(frozen, get_all, module = "sluicegate._engine")]
struct QueueState {
    packets: u32,
    bytes: u64,
    /// In the order of the verdicts' numbers.
    verdicts: Vec<u64>,
    /// One element per queue of the scheduler.
    lane_packets: Column<u32>,
    lane_bytes: Column<u64>,
    /// NaN where the AQM keeps none.
    average: Column<f64>,
    probability: Column<f64>,
}

impl QueueState {
    fn new(py: Python<'_>, state: &sluice_network::QueueState) -> PyResult<Py<Self>> {
        let lanes = &state.lanes;
        let known = |of: fn(&sluice_network::LaneState) -> Option<f64>| {
            let values = lanes.iter().map(|lane| of(lane).unwrap_or(f64::NAN));
            PyArray1::from_vec(py, values.collect()).unbind()
        };
        let packets = lanes.iter().map(|lane| lane.packets).collect();
        let bytes = lanes.iter().map(|lane| lane.bytes).collect();
        let state = Self {
            packets: state.packets,
            bytes: state.bytes,
            verdicts: state.verdicts.to_vec(),
            lane_packets: PyArray1::from_vec(py, packets).unbind(),
            lane_bytes: PyArray1::from_vec(py, bytes).unbind(),
            average: known(|lane| lane.average),
            probability: known(|lane| lane.probability),
        };
        Py::new(py, state)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<QueueState>()?;
    network::register(module)?;
    slotted::register(module)
}
