//! What an AQM is called: by its name, by the path of a C header or of a Python file.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use sluice_aqm::Class;

use crate::{
    describe::ValueKind,
    elsewhere::in_place_of,
    field::Field,
    limits::{Limits, fewest},
    reader::Reader,
    value::{Foreign, Value},
};

/// The AQM of a discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum AqmName {
    /// Name of an AQM of `aqm/`.
    Named(String),
    /// Path of a C header.
    Header(PathBuf),
    /// A program's own AQM.
    Foreign(Foreign),
    /// A class in a Python file: the path of the file, `:` and the name of the class where one was
    /// given, and the class.
    Python(String, Foreign),
}

/// Loads a class from a Python file: the class of this name, or the only one that is an AQM.
type Python = fn(&Path, Option<&str>) -> Result<Foreign, String>;

/// What is told of a Python file where it cannot run.
pub const NO_PYTHON: &str = "a Python AQM runs only in sluice, in the worlds slotted and network; \
                             write a C header";

static PYTHON: OnceLock<Python> = OnceLock::new();

/// Sets how Python files are loaded, in a program that can.
pub fn set_python(load: Python) {
    PYTHON.get_or_init(|| load);
}

/// Splits `mine.py` or `mine.py:Class` into file and class; `None` if it is neither.
fn python_file(text: &str) -> Option<(&str, Option<&str>)> {
    if text.ends_with(".py") {
        return Some((text, None));
    }
    let (before, class) = text.rsplit_once(':')?;
    before.ends_with(".py").then_some((before, Some(class)))
}

impl AqmName {
    /// Reads a text: the path of a header or of a Python file, or a name.
    fn of(text: &str, reader: &Reader) -> Result<Self, String> {
        if text.ends_with(".h") {
            return Ok(Self::Header(reader.path(text)));
        }
        let Some((file, class)) = python_file(text) else {
            return Ok(Self::Named(text.to_owned()));
        };
        let path = reader.path(file);
        let load = PYTHON.get().ok_or_else(|| format!("{file}: {NO_PYTHON}"))?;
        let class_of = class.map_or_else(String::new, |class| format!(":{class}"));
        let place = format!("{}{class_of}", path.display());
        load(&path, class).map(|foreign| Self::Python(place, foreign))
    }

    /// Returns the AQM before its parameters are set; `None` if it is a program's own.
    ///
    /// # Errors
    /// If no AQM has this name, or if the header does not compile.
    pub fn class(&self) -> Result<Option<&'static Class>, String> {
        match self {
            Self::Named(name) => named(name).map(Some),
            Self::Header(path) => compiled(path).map(Some),
            Self::Foreign(_) | Self::Python(..) => Ok(None),
        }
    }
}

fn compiled(path: &Path) -> Result<&'static Class, String> {
    sluice_aqm::compile(path).map_err(|error| error.to_string())
}

/// Returns the AQM with this name, or the one in a C header (a path that ends in `.h`).
///
/// # Errors
/// If no AQM has this name, or if the header does not compile.
pub fn aqm_class(name: &str) -> Result<&'static Class, String> {
    if name.ends_with(".h") {
        return compiled(Path::new(name));
    }
    if python_file(name).is_some() {
        return Err(format!(
            "{name} is a Python AQM, which only runs in the worlds slotted and network: here it must \
             be a C header or an AQM's name"
        ));
    }
    named(name)
}

fn named(name: &str) -> Result<&'static Class, String> {
    let found = sluice_aqm::disciplines().find(|class| class.name == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = sluice_aqm::disciplines().map(|aqm| &*aqm.name).collect();
        format!(
            "{name} is not an AQM{}; there are {}, or give the path of a C header, or of a Python \
             file",
            meant(name, &known),
            known.join(", ")
        )
    })
}

/// Returns a hint to what may be meant by an unknown name; empty if there is none.
fn meant(name: &str, known: &[&str]) -> String {
    let plain = name.to_lowercase().replace('-', "_");
    if let Some(what) = in_place_of(&plain, known) {
        return what;
    }
    sluice_aqm::nearest(&plain, known)
        .map(|near| format!(" (did you mean {near}?)"))
        .unwrap_or_default()
}

impl Field for AqmName {
    fn kind(_: Limits) -> ValueKind {
        ValueKind::Aqm
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        match value {
            Value::Foreign(foreign) => match foreign.must {
                Some(must) => {
                    reader.refuse(value, must);
                    None
                }
                None => Some(Self::Foreign(foreign.clone())),
            },
            Value::Text(_) | Value::Unprintable(_) => {
                let text = String::read(value, &fewest(1), reader)?;
                Self::of(&text, reader)
                    .map_err(|what| reader.say(what))
                    .ok()
            }
            _ => {
                reader.refuse(
                    value,
                    "must be an AQM's name, or the path of its C header or Python file",
                );
                None
            }
        }
    }

    fn write(&self) -> Value {
        match self {
            Self::Named(name) => Value::Text(name.clone()),
            Self::Header(path) => Value::Text(path.display().to_string()),
            Self::Foreign(foreign) => Value::Foreign(foreign.clone()),
            Self::Python(place, _) => Value::Text(place.clone()),
        }
    }
}
