//! What a queue needs to know about a packet.

use sluice_ecn::Ecn;

/// A packet of a world.
pub trait Packet: Copy + Default {
    /// Returns its size, bytes.
    fn bytes(&self) -> u32;

    /// Returns a hash of what identifies its flow.
    fn flow_hash(&self) -> u32;

    /// Returns its traffic class: its differentiated services codepoint, and in the two low bits its
    /// ECN codepoint.
    fn traffic_class(&self) -> u8;

    /// Returns hashes of the hosts that send it and get it; 0 if the world knows none.
    #[inline]
    fn hosts(&self) -> [u32; 2] {
        [0, 0]
    }

    /// Returns its ECN codepoint.
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class())
    }

    /// Sets the codepoint CE.
    fn mark(&mut self);
}

/// A packet that waits, or has waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// Time at which it joined the queue, ns.
    pub since_ns: u64,
}

/// Puts packets into the order in which they joined, equal ones as they are. A sort is compiled for
/// each closure, and one inside a generic type is another closure for each of its parameters.
pub fn by_arrival<P>(waiting: &mut [Waiting<P>]) {
    waiting.sort_by_key(|waiting| waiting.since_ns);
}

/// Returns the hash of the flow of datagrams with this number, the same in every world.
#[inline]
pub fn datagram_flow_hash(number: u32) -> u32 {
    hash_of(u64::from(number) << 2 | 2)
}

/// Returns a hash of a word (Fibonacci hashing: the upper half of its product with 2^64 over the
/// golden ratio).
#[inline]
pub fn hash_of(word: u64) -> u32 {
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
