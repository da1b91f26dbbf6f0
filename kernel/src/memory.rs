//! Memory that the maps of a kind will take, computed before they are created.

use libbpf_rs::{MapType, OpenMap, OpenObject};

/// Bytes of an entry of a hash table besides key and value: `struct htab_elem`, and its bucket.
const ENTRY_BYTES: u64 = 64;
/// Bytes of a map besides its values: the kernel's own data, and rounding up to pages.
const MAP_BYTES: u64 = 1 << 14;

/// Returns the bytes of all maps of an object.
pub(crate) fn maps_bytes(open: &OpenObject) -> u64 {
    open.maps().map(|map| map_bytes(&map)).sum()
}

fn map_bytes(map: &OpenMap<'_>) -> u64 {
    let word = |bytes: u32| u64::from(bytes.next_multiple_of(8));
    let entries = u64::from(map.max_entries());
    MAP_BYTES
        + match map.map_type() {
            // each page is mapped twice, so that a record can run over the ring's end: 32 bytes for
            // each page of 4096
            MapType::RingBuf => entries + entries / 128,
            MapType::LruHash => {
                entries * (word(map.key_size()) + word(map.value_size()) + ENTRY_BYTES)
            }
            _ => entries * word(map.value_size()),
        }
}
