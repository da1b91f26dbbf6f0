//! Large pages for large tables.
//!
//! With 100,000 flows, nearly every packet needs another page of memory. A processor's TLB holds
//! the addresses of some thousand pages, which is too few for pages of 4 kB.

/// Asks the system to keep a table in large pages. This changes only the speed.
pub fn ask_for_large_pages<T>(table: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let room = table.capacity() * size_of::<T>();
        let start: *mut u8 = table.as_mut_ptr().cast();
        let skipped = start.align_offset(PAGE);
        if room > skipped {
            // SAFETY: the advice is for whole pages within the table's capacity and does not change
            // their contents.
            unsafe {
                let pages = (room - skipped) / PAGE;
                libc::madvise(start.add(skipped).cast(), pages * PAGE, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
}
