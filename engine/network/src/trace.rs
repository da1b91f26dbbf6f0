//! What a run shows of its packets to whoever writes a trace.

use std::io::Write;

use sluice_queue::{DecisionLog, Event as QueueEvent};
use sluice_tcp::Block;

use crate::packet::Packet;

/// What happens to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It comes to what stands before the link.
    Arrive,
    /// Its transmission begins.
    Depart,
    /// It has come out of the link.
    Receive,
    /// What stands before the link drops it.
    Drop,
}

/// A step of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// When, ns.
    pub at_ns: u64,
    /// What.
    pub step: Step,
    /// Index of the link.
    pub link: usize,
    /// Number of the packet: no two that were sent have the same.
    pub id: u32,
    /// The packet.
    pub packet: Packet,
    /// Of an ACK, what arrived out of order; unused blocks are empty.
    pub blocks: [Block; 3],
}

/// Sees all that happens to packets in a replication.
pub trait Trace {
    /// Whether it looks at all. A run that no one looks at does nothing for it.
    const ON: bool;

    /// The replication begins with these flows: the group of each TCP flow, and of each flow of
    /// datagrams.
    fn begin(&mut self, tcp_groups: &[u32], datagram_groups: &[u32]);

    /// An event becomes known at `now_ns`. It may lie ahead: where nothing can come in between, a
    /// packet's next steps are known at once. Those of one packet come in their order.
    fn note(&mut self, now_ns: u64, event: Event);

    /// Something happens in number `queue` of the scheduler's queues before a link: number `port`
    /// of those that have a discipline.
    fn decide(&mut self, _now_ns: u64, _port: usize, _queue: usize, _event: QueueEvent<'_>) {}
}

/// Nobody looks.
impl Trace for () {
    const ON: bool = false;

    fn begin(&mut self, _tcp_groups: &[u32], _datagram_groups: &[u32]) {}

    fn note(&mut self, _now_ns: u64, _event: Event) {}
}

impl<T: Trace> Trace for &mut T {
    const ON: bool = T::ON;

    fn begin(&mut self, tcp_groups: &[u32], datagram_groups: &[u32]) {
        T::begin(self, tcp_groups, datagram_groups);
    }

    fn note(&mut self, now_ns: u64, event: Event) {
        T::note(self, now_ns, event);
    }

    fn decide(&mut self, now_ns: u64, port: usize, queue: usize, event: QueueEvent<'_>) {
        T::decide(self, now_ns, port, queue, event);
    }
}

/// The decisions before all links that have a discipline.
impl<W: Write> Trace for DecisionLog<W> {
    const ON: bool = true;

    fn begin(&mut self, _tcp_groups: &[u32], _datagram_groups: &[u32]) {}

    fn note(&mut self, _now_ns: u64, _event: Event) {}

    fn decide(&mut self, now_ns: u64, port: usize, queue: usize, event: QueueEvent<'_>) {
        DecisionLog::note(self, now_ns, port, queue, event);
    }
}
