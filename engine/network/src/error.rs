//! Errors of plans and runs.

use thiserror::Error;

/// Why a plan was refused or a run failed, as a message for the user.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NetworkError(pub String);
