//! Environments for learning, of the slotted world.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;
use sluice_slotted::{Environments, Found, Plan, Step};

use crate::scenario::{PyDiscipline, PyScenario, refused};

const ONE: f64 = 4_294_967_296.0;

/// Columns of what a step tells, in their order.
const COLUMNS: [&str; 12] = [
    "packets",
    "busy",
    "sojourn",
    "head_age",
    "service_left",
    "slot",
    "over",
    "slots",
    "packet_slots",
    "lost",
    "started",
    "late",
];

fn row(step: Step, found: Found, is_over: bool) -> [f64; COLUMNS.len()] {
    [
        f64::from(found.packets),
        f64::from(u8::from(found.is_busy)),
        found.sojourn as f64,
        found.head_age as f64,
        found.service_left as f64,
        found.slot as f64,
        f64::from(u8::from(is_over)),
        step.slots as f64,
        step.packet_slots as f64,
        step.lost as f64,
        step.started as f64,
        step.late as f64,
    ]
}

/// Several queues that stop before each arrival; see [`Environments`].
#[pyclass(frozen, module = "sluicegate._engine")]
struct SlottedEnvironments {
    environments: Mutex<Environments>,
    count: usize,
}

#[pymethods]
impl SlottedEnvironments {
    /// The discipline gives the buffer's victim; its AQM is not asked.
    #[new]
    fn new(
        scenario: &PyScenario,
        discipline: &PyDiscipline,
        count: usize,
        deadline: u64,
    ) -> PyResult<Self> {
        let plan = Plan::of(scenario.slotted()?, &discipline.0).map_err(refused)?;
        Ok(Self {
            environments: Mutex::new(Environments::new(plan, count, deadline)),
            count,
        })
    }

    #[classattr]
    const COLUMNS: [&'static str; COLUMNS.len()] = COLUMNS;

    /// Begins all anew, with the random streams of a seed, and tells what is found.
    fn reset<'py>(&self, py: Python<'py>, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut environments = self.held();
        environments.reset(seed);
        let rows = environments.found();
        let rows: Vec<Vec<f64>> = rows
            .map(|(found, is_over)| row(Step::default(), found, is_over).to_vec())
            .collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// Decides with a drop probability for each environment, shape (count,), and runs to the next
    /// arrivals; tells what was found and what happened, shape (count, columns).
    fn step<'py>(
        &self,
        py: Python<'py>,
        probability: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if probability.len() != self.count {
            return Err(refused(format!(
                "there are {} probabilities for {} environments",
                probability.len(),
                self.count
            )));
        }
        let given = probability.as_array();
        if let Some(wrong) = given.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(refused(format!(
                "drop probability = {wrong} must lie between 0 and 1"
            )));
        }
        let probabilities: Vec<i64> = given.iter().map(|p| (p * ONE).round() as i64).collect();
        let told = PyArray2::<f64>::zeros(py, [self.count, COLUMNS.len()], false);
        let mut writable = told.readwrite();
        let mut rows = writable.as_slice_mut()?.chunks_exact_mut(COLUMNS.len());
        self.held().step(&probabilities, |step, found, is_over| {
            rows.next()
                .expect("a row for each")
                .copy_from_slice(&row(step, found, is_over));
        });
        Ok(told)
    }
}

impl SlottedEnvironments {
    fn held(&self) -> MutexGuard<'_, Environments> {
        self.environments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SlottedEnvironments>()
}
