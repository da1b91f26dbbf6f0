//! AQM classes and configured AQMs.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{prelude::*, types::PyDict};
use sluice_aqm::{Aqm, Class, Configured, Param, Scale, Value, View};
use sluice_scenario::{Params, read};

use crate::{
    interruptible::abandonable,
    scenario::{refused, to_value},
};

/// An AQM as its header describes it.
#[pyclass(frozen, name = "AqmClass")]
pub struct PyClass(&'static Class);

/// An AQM with its parameters set.
#[pyclass(frozen, name = "ConfiguredAqm")]
pub struct PyConfigured(pub Configured);

fn from_value(py: Python<'_>, value: Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Word(word) => word.into_pyobject(py)?.into_any().unbind(),
        Value::Switch(on) => on.into_pyobject(py)?.to_owned().into_any().unbind(),
    })
}

/// One parameter of an AQM, as its header describes it.
#[pyclass(frozen, name = "Param")]
struct PyParam(&'static Param);

#[pymethods]
impl PyParam {
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// `number`, `integer`, `switch` or `choice`.
    #[getter]
    fn kind(&self) -> &str {
        match &self.0.scale {
            Scale::Switch => "switch",
            Scale::Choice(_) => "choice",
            Scale::Rate | Scale::Count | Scale::Bytes => "integer",
            Scale::Packets | Scale::Ratio | Scale::Gain | Scale::Seconds => "number",
        }
    }

    #[getter]
    fn choices(&self) -> Vec<String> {
        match &self.0.scale {
            Scale::Choice(words) => words.clone(),
            _ => Vec::new(),
        }
    }

    #[getter]
    fn unit(&self) -> &str {
        self.0.scale.unit()
    }

    #[getter]
    fn default(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        from_value(py, self.0.show(self.0.initial))
    }

    #[getter]
    fn least(&self) -> f64 {
        self.0.least
    }

    #[getter]
    fn greatest(&self) -> f64 {
        self.0.greatest
    }

    #[getter]
    fn when(&self) -> &str {
        &self.0.when
    }

    #[getter]
    fn help(&self) -> &str {
        &self.0.help
    }

    #[getter]
    fn source(&self) -> &str {
        &self.0.source
    }
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
    fn params(&self) -> Vec<PyParam> {
        self.0.params.iter().map(PyParam).collect()
    }

    #[getter]
    fn fingerprint(&self) -> &str {
        &self.0.fingerprint
    }

    /// A user's compiled code; empty for an AQM of the package.
    #[getter]
    fn library(&self) -> &[u8] {
        &self.0.library
    }

    /// True if it has queues of its own, all of which it judges: it takes no scheduler.
    #[getter]
    fn coupled(&self) -> bool {
        self.0.is_coupled()
    }

    /// Bytes of the state that each queue has.
    #[getter]
    fn state_bytes(&self) -> u64 {
        self.0.bytes().0
    }

    /// Bytes of the config, which all queues share.
    #[getter]
    fn config_bytes(&self) -> u64 {
        self.0.bytes().1
    }

    /// When it is called: `arrive` always, and which of `depart`, `tick` and `occupancy`.
    #[getter]
    fn functions(&self) -> Vec<&str> {
        let has = self.0.functions();
        [
            ("arrive", true),
            ("depart", has.depart),
            ("tick", has.tick),
            ("occupancy", has.occupancy),
        ]
        .into_iter()
        .filter_map(|(name, is_there)| is_there.then_some(name))
        .collect()
    }

    /// A function of a user's AQM in which a thread is now, such as `mine_arrive`.
    #[getter]
    fn inside(&self) -> Option<String> {
        self.0.inside()
    }

    /// Returns the AQM with parameters, given as a mapping from names to values.
    fn configure(&self, given: &Bound<'_, PyAny>) -> PyResult<PyConfigured> {
        let params = read::<Params>(&to_value(given)?, Path::new("")).map_err(refused)?;
        let class = self.0;
        abandonable(given.py(), move || params.configure(class))?
            .map(PyConfigured)
            .map_err(|wrong| refused(wrong.join("\n")))
    }
}

#[pymethods]
impl PyConfigured {
    #[getter]
    fn of(&self) -> PyClass {
        PyClass(self.0.class())
    }

    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let values = PyDict::new(py);
        for (name, value) in self.0.values() {
            values.set_item(name, from_value(py, value)?)?;
        }
        Ok(values)
    }

    /// The drop probability at each average (packets); None if the AQM has no drop function.
    fn drop_probability<'py>(
        &self,
        py: Python<'py>,
        average: PyReadonlyArray1<'py, f64>,
    ) -> Option<Bound<'py, PyArray1<f64>>> {
        let averages = average.as_array().to_vec();
        let asked = averages.iter();
        // without Python's lock: a user's code may have no end
        let probabilities: Option<Vec<f64>> = py.detach(|| {
            asked
                .map(|packets| self.0.drop_probability(*packets))
                .collect()
        });
        probabilities.map(|each| PyArray1::from_vec(py, each))
    }

    /// Returns the AQM's average (packets) after each arrival, one each `interval_ns`; `queue` is
    /// the queue (packets) that each finds. None if the AQM keeps no average.
    fn open_loop<'py>(
        &self,
        py: Python<'py>,
        queue: PyReadonlyArray1<'py, u32>,
        interval_ns: u64,
    ) -> Option<Bound<'py, PyArray1<f64>>> {
        if self.0.class().is_coupled() {
            return None;
        }
        let mut running = self.0.start();
        let mut view = View {
            limit_packets: u32::MAX,
            random: u64::MAX,
            ..View::default()
        };
        let queues = queue.as_array().to_vec();
        let averages: Option<Vec<f64>> = py.detach(|| {
            let asked = queues.iter().map(|queue_packets| {
                view.queue_packets = *queue_packets;
                running.arrive(&view);
                view.now_ns += interval_ns;
                running.average()
            });
            asked.collect()
        });
        averages.map(|each| PyArray1::from_vec(py, each))
    }
}

/// Every AQM of the package.
#[pyfunction]
fn aqm_classes() -> Vec<PyClass> {
    sluice_aqm::disciplines().map(PyClass).collect()
}

/// Every scheduler of the package.
#[pyfunction]
fn scheduler_classes() -> Vec<PyClass> {
    sluice_aqm::schedulers().iter().map(PyClass).collect()
}

/// Name and text of every header of `aqm/`.
#[pyfunction]
fn aqm_headers() -> Vec<(&'static str, &'static str)> {
    sluice_aqm::HEADERS.to_vec()
}

/// The AQM with this name, or the one in a C header (a path that ends in `.h`).
#[pyfunction]
fn aqm_class(py: Python<'_>, name: String) -> PyResult<PyClass> {
    abandonable(py, move || sluice_scenario::aqm_class(&name))?
        .map(PyClass)
        .map_err(refused)
}

/// Takes the compiled code of a header from another process; see `sluicegate.beside`.
#[pyfunction]
fn adopt_library(path: PathBuf, library: &[u8]) -> PyResult<()> {
    sluice_aqm::adopt(&path, library).map_err(refused)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyParam>()?;
    module.add_class::<PyClass>()?;
    module.add_class::<PyConfigured>()?;
    module.add_function(wrap_pyfunction!(aqm_classes, module)?)?;
    module.add_function(wrap_pyfunction!(scheduler_classes, module)?)?;
    module.add_function(wrap_pyfunction!(adopt_library, module)?)?;
    module.add_function(wrap_pyfunction!(aqm_headers, module)?)?;
    module.add_function(wrap_pyfunction!(aqm_class, module)?)
}
