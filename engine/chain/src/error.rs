//! Why a chain was refused or not solved.

use thiserror::Error;

/// What was wrong, where, and what would be right; the text is meant for the user.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ChainError(pub(crate) String);

/// `Err` with a message, as `format!` would make it.
macro_rules! refuse {
    ($($message:tt)*) => {
        return Err($crate::error::ChainError(format!($($message)*)))
    };
}
pub(crate) use refuse;
