//! What moves packets from their arrival to their departure while the daemon runs: our router, or
//! the kernel.

use std::{io, os::fd::BorrowedFd};

use crate::{router::snapshot::Snapshot, settings::Settings};

/// Links in operation. Times count from the daemon's start, ns.
pub trait DataPlane {
    /// Describes briefly where a link's packets come from.
    fn source(&self, link: usize) -> String;

    /// Returns file descriptors; one of them is readable while packets wait to be received.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Returns when something must be done next; `None` if nothing before a packet arrives.
    fn due_ns(&self) -> Option<u64>;

    /// Does everything that is due: receives packets that have arrived, releases packets that must
    /// leave. `now_ns` returns the time. Returns true if more packets may wait.
    ///
    /// # Errors
    /// If no more packets can come.
    fn turn(&mut self, now_ns: impl Fn() -> u64) -> io::Result<bool>;

    /// Goes on with other settings for the same number of links, without losing packets. The inner
    /// result is an error with the reason if the settings are refused; then the old ones stay in
    /// force.
    ///
    /// # Errors
    /// If no more packets can come.
    fn change(&mut self, now_ns: u64, settings: &Settings) -> io::Result<Result<(), String>>;

    /// Ends the links: decides on all packets that are left, or releases them.
    ///
    /// # Errors
    /// If the decisions cannot be passed on.
    fn end(&mut self, now_ns: u64) -> io::Result<()>;

    /// Returns the state of each link.
    ///
    /// # Errors
    /// If no more packets can come.
    fn snapshots(&mut self, now_ns: u64) -> io::Result<Vec<Snapshot>>;
}
