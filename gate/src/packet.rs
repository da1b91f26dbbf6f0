//! A packet in the queue of the gate: what decisions need, without its payload.

use sluice_queue::Packet;

/// A packet that the gate holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its number at its origin: the kernel's id, or its index in a capture.
    pub id: u32,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// Hash of what identifies its flow.
    pub flow_hash: u32,
    /// True if it can be marked, or came marked (ECT or CE).
    pub ecn_capable: bool,
    /// True if the queue has marked it.
    pub marked: bool,
}

impl Packet for Held {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }

    fn ecn_capable(&self) -> bool {
        self.ecn_capable
    }

    fn mark(&mut self) {
        self.marked = true;
    }
}
