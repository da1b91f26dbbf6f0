//! Wakes another thread that waits for descriptors.

use std::{
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
};

/// Wakes the thread that has the other half.
#[derive(Debug)]
pub struct Wake(UnixStream);

/// Readable once its thread has been woken.
#[derive(Debug)]
pub struct Woken(UnixStream);

/// Returns both halves.
///
/// # Errors
/// If the system has no more files.
pub fn pair() -> io::Result<(Wake, Woken)> {
    let (wake, woken) = UnixStream::pair()?;
    for end in [&wake, &woken] {
        end.set_nonblocking(true)?;
    }
    Ok((Wake(wake), Woken(woken)))
}

impl Wake {
    /// Wakes the other thread. It must look for its work after it has called [`Woken::sleep`], and
    /// this comes after the work is there.
    pub fn wake(&self) {
        // if there is no room, the thread has been woken before, and did not yet look
        (&self.0).write_all(&[0]).ok();
    }
}

impl Woken {
    /// Forgets that it was woken. Never waits.
    pub fn sleep(&mut self) {
        while self.0.read(&mut [0; 256]).is_ok_and(|length| length > 0) {}
    }
}

impl AsFd for Woken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
