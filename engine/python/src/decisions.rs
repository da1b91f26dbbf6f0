//! Files of decision logs.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use pyo3::{exceptions::PyOSError, prelude::*};
use sluice_queue::{DecisionLog, LineFile};

/// A file that ends the run with its first error.
pub struct Stopping<F> {
    file: LineFile,
    cancel: F,
}

impl<F: Fn()> Write for Stopping<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| (self.cancel)())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().inspect_err(|_| (self.cancel)())
    }
}

/// Creates the file of a decision log; `cancel` ends the run.
pub fn create<F: Fn()>(path: &Path, cancel: F) -> io::Result<Stopping<F>> {
    let file = LineFile::new(File::create(path)?);
    Ok(Stopping { file, cancel })
}

/// Returns a decision log in that file.
pub fn log(file: &mut (dyn Write + Send)) -> DecisionLog<&mut (dyn Write + Send)> {
    DecisionLog::new(file)
}

/// Returns the exception for a file that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> PyErr {
    let message = error.to_string();
    let reason = message.split(" (os error").next().unwrap_or_default();
    PyOSError::new_err((error.raw_os_error(), reason.to_owned(), path.to_owned()))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("DECISION_COLUMNS", sluice_queue::columns())
}
