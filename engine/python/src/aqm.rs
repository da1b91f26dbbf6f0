//! AQM classes and configured AQMs.

use std::path::PathBuf;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyBool, PyDict},
};
use sluice_aqm::{Aqm, Class, Configured, Param, Scale, Value, View};

/// An AQM as its header describes it.
#[pyclass(frozen, name = "AqmClass")]
pub struct PyClass(&'static Class);

/// An AQM with its parameters set.
#[pyclass(frozen, name = "ConfiguredAqm")]
pub struct PyConfigured(pub Configured);

fn to_value(value: &Bound<'_, PyAny>) -> Option<Value> {
    // a Python bool is an int as well, so it must be asked for first
    if let Ok(on) = value.cast::<PyBool>() {
        return Some(Value::Switch(on.is_true()));
    }
    let word = value.extract().map(Value::Word);
    word.or_else(|_| value.extract().map(Value::Number)).ok()
}

fn from_value(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Word(word) => word.into_pyobject(py)?.into_any().unbind(),
        Value::Switch(on) => on.into_pyobject(py)?.to_owned().into_any().unbind(),
    })
}

fn describe<'py>(py: Python<'py>, param: &Param) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    let (kind, choices) = match &param.scale {
        Scale::Switch => ("switch", vec![]),
        Scale::Choice(words) => ("choice", words.clone()),
        Scale::Rate | Scale::Count | Scale::Bytes => ("integer", vec![]),
        Scale::Packets | Scale::Ratio | Scale::Gain | Scale::Seconds => ("number", vec![]),
    };
    row.set_item("name", &param.name)?;
    row.set_item("kind", kind)?;
    row.set_item("choices", choices)?;
    row.set_item("unit", param.scale.unit())?;
    row.set_item("default", from_value(py, param.show(param.initial))?)?;
    row.set_item("least", param.least)?;
    row.set_item("greatest", param.greatest)?;
    row.set_item("when", &param.when)?;
    row.set_item("help", &param.help)?;
    row.set_item("source", &param.source)?;
    Ok(row)
}

#[pymethods]
impl PyClass {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }

    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    #[getter]
    fn base(&self) -> Option<&str> {
        self.0.base.as_deref()
    }

    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.0
            .params
            .iter()
            .map(|param| describe(py, param))
            .collect()
    }

    fn configure(&self, given: &Bound<'_, PyDict>) -> PyResult<PyConfigured> {
        let mut values = Vec::new();
        for (name, value) in given {
            let name: String = name.extract()?;
            let Some(read) = to_value(&value) else {
                return Err(PyValueError::new_err(format!(
                    "{}.{name} = {} must be a number, a word, true or false",
                    self.0.name,
                    value.repr()?
                )));
            };
            values.push((name, read));
        }
        Configured::new(self.0, &values)
            .map(PyConfigured)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

#[pymethods]
impl PyConfigured {
    #[getter]
    fn name(&self) -> &str {
        &self.0.class().name
    }

    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (name, value) in self.0.values() {
            values.set_item(name, from_value(py, value)?)?;
        }
        Ok(values)
    }

    /// The drop law at each average (packets); None where the AQM has no law.
    fn drop_probability<'py>(
        &self,
        py: Python<'py>,
        average: PyReadonlyArray1<'py, f64>,
    ) -> Option<Bound<'py, PyArray1<f64>>> {
        let law: Option<Vec<f64>> = average
            .as_array()
            .iter()
            .map(|packets| self.0.drop_probability(*packets))
            .collect();
        law.map(|law| PyArray1::from_vec(py, law))
    }

    /// Feeds arrivals that find these queues (packets), one each `interval_ns`, and gives the
    /// AQM's average after each; None where the AQM holds no average.
    fn open_loop<'py>(
        &self,
        py: Python<'py>,
        queue: PyReadonlyArray1<'py, u32>,
        interval_ns: u64,
    ) -> Option<Bound<'py, PyArray1<f64>>> {
        let mut running = self.0.start();
        let mut view = View {
            limit_packets: u32::MAX,
            random: u64::MAX,
            ..View::default()
        };
        let mut averages = Vec::new();
        for queue_packets in queue.as_array() {
            view.queue_packets = *queue_packets;
            running.arrive(&view);
            averages.push(running.average()?);
            view.now_ns += interval_ns;
        }
        Some(PyArray1::from_vec(py, averages))
    }
}

/// Every AQM that comes with the package.
#[pyfunction]
fn aqm_classes() -> Vec<PyClass> {
    sluice_aqm::all().iter().map(PyClass).collect()
}

/// The AQM in a shared library that was compiled from a user's header.
#[pyfunction]
fn load_aqm(path: PathBuf) -> PyResult<PyClass> {
    // SAFETY: runs the user's own code, which is what the user asks for.
    unsafe { sluice_aqm::load(&path) }
        .map(PyClass)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyClass>()?;
    module.add_class::<PyConfigured>()?;
    module.add_function(wrap_pyfunction!(aqm_classes, module)?)?;
    module.add_function(wrap_pyfunction!(load_aqm, module)?)?;
    let headers = PyDict::new(module.py());
    for (name, text) in sluice_aqm::HEADERS {
        headers.set_item(name, text)?;
    }
    module.add("HEADERS", headers)
}
