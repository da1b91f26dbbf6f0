//! Prefetching: with a million packets in transit, the memory needed next is in no cache.

/// Starts to load `wanted` into the cache, without waiting for it.
#[inline]
pub fn prefetch<T>(wanted: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..size_of::<T>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing, and the address lies within `wanted`.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(wanted).byte_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = wanted;
}

/// Starts to load the entry at a place of a table, which may lie beyond its end.
#[inline]
pub fn prefetch_entry<T>(table: &[T], place: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and accepts any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().wrapping_add(place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, place);
}
