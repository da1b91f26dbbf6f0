//! The gate: a router's queue in user space.
//!
//! A [`router::link::Link`] is a queue of `engine/queue` and the link behind it. `sluiced replay` drives it
//! with the times of a capture, and `sluiced run` with real time: a [`router::Router`] connects
//! links with a [`backends::Backend`], which delivers packets and takes decisions.

pub mod backends;
pub mod check;
pub mod cli;
mod daemon;
mod findings;
#[cfg(test)]
mod fuzz;
mod in_kernel;
mod machine;
pub mod measures;
mod memory;
pub mod packet;
pub mod prague;
pub mod qdisc;
pub mod replay;
pub mod router;
pub mod run;
#[cfg(test)]
mod same_decisions;
pub mod settings;
pub mod shadow;
pub mod switch;
pub mod telemetry;
pub mod top;
pub mod verify;

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    process::Command,
};

/// Prints a message on stderr. An error is ignored: a closed stderr or a full disk is no reason to
/// stop.
pub fn say(what: &str) {
    writeln!(io::stderr(), "sluiced: {what}").ok();
}

/// Prints on stdout, all at once, because the reader may wait at a pipe.
///
/// # Errors
/// As [`printed`].
pub fn print(text: &str) -> Result<(), Failure> {
    printed(io::stdout().write_all(text.as_bytes()))
}

/// Flushes stdout after something was `written` there. A reader that has gone, as `head` does, has
/// read what it wanted: that is no error.
///
/// # Errors
/// If stdout cannot be written, such as a file on a full disk.
pub fn printed(written: io::Result<()>) -> Result<(), Failure> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a file that is of use only as a whole. If the disk refuses a part, the file is left empty.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write_whole(mut file: &File, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    file.write_all(bytes).map_err(|error| {
        // it fails harmlessly for what is no regular file, such as a pipe
        file.set_len(0).ok();
        let Failure(what) = Failure::writing(path, &error);
        Failure(format!("{what}: it is left empty"))
    })
}

/// Returns a command that runs a program of the system, such as `nft`. It is searched for in
/// `/usr/sbin` and `/sbin`, too, which Debian leaves out of the PATH of ordinary users.
pub(crate) fn command(program: &str) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

/// Returns this program as a word for a shell, with its own path: sudo does not search the user's
/// PATH, and setcap follows no link.
pub fn program() -> String {
    std::env::current_exe().map_or_else(|_| "sluiced".into(), |path| word(&path.to_string_lossy()))
}

/// Returns a text as one word for a shell.
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The reason why a command failed, as a message for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

impl Failure {
    /// Returns the failure of a file that could not be written.
    pub fn writing(path: &Path, error: &io::Error) -> Self {
        Self(format!("cannot write {}: {error}", path.display()))
    }

    /// Returns the failure of a file that could not be read.
    pub fn reading(path: &Path, error: &io::Error) -> Self {
        Self(format!("cannot read {}: {error}", path.display()))
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
