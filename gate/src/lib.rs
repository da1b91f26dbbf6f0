//! The gate: a router's queue in user space.
//!
//! A [`link::Link`] is a queue of `engine/queue` and the link behind it. `sluiced replay` asks it
//! with the times of a capture, and `sluiced run` with the time of the day: a [`router::Router`]
//! stands between links and a [`backend::Backend`], which brings packets and takes decisions.

pub mod backend;
mod bottleneck;
pub mod check;
pub mod cli;
pub mod data_plane;
mod ecn;
pub mod endpoint;
mod fence;
pub mod flows;
#[cfg(test)]
mod fuzz;
mod in_kernel;
mod interface_queue;
pub mod link;
pub mod measures;
mod memory;
mod netlink;
pub mod nfqueue;
pub mod own_rules;
pub mod packet;
mod place;
mod privileges;
mod prometheus;
pub mod qdisc;
mod queue_table;
pub mod replay;
pub mod router;
pub mod rules;
pub mod run;
#[cfg(test)]
mod same_decisions;
pub mod screen;
mod service;
pub mod settings;
mod summary;
mod syntax;
pub mod telemetry;
pub mod top;
pub mod tun;
pub mod verify;

use std::{io::Write, path::Path};

/// Tells the user on stderr. That nobody hears it, or that its disk is full, is no reason to stop.
pub fn say(what: &str) {
    writeln!(std::io::stderr(), "sluiced: {what}").ok();
}

/// Prints on stdout, whole, as who waits for it may read through a pipe. That nobody hears it, or
/// that its disk is full, is no reason to stop.
pub fn print(text: &str) {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .ok();
}

/// This program as a word of a shell, by its own path: sudo does not look where the user does, and
/// setcap follows no link.
pub fn program() -> String {
    std::env::current_exe().map_or_else(|_| "sluiced".into(), |path| word(&path.to_string_lossy()))
}

/// A text as one word of a shell.
pub fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

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
