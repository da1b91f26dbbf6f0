//! Where packets come from and go to: the kernel's packet queue, or TUN devices.

pub mod nfqueue;
pub mod own_rules;
pub(crate) mod queue_table;
pub mod rules;
pub mod tun;

use std::{io, os::fd::BorrowedFd};

/// Packets that the kernel may hold for a link besides those that the gate holds.
pub const SPARE_PACKETS: u32 = 65_536;

/// A packet that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Index of its link.
    pub link: usize,
    /// Its number, to which decisions refer.
    pub id: u32,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// The packet from its IP header on, or its beginning.
    pub data: &'a [u8],
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug)]
pub enum Fate<'a> {
    /// It goes on.
    Accept,
    /// It goes on, changed to this.
    Replace(&'a [u8]),
    /// It is dropped.
    Drop,
}

/// Packets lost before the gate saw them, and packets that it could not release, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Packets whose numbers never came, because the kernel could not hand them over. They were
    /// lost or, if it fails open, passed.
    pub id_gaps: u64,
    /// How often the kernel reported that the receive buffer had no room.
    pub overruns: u64,
    /// Decisions on packets that the kernel no longer had, or would not take back.
    pub refused: u64,
}

/// Counts of the kernel for a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets that wait for a decision now: those that the gate holds, and those that it has not
    /// read yet. `None` if the kernel does not show it.
    pub held: Option<u64>,
    /// Packets that found the kernel's queue full, since the start; `None` if the kernel does not
    /// show it.
    pub queue_drops: Option<u64>,
    /// Packets for which the receive buffer had no room, since the start; `None` if the kernel does
    /// not show it.
    pub buffer_drops: Option<u64>,
}

/// Delivers packets and takes the decisions on them.
pub trait Backend {
    /// Returns file descriptors; one of them is readable while packets wait to be received.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Describes briefly where a link's packets come from.
    fn source(&self, link: usize) -> String;

    /// Receives a batch of packets and passes them to `take`; returns true if more may wait.
    ///
    /// # Errors
    /// If no more packets can come.
    fn receive(&mut self, take: &mut dyn FnMut(Incoming<'_>)) -> io::Result<bool>;

    /// Decides on a packet; this takes effect at the next `flush` at the latest.
    ///
    /// # Errors
    /// If nothing can be decided any more.
    fn decide(&mut self, link: usize, id: u32, fate: Fate<'_>) -> io::Result<()>;

    /// Makes all decisions take effect.
    ///
    /// # Errors
    /// As `decide`.
    fn flush(&mut self) -> io::Result<()>;

    /// Sets whether the packets of a link come `whole` or only with their first bytes. The gate may
    /// then hold `held` of them.
    ///
    /// # Errors
    /// If the setting cannot be passed on any more.
    fn set(&mut self, link: usize, whole: bool, held: u64) -> io::Result<()>;

    /// Stops the arrival of packets, if it can; returns true if it has.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn close(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns the losses of a link.
    fn losses(&self, link: usize) -> Losses;

    /// Returns the kernel's counts for a link.
    fn counts(&self, link: usize) -> Counts;
}
