//! What moves packets between their arrival and their departure while the daemon runs: a router of
//! ours, or the kernel.

use std::{io, os::fd::BorrowedFd};

use crate::{router::Standing, settings::Settings};

/// Links at work. Times are from the daemon's start on, ns.
pub trait DataPlane {
    /// Where a link's packets come from, in few words.
    fn source(&self, link: usize) -> String;

    /// One of them is readable while packets wait to be received.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// When something is next to be done; `None`: nothing before a packet comes.
    fn due_ns(&self) -> Option<u64>;

    /// Does all that is due: takes in what has come, lets go what is to go. `now_ns` gives the
    /// time. Gives whether more packets may wait.
    ///
    /// # Errors
    /// If no more packets can come.
    fn turn(&mut self, now_ns: impl Fn() -> u64) -> io::Result<bool>;

    /// Goes on with other settings, of as many links; no packet is lost by that. Gives why they are
    /// refused, if they are: then the old ones stay in force.
    ///
    /// # Errors
    /// If no more packets can come.
    fn change(&mut self, now_ns: u64, settings: &Settings) -> io::Result<Result<(), String>>;

    /// Lets go of all packets, for good.
    ///
    /// # Errors
    /// If that cannot be told to anybody.
    fn end(&mut self, now_ns: u64) -> io::Result<()>;

    /// How each link stands.
    ///
    /// # Errors
    /// If no more packets can come.
    fn standings(&mut self, now_ns: u64) -> io::Result<Vec<Standing>>;
}
