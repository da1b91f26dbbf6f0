//! Large pages for large tables.
//!
//! With 100,000 flows, nearly every packet needs another page of memory. A processor keeps the
//! addresses of some thousand pages at hand (its TLB), which is too few for pages of 4 kB.

/// Asks the system to keep a table in large pages: a request that changes nothing but speed.
pub fn ask_for_large_pages<T>(table: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let room = table.capacity() * size_of::<T>();
        let start: *mut u8 = table.as_mut_ptr().cast();
        let skipped = start.align_offset(PAGE);
        if room > skipped {
            // SAFETY: the advice concerns whole pages within the table's room and leaves what they
            // hold as it is.
            unsafe {
                let pages = (room - skipped) / PAGE;
                libc::madvise(start.add(skipped).cast(), pages * PAGE, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}
