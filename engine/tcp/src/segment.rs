//! What the endpoints exchange: data segments in one direction, acknowledgements in the other.

/// A data packet, or the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number, in packets.
    pub seq: u32,
    /// The SYN of a connection: headers only, no data.
    pub syn: bool,
    /// True if the packet was sent before.
    pub retransmitted: bool,
    /// ECN-capable transport (RFC 3168, section 5).
    pub ect: bool,
    /// Congestion experienced: set by a queue on the way.
    pub ce: bool,
    /// Congestion window reduced (RFC 3168, section 6.1.2).
    pub cwr: bool,
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

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// The next packet the receiver expects: all before it have arrived.
    pub next: u32,
    /// ECN echo (RFC 3168, section 6.1.3).
    pub ece: bool,
    /// Selective acknowledgements, the most recent first (RFC 2018, section 4).
    pub sack: [Block; 3],
}
