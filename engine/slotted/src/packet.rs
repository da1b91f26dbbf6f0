//! A packet, as the station stores it.

use sluice_ecn::Ecn;
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
    /// Its ECN codepoint. A `u64`, so that the packet has no padding: a packet with padding is
    /// copied in pieces of odd widths, which stalls the inner loop.
    pub ecn: u64,
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

    /// In this world nobody sets a DSCP.
    #[inline]
    fn traffic_class(&self) -> u8 {
        self.ecn as u8
    }

    #[inline]
    fn mark(&mut self) {
        self.ecn = u64::from(Ecn::Ce.bits());
    }
}
