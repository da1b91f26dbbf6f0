//! Packets, as the network carries them.

use sluice_ecn::Ecn;
use sluice_queue::{AckFacts, Packet as Queued, hash_of};
use sluice_tcp::{Ack, Segment};

use crate::slab::{Blocks, Slab};

/// A packet. Millions can be in transit: there, [`Packed`] takes only 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Index of its flow, among the TCP flows or among the datagram flows.
    pub flow: u32,
    /// Sequence number in packets, or in datagrams of the flow; in an ACK, the next sequence number
    /// that the receiver expects.
    pub number: u32,
    /// Place of what is kept of it in [`crate::slab::Aside`], 0 if nothing is.
    pub(crate) aside: u32,
    /// Size on the wire.
    pub bytes: u16,
    /// Traffic class: its differentiated services codepoint, and in the two low bits its ECN
    /// codepoint.
    pub traffic_class: u8,
    /// Kind of the packet.
    pub kind: Kind,
    /// Sum of the flags below that are set.
    flags: u8,
}

/// What a host writes into the traffic class of the packets of a flow, by their ECN codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficClass([u8; 4]);

impl TrafficClass {
    /// A differentiated services codepoint, 0 to 63; with `ect1`, ECT(1) takes the place of ECT(0).
    pub fn new(dscp: u8, ect1: bool) -> Self {
        Self([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| {
            let ecn = if ect1 && ecn == Ecn::Ect0 {
                Ecn::Ect1
            } else {
                ecn
            };
            dscp << 2 | ecn.bits()
        }))
    }

    /// Returns the traffic class of a packet that would have this codepoint.
    #[inline]
    pub(crate) fn of(self, ecn: Ecn) -> u8 {
        self.0[usize::from(ecn.bits())]
    }
}

impl Default for TrafficClass {
    fn default() -> Self {
        Self::new(0, false)
    }
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A TCP segment.
    #[default]
    Data,
    /// A TCP acknowledgement.
    Ack,
    /// A datagram, which gets no answer of its own.
    Datagram,
    /// Feedback on the datagrams of a video call.
    Feedback,
}

impl Kind {
    /// What is counted apart at a queue: TCP's data, answers, and datagrams.
    pub const COUNTED: [&[Self]; 3] = [
        &[Self::Data],
        &[Self::Ack, Self::Feedback],
        &[Self::Datagram],
    ];
    /// How many kinds there are.
    pub const COUNT: usize = 4;

    /// True if it answers: not a packet whose way is measured.
    #[inline]
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, Self::Ack | Self::Feedback)
    }
}

const SYN: u8 = 1;
const RETRANSMITTED: u8 = 2;
const CWR: u8 = 4;
const ECE: u8 = 8;
const PUSH: u8 = 64;
/// Place of three bits of the TCP header, AE, CWR and ECE: of accurate feedback, and of the handshake
/// (RFC 9768, section 3.1). ECE of classic feedback is the last of them; CWR of data has the bit below
/// them, PSH the one above.
const ACE_SHIFT: u8 = 3;
const ACE_AE: u8 = 4;

impl Packet {
    /// A TCP segment of a flow.
    #[inline]
    pub(crate) fn data(flow: u32, bytes: u16, segment: Segment, class: TrafficClass) -> Self {
        let flags = flag(segment.syn, SYN)
            | flag(segment.retransmitted, RETRANSMITTED)
            | flag(segment.cwr, CWR)
            | flag(segment.push, PUSH)
            | segment.ace << ACE_SHIFT;
        Self {
            flow,
            number: segment.seq,
            aside: 0,
            bytes,
            traffic_class: class.of(segment.ecn),
            kind: Kind::Data,
            flags,
        }
    }

    /// An acknowledgement; its SACK blocks go to `sacks`.
    #[inline]
    pub(crate) fn ack(
        flow: u32,
        bytes: u16,
        ack: &Ack,
        class: TrafficClass,
        sacks: &mut Slab<Blocks>,
    ) -> Self {
        let aside = match ack.sack {
            [first, ..] if first.is_empty() => 0,
            blocks => sacks.keep(blocks),
        };
        Self {
            flow,
            number: ack.next,
            aside,
            bytes,
            traffic_class: class.of(Ecn::NotEct),
            kind: Kind::Ack,
            flags: flag(ack.ece, ECE) | ack.ace << ACE_SHIFT,
        }
    }

    /// A datagram.
    pub(crate) fn datagram(flow: u32, number: u32, bytes: u16, traffic_class: u8) -> Self {
        Self {
            flow,
            number,
            aside: 0,
            bytes,
            traffic_class,
            kind: Kind::Datagram,
            flags: 0,
        }
    }

    /// Feedback of a call on its flow; what it says is at `aside`.
    pub(crate) fn feedback(
        flow: u32,
        number: u32,
        (bytes, traffic_class): (u16, u8),
        aside: u32,
    ) -> Self {
        Self {
            aside,
            kind: Kind::Feedback,
            ..Self::datagram(flow, number, bytes, traffic_class)
        }
    }

    /// Returns the packet with the SYN flag if `opens`.
    pub(crate) fn with_syn(self, opens: bool) -> Self {
        Self {
            flags: self.flags | flag(opens, SYN),
            ..self
        }
    }

    /// Returns the segment that it carries.
    #[inline]
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            seq: self.number,
            syn: self.has(SYN),
            retransmitted: self.has(RETRANSMITTED),
            ecn: self.ecn(),
            cwr: self.has(CWR),
            push: self.has(PUSH),
            ace: self.ace(),
        }
    }

    /// Returns the acknowledgement that it carries and removes its SACK blocks from `sacks`.
    #[inline]
    pub(crate) fn acknowledgement(&self, sacks: &mut Slab<Blocks>) -> Ack {
        Ack {
            next: self.number,
            // the flags of a handshake are no echo
            ece: self.flags & (ECE | SYN) == ECE,
            ace: self.ace(),
            sack: sacks.take(self.aside),
        }
    }

    /// Returns what a filter of ACKs sees of it, if it is one; `blocks` are its SACK blocks. One that
    /// opens a connection is none. As Linux leaves packets with reserved flags, AE is not pure.
    pub(crate) fn ack_facts(&self, blocks: Blocks) -> Option<AckFacts> {
        let is_ack = self.kind == Kind::Ack && !self.has(SYN);
        is_ack.then(|| {
            let mut sacks = [(0, 0); 4];
            for (sack, block) in sacks.iter_mut().zip(blocks) {
                *sack = (block.start, block.end);
            }
            AckFacts {
                connection: u64::from(self.flow),
                acked: self.number,
                sacks,
                timestamps: None,
                ecn_flags: self.ace() & !ACE_AE,
                is_pure: self.ace() & ACE_AE == 0,
            }
        })
    }

    /// True if it opens a connection: a SYN, or the ACK of a SYN.
    pub fn is_syn(&self) -> bool {
        self.has(SYN)
    }

    /// Returns its ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class)
    }

    /// Returns the bits AE, CWR and ECE: the counter of accurate feedback, or what a handshake says.
    #[inline]
    pub fn ace(&self) -> u8 {
        self.flags >> ACE_SHIFT & 7
    }

    /// True if it is an ACK that echoes a mark (ECE).
    pub fn echoes_mark(&self) -> bool {
        self.kind == Kind::Ack && self.has(ECE)
    }

    /// True if it reports that the congestion window was reduced (CWR).
    pub fn says_reduced(&self) -> bool {
        self.has(CWR)
    }

    /// True if it is the last packet of a write (PSH).
    pub fn is_pushed(&self) -> bool {
        self.has(PUSH)
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[inline]
fn flag(on: bool, flag: u8) -> u8 {
    if on { flag } else { 0 }
}

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
