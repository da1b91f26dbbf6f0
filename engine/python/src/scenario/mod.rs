//! Scenarios: the engine checks them and computes what follows from their fields.

mod value;

use std::path::{Path, PathBuf};

use numpy::{IntoPyArray, PyArray1};
use pyo3::{import_exception, prelude::*, types::PyType};
use sluice_scenario::{
    AnyScenario, AqmName, Discipline, Foreign, NetworkScenario, Reader, Scenario, ScenarioError,
    Table, Value, fields_of,
    network::{Pair, Route, SelfSimilar, Topology},
    read, set_python,
    slotted::SelfSimilarArrivals,
};
use sluice_traffic::Modulator;

use crate::{aqm::PyConfigured, interruptible::abandonable};
pub use value::to_value;
use value::{description, foreign, set_fields, to_object};

import_exception!(sluicegate.errors, SluiceError);

/// Returns the exception for a wrong input of a user.
pub fn refused(error: impl ToString) -> PyErr {
    SluiceError::new_err(error.to_string())
}

/// A scenario as the engine holds it.
#[pyclass(frozen, name = "Scenario")]
pub struct PyScenario(pub AnyScenario);

/// A discipline as the engine holds it.
#[pyclass(frozen, name = "Discipline")]
pub struct PyDiscipline(pub Discipline);

/// One direction of a link.
#[pyclass(
    frozen,
    get_all,
    eq,
    name = "SimplexLink",
    module = "sluicegate.network"
)]
#[derive(Clone, Debug, PartialEq)]
struct SimplexLink {
    source: String,
    sink: String,
    rate_bps: f64,
    delay_s: f64,
    queue: bool,
}

#[pymethods]
impl SimplexLink {
    /// Its name, such as `left -> right`.
    #[getter]
    fn name(&self) -> String {
        format!("{} -> {}", self.source, self.sink)
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// Reads a scenario of this kind; without a kind, the fields decide.
fn read_scenario(
    value: &Value,
    kind: Option<&str>,
    folder: &Path,
) -> Result<AnyScenario, ScenarioError> {
    let kind = kind.unwrap_or_else(|| match value {
        Value::Table(fields) => AnyScenario::kind(fields),
        _ => Scenario::NAME,
    });
    AnyScenario::read_as(kind, value, folder)
}

/// Makes the Python object of a scenario, which keeps the engine's scenario as its handle.
fn object_of(py: Python<'_>, scenario: AnyScenario) -> PyResult<Bound<'_, PyAny>> {
    let object = to_object(py, &scenario.write())?;
    hold(&object, PyScenario(scenario))?;
    Ok(object)
}

/// Stores the engine's scenario in the Python object that it was read from.
fn hold(object: &Bound<'_, PyAny>, scenario: PyScenario) -> PyResult<()> {
    let handle = Py::new(object.py(), scenario)?;
    object.getattr("__dict__")?.set_item("handle", handle)
}

/// The scenario in a TOML file; `changes` replace fields of its top level. `kind` is the name of
/// its class; None: the file decides.
#[pyfunction]
fn load_scenario<'py>(
    py: Python<'py>,
    path: PathBuf,
    kind: Option<String>,
    changes: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let Value::Table(changes) = to_value(changes)? else {
        return Err(refused("changes must be a table"));
    };
    let read = move || {
        let mut fields = fields_of(&path)?;
        let found = AnyScenario::kind(&fields);
        if let Some(kind) = &kind
            && kind != found
            && (found == NetworkScenario::NAME || fields.get("arrivals").is_some())
        {
            return Err(ScenarioError::new(format!(
                "{} is a {found} and must be a {kind}; sluicegate.load reads either",
                path.display()
            )));
        }
        for (name, value) in changes.rows {
            fields.set(&name, value);
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        read_scenario(&Value::Table(fields), kind.as_deref(), folder)
            .map_err(|error| error.at(path.display()))
    };
    object_of(py, abandonable(py, read)?.map_err(refused)?)
}

/// The scenario in a table of TOML's types; relative paths in it start at `folder`.
#[pyfunction]
fn parse_scenario<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    kind: Option<String>,
    folder: PathBuf,
    origin: String,
) -> PyResult<Bound<'py, PyAny>> {
    let value = to_value(table)?;
    let read = move || {
        let found = read_scenario(&value, kind.as_deref(), &folder);
        match origin.is_empty() {
            true => found,
            false => found.map_err(|error| error.at(origin)),
        }
    };
    object_of(py, abandonable(py, read)?.map_err(refused)?)
}

/// Checks an object of a table's class and sets all its fields to the engine's values.
#[pyfunction]
fn complete(py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<()> {
    let description = description(table)?.ok_or_else(|| refused("no table of a scenario"))?;
    let value = to_value(table)?;
    let name = description.name;
    let written = match name {
        "Scenario" | "NetworkScenario" => {
            let read = move || read_scenario(&value, Some(name), Path::new(""));
            let scenario = abandonable(py, read)?.map_err(refused)?;
            let written = scenario.write();
            hold(table, PyScenario(scenario))?;
            written
        }
        _ => {
            let read = move || {
                let mut reader = Reader::default();
                let written = (description.complete)(description, &value, &mut reader);
                reader.finish(written)
            };
            abandonable(py, read)?.map_err(refused)?
        }
    };
    match &written {
        Value::Table(fields) => set_fields(table, fields),
        other => unreachable!("{other:?} is no table"),
    }
}

/// Reads an object of a table's class.
pub fn of_object<T: sluice_scenario::Field>(object: &Bound<'_, PyAny>) -> PyResult<T> {
    read(&to_value(object)?, Path::new("")).map_err(refused)
}

#[pymethods]
impl PyScenario {
    #[new]
    fn new(py: Python<'_>, scenario: &Bound<'_, PyAny>) -> PyResult<Self> {
        let kind = description(scenario)?.map(|table| table.name);
        let value = to_value(scenario)?;
        let read = move || read_scenario(&value, kind, Path::new(""));
        abandonable(py, read)?.map(Self).map_err(refused)
    }

    /// Everything that determines a run of a discipline except the AQM's code, as JSON.
    fn describe(&self, discipline: &PyDiscipline) -> PyResult<String> {
        self.0.describe(&discipline.0).map_err(refused)
    }

    #[getter]
    fn duration_slots(&self) -> PyResult<u64> {
        self.slotted().map(Scenario::duration_slots)
    }

    #[getter]
    fn slot_ns(&self) -> PyResult<u64> {
        self.slotted().map(Scenario::slot_ns)
    }

    #[getter]
    fn runs(&self) -> PyResult<u32> {
        self.slotted().map(Scenario::replications)
    }

    /// The slot in which each packet of the capture arrives.
    #[getter]
    fn capture_slots<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let scenario = self.slotted()?;
        let recorded = scenario
            .recorded()
            .ok_or_else(|| refused("arrivals.kind must be 'replay'"))?;
        let slots = scenario.capture_slots(recorded).map_err(refused)?;
        Ok(slots.into_pyarray(py))
    }

    #[getter]
    fn warm_up(&self) -> PyResult<f64> {
        self.network().map(NetworkScenario::warm_up_s)
    }

    /// The pairs of nodes of each group of flows.
    fn pairs(&self) -> PyResult<Vec<Vec<Pair>>> {
        self.network().map(NetworkScenario::pairs)
    }

    /// The name of the class of each group of flows; empty if flows are not counted by class.
    fn classes(&self) -> PyResult<Vec<String>> {
        self.network().map(NetworkScenario::classes)
    }

    /// Notes that a reader of the measures must know, one sentence each.
    fn notes(&self) -> PyResult<Vec<String>> {
        self.network()?.notes().map_err(refused)
    }
}

impl PyScenario {
    /// The scenario of a slotted queue.
    pub fn slotted(&self) -> PyResult<&Scenario> {
        match &self.0 {
            AnyScenario::Slotted(scenario) => Ok(scenario),
            AnyScenario::Network(_) => Err(refused("a scenario with [topology] has no slots")),
        }
    }

    /// The scenario of a network.
    pub fn network(&self) -> PyResult<&NetworkScenario> {
        match &self.0 {
            AnyScenario::Network(scenario) => Ok(scenario),
            AnyScenario::Slotted(_) => Err(refused("a scenario without [topology] is no network")),
        }
    }
}

impl PyDiscipline {
    /// The Python class that is its AQM.
    pub fn foreign(&self) -> PyResult<Py<PyAny>> {
        let (AqmName::Foreign(foreign) | AqmName::Python(_, foreign)) = &self.0.aqm else {
            return Err(refused("the AQM is no Python class"));
        };
        let object = foreign.object.downcast_ref::<Py<PyAny>>();
        let object = object.ok_or_else(|| refused("the AQM is no Python class"))?;
        Ok(Python::attach(|py| object.clone_ref(py)))
    }
}

#[pymethods]
impl PyDiscipline {
    #[new]
    fn new(discipline: &Bound<'_, PyAny>) -> PyResult<Self> {
        let value = to_value(discipline)?;
        // a header may have to be compiled, or a Python file to be run
        let read = move || read(&value, Path::new(""));
        abandonable(discipline.py(), read)?
            .map(Self)
            .map_err(refused)
    }

    #[getter]
    fn name(&self) -> String {
        self.0.name()
    }

    /// The Python class that is its AQM; None if it is none.
    #[getter]
    fn python(&self) -> Option<Py<PyAny>> {
        self.foreign().ok()
    }

    /// The AQM with its parameters set; None if it is a Python class.
    #[getter]
    fn configured(&self) -> Option<PyConfigured> {
        self.0.configured().map(PyConfigured)
    }
}

/// The simplex links of a topology: one for each direction of a link.
#[pyfunction]
fn simplex_links(topology: &Bound<'_, PyAny>) -> PyResult<Vec<SimplexLink>> {
    let links = of_object::<Topology>(topology)?.simplex_links();
    Ok(links
        .into_iter()
        .map(|link| SimplexLink {
            source: link.source,
            sink: link.sink,
            rate_bps: link.rate_bps,
            delay_s: link.delay_s,
            queue: link.queue,
        })
        .collect())
}

/// The named routes of a topology with their pairs of nodes.
#[pyfunction]
fn routes(topology: &Bound<'_, PyAny>) -> PyResult<Vec<Route>> {
    Ok(of_object::<Topology>(topology)?.routes())
}

/// The names of a topology's nodes, in the order in which its links name them.
#[pyfunction]
fn nodes(topology: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    Ok(of_object::<Topology>(topology)?.nodes())
}

/// a, q and the number of states of the modulator of self-similar arrivals or datagrams.
#[pyfunction]
fn modulator(table: &Bound<'_, PyAny>) -> PyResult<(f64, f64, u32)> {
    let of_datagrams = description(table)?.is_some_and(|table| table.name == SelfSimilar::NAME);
    let found = match of_datagrams {
        true => of_object::<SelfSimilar>(table)?.modulator(),
        false => of_object::<SelfSimilarArrivals>(table)?.modulator(),
    };
    let Modulator { a, q, states } = found.map_err(refused)?;
    Ok((a, q, states))
}

/// The name of the class of the scenario in a TOML file.
#[pyfunction]
fn scenario_kind(py: Python<'_>, path: PathBuf) -> PyResult<&'static str> {
    let fields = abandonable(py, move || fields_of(&path))?.map_err(refused)?;
    Ok(AnyScenario::kind(&fields))
}

/// The q of the modulator with this mean.
#[pyfunction]
fn modulator_q(mean: f64, states: u32) -> PyResult<f64> {
    Modulator::q_of_mean(mean, states).map_err(refused)
}

/// The unit of a field of a table; empty if it has none, or if there is no such field.
#[pyfunction]
fn unit(table: &Bound<'_, PyAny>, field: &str) -> PyResult<&'static str> {
    let found = description(table)?;
    let mut fields = found.iter().flat_map(|table| &table.fields);
    let field = fields.find(|known| known.name == field);
    Ok(field.map_or("", |field| field.kind.unit()))
}

/// The number that a text means in a unit (bits/s or s); `None` if it means none.
#[pyfunction]
fn quantity(text: &str, unit: &str) -> Option<f64> {
    sluice_scenario::quantity(text, unit)
}

/// Loads the class of a Python file; see `sluicegate.python_aqm`.
fn load_python(path: &Path, class: Option<&str>) -> Result<Foreign, String> {
    Python::attach(|py| {
        let load = PyModule::import(py, "sluicegate.python_aqm")?.getattr("load")?;
        foreign(load.call1((path, class))?.cast::<PyType>()?)
    })
    .map_err(|error: PyErr| Python::attach(|py| error.value(py).to_string()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    set_python(load_python);
    module.add_class::<PyScenario>()?;
    module.add_class::<PyDiscipline>()?;
    module.add_class::<SimplexLink>()?;
    module.add_function(wrap_pyfunction!(load_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(parse_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(complete, module)?)?;
    module.add_function(wrap_pyfunction!(simplex_links, module)?)?;
    module.add_function(wrap_pyfunction!(routes, module)?)?;
    module.add_function(wrap_pyfunction!(nodes, module)?)?;
    module.add_function(wrap_pyfunction!(modulator, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_kind, module)?)?;
    module.add_function(wrap_pyfunction!(unit, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(modulator_q, module)?)
}
