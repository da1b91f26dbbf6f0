//! What the station remembers of a packet.

use sluice_queue::Packet as Queued;

/// A packet that arrives or waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Slot of its arrival.
    pub slot: u64,
    /// Size, bytes.
    pub bytes: u32,
    /// Hash of its flow.
    pub flow: u32,
    /// 1 if it can be marked. A word wide, so that the packet has no padding: a copy of
    /// padding in odd pieces stalls the inner loop.
    pub ecn_capable: u64,
}

impl Queued for Packet {
    #[inline]
    fn bytes(&self) -> u32 {
        self.bytes
    }

    #[inline]
    fn flow_hash(&self) -> u32 {
        self.flow
    }

    #[inline]
    fn ecn_capable(&self) -> bool {
        self.ecn_capable != 0
    }

    /// Nobody in this world looks at marks.
    #[inline]
    fn mark(&mut self) {}
}
