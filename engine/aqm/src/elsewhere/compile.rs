//! AQMs of a user where no compiler can be started, as in a web page: there are none.

use std::path::Path;

use crate::class::{Class, LoadError};

/// Refuses a user's AQM.
///
/// # Errors
/// Always.
pub fn compile(path: &Path) -> Result<&'static Class, LoadError> {
    Err(LoadError(format!(
        "{}: a header of your own needs a C compiler, and there is none here",
        path.display()
    )))
}
