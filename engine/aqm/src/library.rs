//! A user's AQM in a shared library.

use std::{error::Error as _, fs, path::Path};

use sha2::{Digest, Sha256};

use crate::{
    class::{Class, LoadError},
    ffi::CClass,
    guard::Guard,
};

/// Loads a user's AQM from a shared library whose `sluice_aqm()` returns its class.
///
/// The library stays loaded until the process ends.
///
/// # Errors
/// If the file is no such library, or if its class is malformed.
///
/// # Safety
/// Runs the library's code.
pub unsafe fn load(path: &Path) -> Result<&'static Class, LoadError> {
    let class = unsafe { read_library(path) }?;
    Ok(Box::leak(Box::new(class)))
}

/// Returns the class of a shared library; see [`load`].
///
/// # Safety
/// Runs the library's code.
pub(crate) unsafe fn read_library(path: &Path) -> Result<Class, LoadError> {
    // the source of the error is the linker's message, which names the file
    let refuse = |error: libloading::Error| {
        LoadError(
            error
                .source()
                .map_or_else(|| error.to_string(), ToString::to_string),
        )
    };
    unsafe {
        let library = Box::leak(Box::new(libloading::Library::new(path).map_err(refuse)?));
        let entry: libloading::Symbol<unsafe extern "C" fn() -> &'static CClass> = library
            .get(b"sluice_guarded")
            .or_else(|_| library.get(b"sluice_aqm"))
            .map_err(refuse)?;
        let mut class = Class::read(entry())?;
        class.guard = Guard::of(library);
        // the hash of the compiled code also covers the headers that the user's header includes
        let code = fs::read(path).map_err(|error| LoadError(error.to_string()))?;
        class.fingerprint = Sha256::digest(&code)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        class.library = code;
        Ok(class)
    }
}
