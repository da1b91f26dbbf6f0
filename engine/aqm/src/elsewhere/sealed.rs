//! Memory that is written once and then only read, where pages cannot be protected.

use std::{ffi::c_void, io, slice};

/// Bytes that are aligned for any struct.
pub(crate) struct Sealed {
    words: Box<[u128]>,
    size: usize,
}

impl Sealed {
    /// Has `fill` write to `size` zeroed bytes.
    ///
    /// # Errors
    /// None here.
    pub(crate) fn new<T>(
        size: usize,
        fill: impl FnOnce(*mut c_void) -> T,
    ) -> io::Result<(Self, T)> {
        let words = size.div_ceil(size_of::<u128>()).max(1);
        let mut words = vec![0_u128; words].into_boxed_slice();
        let filled = fill(words.as_mut_ptr().cast());
        Ok((Self { words, size }, filled))
    }

    pub(crate) fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: there are at least so many bytes.
        unsafe { slice::from_raw_parts(self.words.as_ptr().cast(), self.size) }
    }
}
