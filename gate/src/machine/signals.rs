//! The signals that a program of ours takes.

use nix::sys::{
    signal::{SigSet, Signal},
    signalfd::{SfdFlags, SignalFd},
};

use crate::Failure;

/// Blocks the signals that end it or reload its settings; returns a descriptor to read them from.
pub fn signals() -> Result<SignalFd, Failure> {
    let mut mask = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        mask.add(signal);
    }
    let read = mask
        .thread_block()
        .and_then(|()| SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC));
    read.map_err(|error| Failure(format!("no signals: {error}")))
}
