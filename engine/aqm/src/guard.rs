//! Watches a user's AQM as it runs: which function it is in, and whether it changes the view.
//! `guard.c` is linked into its library, and ends the process with clear words at a fault.

use std::ffi::{CStr, c_char};

use libloading::Library;

/// The C code; `AQM_NAME` must be defined as the AQM's name in quotation marks.
pub(crate) const SOURCE: &str = include_str!("guard.c");

type Ask = unsafe extern "C" fn() -> *const c_char;

/// What a guarded library tells about its AQM.
pub(crate) struct Guard {
    inside: Ask,
    changed: Ask,
}

impl Guard {
    /// Returns the guard of a library; `None` if it has none.
    ///
    /// # Safety
    /// The library must stay loaded.
    pub(crate) unsafe fn of(library: &Library) -> Option<Self> {
        // SAFETY: the functions are those of guard.c.
        let ask = |name: &[u8]| unsafe { library.get::<Ask>(name) }.ok().map(|found| *found);
        Some(Self {
            inside: ask(b"sluice_inside")?,
            changed: ask(b"sluice_changed")?,
        })
    }

    /// Returns a function of the AQM in which a thread is now.
    pub(crate) fn inside(&self) -> Option<&'static str> {
        word(self.inside)
    }

    /// Returns the function that changed its view, if one did.
    pub(crate) fn changed(&self) -> Option<&'static str> {
        word(self.changed)
    }
}

fn word(ask: Ask) -> Option<&'static str> {
    // SAFETY: guard.c returns null or a literal.
    let word = unsafe { ask().as_ref() }?;
    unsafe { CStr::from_ptr(word) }.to_str().ok()
}
