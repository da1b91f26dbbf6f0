//! What a queue needs to know of a packet.

/// A packet of a world.
pub trait Packet: Copy + Default {
    /// Size, bytes.
    fn bytes(&self) -> u32;

    /// A hash of what identifies its flow.
    fn flow_hash(&self) -> u32;

    /// Whether it can be marked (ECT).
    fn ecn_capable(&self) -> bool;

    /// Sets congestion experienced.
    fn mark(&mut self);
}

/// A packet that waits, or has waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting<P> {
    /// The packet.
    pub packet: P,
    /// When it joined the queue, ns.
    pub since_ns: u64,
}
