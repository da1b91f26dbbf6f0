//! What can be wrong with a plan.

use thiserror::Error;

/// Why a plan was refused; the text is meant for the user.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NetworkError(pub String);
