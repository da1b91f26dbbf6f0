//! Where packets come from and go to: the kernel's packet queue, or another way in.

use std::{io, os::fd::BorrowedFd};

/// A packet that has come.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Which of the links it is for.
    pub link: usize,
    /// Its number, by which it is decided on.
    pub id: u32,
    /// Length of the IP packet.
    pub bytes: u32,
    /// The packet from its IP header on, or the beginning of it.
    pub data: &'a [u8],
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug)]
pub enum Fate<'a> {
    /// It goes on.
    Accept,
    /// It goes on, changed to this.
    Replace(&'a [u8]),
    /// It is dropped.
    Drop,
}

/// What was lost before the gate saw it, and what it could not let go, from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Packets whose numbers never came: the kernel could not hand them over. They were lost or,
    /// if it fails open, passed.
    pub id_gaps: u64,
    /// How often the kernel told that the receive buffer had no room.
    pub overruns: u64,
    /// Decisions on packets that the kernel no longer had, or would not take back.
    pub refused: u64,
}

/// What the kernel counts of the packets for a link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Packets that wait for a decision now: those that the gate holds, and those that it has not
    /// read yet. `None`: the kernel does not tell.
    pub held: Option<u64>,
    /// Packets that found the kernel's queue full, from the start; `None` likewise.
    pub queue_drops: Option<u64>,
    /// Packets for which the receive buffer had no room, likewise.
    pub buffer_drops: Option<u64>,
}

/// Gives packets and takes what is decided on them.
pub trait Backend {
    /// One of them is readable while packets wait to be received.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Where a link's packets come from, in few words.
    fn source(&self, link: usize) -> String;

    /// Takes a batch of those that have come, and gives whether more may wait.
    ///
    /// # Errors
    /// If no more packets can come.
    fn receive(&mut self, take: &mut dyn FnMut(Incoming<'_>)) -> io::Result<bool>;

    /// Decides on a packet; heeded by the next `flush` at the latest.
    ///
    /// # Errors
    /// If nothing can be decided any more.
    fn decide(&mut self, link: usize, id: u32, fate: Fate<'_>) -> io::Result<()>;

    /// Lets all be heeded that was decided.
    ///
    /// # Errors
    /// As `decide`.
    fn flush(&mut self) -> io::Result<()>;

    /// Whether packets of a link come whole; else their first bytes do. The gate may then hold
    /// `held` of them.
    ///
    /// # Errors
    /// If it cannot be told any more.
    fn set(&mut self, link: usize, whole: bool, held: u64) -> io::Result<()>;

    /// Sees to it that no more packets come, if it can, and gives whether that is so.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn close(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    /// What was lost of a link's packets.
    fn losses(&self, link: usize) -> Losses;

    /// What the kernel counts of them.
    fn counts(&self, link: usize) -> Counts;
}
