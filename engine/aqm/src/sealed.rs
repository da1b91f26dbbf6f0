//! Memory that is written once and then only read.

use std::{ffi::c_void, io, ptr, slice};

/// Bytes on pages of their own that nobody can write to.
pub(crate) struct Sealed {
    pages: *mut c_void,
    room: usize,
    size: usize,
}

// SAFETY: nobody writes to it any more.
unsafe impl Send for Sealed {}
unsafe impl Sync for Sealed {}

impl Sealed {
    /// Has `fill` write to `size` zeroed bytes; nobody can write to them afterwards.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new<T>(
        size: usize,
        fill: impl FnOnce(*mut c_void) -> T,
    ) -> io::Result<(Self, T)> {
        let room = size.max(1);
        // SAFETY: new pages, of which nobody knows.
        let pages = unsafe {
            libc::mmap(
                ptr::null_mut(),
                room,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if pages == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let sealed = Self { pages, room, size };
        let filled = fill(pages);
        // SAFETY: its own pages.
        match unsafe { libc::mprotect(pages, room, libc::PROT_READ) } {
            0 => Ok((sealed, filled)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(crate) fn as_ptr(&self) -> *const c_void {
        self.pages
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: at least so many bytes were mapped.
        unsafe { slice::from_raw_parts(self.pages.cast(), self.size) }
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        // SAFETY: its own pages.
        unsafe { libc::munmap(self.pages, self.room) };
    }
}
