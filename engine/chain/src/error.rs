//! Errors: a chain was refused or not solved.

use thiserror::Error;

/// A message for the user: what was wrong, where, and what would be right.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ChainError(pub(crate) String);

/// Returns `Err` from the function, with a message formatted as by `format!`.
macro_rules! refuse {
    ($($message:tt)*) => {
        return Err($crate::error::ChainError(format!($($message)*)))
    };
}
pub(crate) use refuse;
