//! What the endpoints exchange: data segments in one direction, acknowledgements in the other.

use sluice_ecn::Ecn;

/// A data packet, or the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number, in packets.
    pub seq: u32,
    /// The SYN of a connection: headers only, no data.
    pub syn: bool,
    /// True if the packet was sent before.
    pub retransmitted: bool,
    /// ECN codepoint; a queue on the way may set it to CE.
    pub ecn: Ecn,
    /// Congestion window reduced (RFC 3168, section 6.1.2).
    pub cwr: bool,
    /// PSH: the last packet of a write ([`Quirks::pushes_writes`](crate::Quirks::pushes_writes)).
    pub push: bool,
    /// AE, CWR and ECE of a SYN: what it asks for ([`Feedback::asked`](crate::Feedback)). With
    /// accurate feedback, the count of marks among the packets of the other end, which sends only
    /// ACKs: it stays where it starts.
    pub ace: u8,
}

/// A run of packets that arrived out of order: `start` to `end`, `end` not included; empty when
/// both are equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// First packet of the run.
    pub start: u32,
    /// One past the last packet of the run.
    pub end: u32,
}

impl Block {
    /// True if the block holds no packet.
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// How a receiver tells the sender of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// Not at all: the connection does not use ECN.
    None,
    /// From a mark on, in all ACKs, until the sender answers with CWR (RFC 3168, section 6.1.3).
    Classic,
    /// For each packet: an ACK tells whether the packets that it acknowledges were marked (RFC
    /// 8257, section 3.2).
    PerPacket,
    /// By the number of marked packets, in each ACK (RFC 9768).
    Accurate,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next packet the receiver expects: all before it have arrived.
    pub next: u32,
    /// ECN echo; [`Echo`] says of what. Not used with accurate feedback.
    pub ece: bool,
    /// With accurate feedback the number of marked packets that arrived, modulo 8, from 5 on (RFC
    /// 9768, section 3.2.2). In the ACK of a SYN the flags AE, CWR and ECE, which say what the other
    /// end agrees to.
    pub ace: u8,
    /// The option of accurate feedback, if the ACK has it: the number of marked packets that arrived,
    /// in place of their bytes (RFC 9768, section 3.2.3).
    pub marked: Option<u32>,
    /// Selective acknowledgements, the most recent first (RFC 2018, section 4); with the option at most
    /// two, as beside time stamps the header has room for no more.
    pub sack: [Block; 3],
}
