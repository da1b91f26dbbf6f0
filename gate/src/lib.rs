//! The gate: a router's queue in user space.
//!
//! A [`link::Link`] is a queue of `engine/queue` and the link behind it. `sluiced replay` asks it
//! with the times of a capture.

pub mod cli;
pub mod link;
pub mod measures;
pub mod packet;
pub mod replay;
pub mod settings;
mod summary;
mod syntax;

use std::path::Path;

/// Why a command could not be done, in words for its user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

impl Failure {
    /// A file that could not be written.
    pub fn writing(path: &Path, error: &std::io::Error) -> Self {
        Self(format!("cannot write {}: {error}", path.display()))
    }
}

impl From<settings::SettingsError> for Failure {
    fn from(error: settings::SettingsError) -> Self {
        Self(error.to_string())
    }
}

impl From<sluice_capture::CaptureError> for Failure {
    fn from(error: sluice_capture::CaptureError) -> Self {
        Self(error.to_string())
    }
}
