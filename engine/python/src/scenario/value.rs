//! Converts between Python's objects and the values of a scenario.

use std::sync::Arc;

use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{
        PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyModule, PyString, PyTuple, PyType,
    },
};
use sluice_scenario::{Description, Fields, Foreign, Value, tables};

/// Greatest depth of tables and lists: an object that contains itself has no end.
const MOST_DEPTH: usize = 80;
/// Size of a whole number, bits, from which on its digits are not written out.
const MOST_BITS: u64 = 1000;

/// Returns the package with the classes of all tables.
pub fn classes(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    static CLASSES: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    CLASSES
        .get_or_try_init(py, || {
            PyModule::import(py, "sluicegate.scenario").map(Bound::unbind)
        })
        .map(|module| module.bind(py))
}

/// Returns the description of the table whose class an object has; `None` if it is no table.
pub fn description(object: &Bound<'_, PyAny>) -> PyResult<Option<&'static Description>> {
    static BASE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    if !object.is_instance(BASE.import(py, "sluicegate.scenario.table", "Table")?)? {
        return Ok(None);
    }
    for class in object.get_type().mro() {
        let class = class.cast_into::<PyType>()?;
        let name = class.name()?;
        let name = name.to_str()?;
        if let Some(found) = tables().iter().find(|table| table.name == name) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Converts a Python object to a value.
pub fn to_value(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, 0)
}

fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > MOST_DEPTH {
        return Ok(Value::Other("a table nested too deep".into()));
    }
    let all = |items: &mut dyn Iterator<Item = Bound<'_, PyAny>>| {
        items
            .map(|item| nested(&item, depth + 1))
            .collect::<PyResult<Vec<_>>>()
            .map(Value::List)
    };
    if object.is_none() {
        return Ok(Value::Nothing);
    }
    // a Python bool is also an int, so this check comes first
    if let Ok(on) = object.cast::<PyBool>() {
        return Ok(Value::Switch(on.is_true()));
    }
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Value::Number(number.value()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(Value::Text(text.into())),
            Err(_) => Ok(Value::Unprintable(shown(object)?)),
        };
    }
    if let Ok(items) = object.cast::<PyList>() {
        return all(&mut items.iter());
    }
    if let Ok(items) = object.cast::<PyTuple>() {
        return all(&mut items.iter());
    }
    if let Some(description) = description(object)? {
        return fields(object, description, depth).map(Value::Table);
    }
    if let Ok(table) = object.cast::<PyMapping>() {
        return mapping(table, depth).map(Value::Table);
    }
    if let Ok(class) = object.cast::<PyType>() {
        return foreign(class).map(Value::Foreign);
    }
    match object.extract::<i128>() {
        Ok(whole) => Ok(Value::Whole(whole)),
        Err(_) if object.is_instance_of::<PyInt>() => huge(object),
        Err(_) => Ok(Value::Other(shown(object)?)),
    }
}

fn shown(object: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(object.repr()?.to_string_lossy().into_owned())
}

fn huge(whole: &Bound<'_, PyAny>) -> PyResult<Value> {
    let bits: u64 = whole.call_method0("bit_length")?.extract()?;
    if bits < MOST_BITS {
        return Ok(Value::Huge(shown(whole)?));
    }
    let sign = if whole.lt(0)? { "-" } else { "" };
    Ok(Value::Huge(format!(
        "{sign}{}",
        "9".repeat(MOST_BITS as usize)
    )))
}

/// Converts a class that shall be an AQM.
pub fn foreign(class: &Bound<'_, PyType>) -> PyResult<Foreign> {
    let must = match class.hasattr("arrive")? {
        true => None,
        false => Some("must be a class with a method arrive(view)"),
    };
    Ok(Foreign {
        name: class.name()?.to_string(),
        must,
        object: Arc::new(class.clone().into_any().unbind()),
    })
}

/// Returns the fields of an object that is a table.
fn fields(
    object: &Bound<'_, PyAny>,
    description: &'static Description,
    depth: usize,
) -> PyResult<Fields> {
    let mut rows = Vec::new();
    rows.extend(
        description
            .kind
            .map(|kind| ("kind".to_owned(), Value::Text(kind.into()))),
    );
    for field in &description.fields {
        let value = nested(&object.getattr(field.name)?, depth + 1)?;
        rows.push((field.name.to_owned(), value));
    }
    Ok(Fields {
        of: description.name,
        rows,
    })
}

fn mapping(table: &Bound<'_, PyMapping>, depth: usize) -> PyResult<Fields> {
    let mut rows = Vec::new();
    for row in table.items()? {
        let (name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = row.extract()?;
        let name = match name.extract::<String>() {
            Ok(name) => name,
            Err(_) => shown(&name)?,
        };
        rows.push((name, nested(&value, depth + 1)?));
    }
    Ok(Fields { of: "", rows })
}

/// Converts a value to a Python object; tables become objects of their classes, unchecked.
pub fn to_object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Nothing => py.None().into_bound(py),
        Value::Switch(on) => on.into_pyobject(py)?.to_owned().into_any(),
        Value::Whole(whole) => whole.into_pyobject(py)?.into_any(),
        Value::Number(number) => number.into_pyobject(py)?.into_any(),
        Value::Text(text) | Value::Huge(text) | Value::Unprintable(text) | Value::Other(text) => {
            text.into_pyobject(py)?.into_any()
        }
        Value::Foreign(foreign) => match foreign.object.downcast_ref::<Py<PyAny>>() {
            Some(object) => object.bind(py).clone(),
            None => py.None().into_bound(py),
        },
        Value::List(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| to_object(py, item))
                .collect::<PyResult<_>>()?;
            PyTuple::new(py, items)?.into_any()
        }
        Value::Table(fields) if fields.of.is_empty() => {
            let table = PyDict::new(py);
            for (name, value) in &fields.rows {
                table.set_item(name, to_object(py, value)?)?;
            }
            table.into_any()
        }
        Value::Table(fields) => {
            let class = classes(py)?.getattr(fields.of)?;
            let object = class.call_method1("__new__", (&class,))?;
            set_fields(&object, fields)?;
            object
        }
    })
}

/// Sets the fields of an object of a table's class.
pub fn set_fields(object: &Bound<'_, PyAny>, fields: &Fields) -> PyResult<()> {
    let own = object.getattr("__dict__")?;
    let table = tables().iter().find(|table| table.name == fields.of);
    for (name, value) in &fields.rows {
        // a kind that identifies the table is an attribute of the class
        if name != "kind" || table.is_none_or(|table| table.kind.is_none()) {
            own.set_item(name, to_object(object.py(), value)?)?;
        }
    }
    Ok(())
}
