//! Packets in transit: in two words, with their place on their route, as queues and lines keep them.

use sluice_ecn::Ecn;
use sluice_queue::{Packet as Queued, hash_of};

use crate::packet::{ACE_SHIFT, CWR, Kind, Packet};

/// A packet in two words. The compiler passes them in registers, and the queues and lines copy them
/// as they were written. Six fields are written one by one and copied in other pieces, and the
/// processor has to wait for the writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed(u64, u64);

/// Places in the second word; the kind is in its two highest bits, behind seven flags. What is kept
/// aside has 31 bits.
const BYTES_AT: u32 = 31;
const CLASS_AT: u32 = 47;
const FLAGS_AT: u32 = 55;
const KIND_AT: u32 = 62;

/// The kind of each value of two bits. A table costs less than a choice.
const KINDS: [Kind; 4] = [Kind::Data, Kind::Ack, Kind::Datagram, Kind::Feedback];

impl From<Packet> for Packed {
    #[inline]
    fn from(packet: Packet) -> Self {
        debug_assert!(packet.aside >> BYTES_AT == 0, "{packet:?}");
        debug_assert!(packet.flags >> (KIND_AT - FLAGS_AT) == 0, "{packet:?}");
        Self(
            u64::from(packet.number) << 32 | u64::from(packet.flow),
            (packet.kind as u64) << KIND_AT
                | u64::from(packet.flags) << FLAGS_AT
                | u64::from(packet.traffic_class) << CLASS_AT
                | u64::from(packet.bytes) << BYTES_AT
                | u64::from(packet.aside),
        )
    }
}

impl From<Packed> for Packet {
    #[inline]
    fn from(Packed(first, second): Packed) -> Self {
        Self {
            flow: first as u32,
            number: (first >> 32) as u32,
            aside: second as u32 & !(1 << BYTES_AT),
            bytes: (second >> BYTES_AT) as u16,
            traffic_class: (second >> CLASS_AT) as u8,
            kind: KINDS[(second >> KIND_AT) as usize],
            flags: (second >> FLAGS_AT) as u8 & 127,
        }
    }
}

/// A packet with its place on its route. The place changes at each link and the packet does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    packed: Packed,
    /// Its place on the route.
    pub place: Place,
}

impl Transit {
    /// A packet at a place.
    #[inline]
    pub fn new(packed: Packed, place: Place) -> Self {
        Self { packed, place }
    }

    /// Returns the packet.
    #[inline]
    pub fn packet(self) -> Packet {
        self.packed.into()
    }

    /// Returns the packet in two words.
    #[inline]
    pub fn packed(self) -> Packed {
        self.packed
    }

    /// Gives the packet another ECN codepoint.
    pub fn rewrite(&mut self, ecn: Ecn) {
        self.packed.1 &= !(3 << CLASS_AT);
        self.packed.1 |= u64::from(ecn.bits()) << CLASS_AT;
    }

    /// Clears AE, CWR and ECE of its TCP header.
    pub fn clear_flags(&mut self) {
        self.packed.1 &= !(u64::from(7 << ACE_SHIFT | CWR) << FLAGS_AT);
    }
}

/// A packet's next hop, as its place in the table of hops, and the packet's number in a trace: both
/// in one word, as in [`Packed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(u64);

impl Place {
    /// A place at a hop; `id` is 0 in runs without a trace.
    #[inline]
    pub fn new(hop: u32, id: u32) -> Self {
        Self(u64::from(id) << 32 | u64::from(hop))
    }

    /// Returns the place of the next link in the table of hops.
    #[inline]
    pub fn hop(self) -> u32 {
        self.0 as u32
    }

    /// Returns the packet's number.
    #[inline]
    pub fn id(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Moves to the next hop. After the last hop of a route the table holds its end.
    #[inline]
    pub fn go_on(&mut self) {
        self.0 += 1;
    }
}

impl Queued for Transit {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.packet().bytes)
    }

    /// Data and ACKs of a TCP flow count as two flows; datagram flows have numbers of their own.
    #[inline]
    fn flow_hash(&self) -> u32 {
        let packet = self.packet();
        hash_of(u64::from(packet.flow) << 2 | packet.kind as u64)
    }

    #[inline]
    fn traffic_class(&self) -> u8 {
        self.packet().traffic_class
    }

    #[inline]
    fn mark(&mut self) {
        self.packed.1 |= u64::from(Ecn::Ce.bits()) << CLASS_AT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_words_hold_all_fields() {
        for kind in KINDS {
            let packet = Packet {
                flow: 0x1234_5678,
                number: 0x9abc_def0,
                aside: 0x0fed_cba9,
                bytes: 0x8765,
                traffic_class: 0xb7,
                kind,
                flags: 0x65,
            };
            assert_eq!(Packet::from(Packed::from(packet)), packet);
        }
    }
}
