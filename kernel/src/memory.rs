//! How much memory the maps of a kind take, known before they are there.

use libbpf_rs::{MapType, OpenMap, OpenObject};

/// Of an entry of a table of hashes, besides key and value: `struct htab_elem`, and its bucket.
const ENTRY_BYTES: u64 = 64;
/// Of a map, besides its values: what the kernel knows of it, and what it rounds up to pages.
const MAP_BYTES: u64 = 1 << 14;

/// Bytes of all maps of an object.
pub(crate) fn maps_bytes(open: &OpenObject) -> u64 {
    open.maps().map(|map| map_bytes(&map)).sum()
}

fn map_bytes(map: &OpenMap<'_>) -> u64 {
    let word = |bytes: u32| u64::from(bytes.next_multiple_of(8));
    let entries = u64::from(map.max_entries());
    MAP_BYTES
        + match map.map_type() {
            // its pages are listed twice, so that none ends where it begins anew
            MapType::RingBuf => entries + entries / 128,
            MapType::LruHash => {
                entries * (word(map.key_size()) + word(map.value_size()) + ENTRY_BYTES)
            }
            _ => entries * word(map.value_size()),
        }
}
