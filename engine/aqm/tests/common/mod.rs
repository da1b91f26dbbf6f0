//! What several tests need: a C compiler, and AQMs as a user configures them.

pub mod link;
pub mod red_float;
pub mod step_header;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use sluice_aqm::{Class, Configured, HEADERS, Value};

/// Returns the AQM with this name.
pub fn class(name: &str) -> &'static Class {
    sluice_aqm::find(name).unwrap_or_else(|| panic!("no AQM {name}"))
}

/// Converts parameters to the form of [`Configured::new`].
pub fn given(values: &[(&str, Value)]) -> Vec<(String, Value)> {
    values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

/// A number as a parameter's value.
pub fn number(value: f64) -> Value {
    Value::Number(value)
}

/// A word of a choice as a parameter's value.
pub fn word(value: &str) -> Value {
    Value::Word(value.to_owned())
}

/// Returns a configured AQM; panics if the values are not valid.
pub fn configured(name: &str, values: &[(&str, Value)]) -> Configured {
    Configured::new(class(name), &given(values)).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a parameter's value; panics if it is not a number.
pub fn value(configured: &Configured, name: &str) -> f64 {
    match configured.values().find(|(known, _)| *known == name) {
        Some((_, Value::Number(number))) => number,
        other => panic!("{name}: {other:?}"),
    }
}

/// Writes the headers of the crate to a folder of this test, and returns the folder.
pub fn headers(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in HEADERS {
        fs::write(folder.join(name), text).unwrap();
    }
    folder
}

/// Compiles one C file of `folder` to a shared library beside it.
///
/// The error is that there is no compiler, or the compiler's output.
pub fn shared_library(
    folder: &Path,
    source: &str,
    name: &str,
    flags: &[&str],
) -> Result<PathBuf, String> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    let library = folder.join(format!("{name}.so"));
    let output = Command::new(&compiler)
        .current_dir(folder)
        .args([
            "-std=gnu11",
            "-O2",
            "-shared",
            "-fPIC",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .arg("-Wno-unused-function")
        .args(flags)
        .args([source, "-o"])
        .arg(&library)
        .output()
        .map_err(|error| format!("no C compiler: {compiler}: {error}"))?;
    if output.status.success() {
        Ok(library)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
