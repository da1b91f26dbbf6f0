//! What the network carries.

use sluice_queue::{Packet as Queued, hash_of};
use sluice_tcp::{Ack, Segment};

use crate::sacks::Sacks;

/// A packet: 16 bytes, since millions can be on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Whose it is: an index among the TCP flows, or among the datagram flows.
    pub flow: u32,
    /// Sequence number in packets, or of a flow's datagrams; of an ACK, the next that the receiver
    /// expects.
    pub number: u32,
    /// Of an ACK: where its SACK blocks are kept, 0 if it has none.
    pub(crate) sack: u32,
    /// On the wire.
    pub bytes: u16,
    /// What it carries.
    pub kind: Kind,
    /// Those of the constants below that hold.
    flags: u8,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A TCP segment.
    #[default]
    Data,
    /// A TCP acknowledgement.
    Ack,
    /// A datagram that nobody answers.
    Datagram,
}

const SYN: u8 = 1;
const RETRANSMITTED: u8 = 2;
const ECN_CAPABLE: u8 = 4;
const MARKED: u8 = 8;
const CWR: u8 = 16;
const ECE: u8 = 32;

impl Packet {
    /// A segment of a flow.
    #[inline]
    pub(crate) fn data(flow: u32, bytes: u16, segment: Segment) -> Self {
        let flags = flag(segment.syn, SYN)
            | flag(segment.retransmitted, RETRANSMITTED)
            | flag(segment.ect, ECN_CAPABLE)
            | flag(segment.ce, MARKED)
            | flag(segment.cwr, CWR);
        Self {
            flow,
            number: segment.seq,
            sack: 0,
            bytes,
            kind: Kind::Data,
            flags,
        }
    }

    /// An acknowledgement; its SACK blocks go to `sacks`.
    #[inline]
    pub(crate) fn ack(flow: u32, bytes: u16, ack: &Ack, sacks: &mut Sacks) -> Self {
        Self {
            flow,
            number: ack.next,
            sack: sacks.keep(ack.sack),
            bytes,
            kind: Kind::Ack,
            flags: flag(ack.ece, ECE),
        }
    }

    /// A datagram.
    pub(crate) fn datagram(flow: u32, number: u32, bytes: u16) -> Self {
        Self {
            flow,
            number,
            sack: 0,
            bytes,
            kind: Kind::Datagram,
            flags: 0,
        }
    }

    /// The same, and whether it opens a connection.
    pub(crate) fn with_syn(self, opens: bool) -> Self {
        Self {
            flags: self.flags | flag(opens, SYN),
            ..self
        }
    }

    /// The same, and whether a queue may mark it.
    pub(crate) fn with_ecn(self, capable: bool) -> Self {
        Self {
            flags: self.flags | flag(capable, ECN_CAPABLE),
            ..self
        }
    }

    /// The segment that it carries.
    #[inline]
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            seq: self.number,
            syn: self.has(SYN),
            retransmitted: self.has(RETRANSMITTED),
            ect: self.has(ECN_CAPABLE),
            ce: self.has(MARKED),
            cwr: self.has(CWR),
        }
    }

    /// The acknowledgement that it carries; its SACK blocks leave `sacks`.
    #[inline]
    pub(crate) fn acknowledgement(&self, sacks: &mut Sacks) -> Ack {
        Ack {
            next: self.number,
            ece: self.has(ECE),
            sack: sacks.take(self.sack),
        }
    }

    /// Whether it opens a connection: a SYN, or, as far as a trace is written, the ACK of one.
    pub fn is_syn(&self) -> bool {
        self.has(SYN)
    }

    /// Whether a queue may mark it (ECT).
    pub fn is_ecn_capable(&self) -> bool {
        self.has(ECN_CAPABLE)
    }

    /// Whether a queue has marked it (CE).
    pub fn is_marked(&self) -> bool {
        self.has(MARKED)
    }

    /// Whether it is an ACK that echoes a mark (ECE).
    pub fn echoes_mark(&self) -> bool {
        self.has(ECE)
    }

    /// Whether it says that the congestion window was reduced (CWR).
    pub fn says_reduced(&self) -> bool {
        self.has(CWR)
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

/// A packet with its place on its route. The place changes at each link and the packet does not:
/// together in one struct they would be copied in pieces other than those just written, for
/// which a processor waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transit {
    /// What is in transit.
    pub packet: Packet,
    /// Where it is.
    pub place: Place,
}

/// A packet's place in the table of hops, its next link, and its number in a trace: one word, for
/// the same reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place(u64);

impl Place {
    /// At a hop; `id` is 0 where no trace is written.
    #[inline]
    pub fn new(hop: u32, id: u32) -> Self {
        Self(u64::from(id) << 32 | u64::from(hop))
    }

    /// The next link's place in the table.
    #[inline]
    pub fn hop(self) -> u32 {
        self.0 as u32
    }

    /// The packet's number.
    #[inline]
    pub fn id(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Goes on to the next hop; after the last one comes the end of the table's row.
    #[inline]
    pub fn go_on(&mut self) {
        self.0 += 1;
    }
}

impl Queued for Transit {
    #[inline]
    fn bytes(&self) -> u32 {
        u32::from(self.packet.bytes)
    }

    /// ACKs of a flow are another flow than its data, and datagram flows are numbered apart.
    #[inline]
    fn flow_hash(&self) -> u32 {
        hash_of(u64::from(self.packet.flow) << 2 | self.packet.kind as u64)
    }

    #[inline]
    fn ecn_capable(&self) -> bool {
        self.packet.has(ECN_CAPABLE)
    }

    #[inline]
    fn mark(&mut self) {
        self.packet.flags |= MARKED;
    }
}
