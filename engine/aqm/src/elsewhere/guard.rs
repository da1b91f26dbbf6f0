//! The watch over a user's AQM where there are none.

use std::convert::Infallible;

/// Never exists.
pub(crate) struct Guard(Infallible);

impl Guard {
    pub(crate) fn inside(&self) -> Option<&'static str> {
        match self.0 {}
    }

    pub(crate) fn changed(&self) -> Option<&'static str> {
        match self.0 {}
    }
}
