//! Errors of reading a trace.

use std::path::PathBuf;

/// Why a trace was refused. Lines and fields are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The operating system reported an error.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// There is no whole line.
    #[error("{} has no whole line: it must be a trace of ns-2", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// A line is not what ns-2 writes.
    #[error("{}: line {line}: {what}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line.
        line: u64,
        /// What is wrong, and what is expected.
        what: String,
    },
}
