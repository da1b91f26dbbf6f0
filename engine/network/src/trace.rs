//! Events of packets, for writers of traces.

use std::io::Write;

use sluice_link::{Clock, Ticks};
use sluice_queue::{DecisionLog, Event as QueueEvent};
use sluice_tcp::Block;

use crate::{packet::Packet, slab::Aside, transit::Transit};

/// A kind of event of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It arrives at the queue before the link.
    Arrive,
    /// Its transmission begins.
    Depart,
    /// It has come out of the link.
    Receive,
    /// The queue before the link drops it.
    Drop,
    /// The wire of the link loses it.
    Lose,
}

/// A step of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Time of the step, ns.
    pub at_ns: u64,
    /// The step.
    pub step: Step,
    /// Index of the link.
    pub link: usize,
    /// Number of the packet, different for each packet that was sent.
    pub id: u32,
    /// The packet.
    pub packet: Packet,
    /// SACK blocks of an ACK; unused blocks are empty.
    pub blocks: [Block; 3],
}

/// Receives all events of packets in a replication.
pub trait Trace {
    /// False if the trace ignores all events; then the run does not make them.
    const ON: bool = true;

    /// Called at the start of the replication, with the group of each TCP flow and of each datagram
    /// flow.
    fn begin(&mut self, tcp_groups: &[u32], datagram_groups: &[u32]);

    /// Called when an event becomes known, at `now_ns`. The event can be later than that: if
    /// nothing can come in between, a packet's next steps are known at once. The events of one
    /// packet come in order.
    fn note(&mut self, now_ns: u64, event: Event);

    /// Called for each event in queue number `queue` of the scheduler before a link. `port` is the
    /// number of the link among those that have a discipline.
    fn decide(&mut self, _now_ns: u64, _port: usize, _queue: usize, _event: QueueEvent<'_>) {}
}

/// Returns a function that notes the steps of a packet, known at `now`, at the links given.
#[inline]
pub fn noting(
    clock: Clock,
    trace: &mut impl Trace,
    aside: &Aside,
    now: Ticks,
    transit: Transit,
) -> impl FnMut(Ticks, Step, usize) {
    move |at, step, link| {
        let packet = transit.packet();
        let event = Event {
            at_ns: clock.ns(at),
            step,
            link,
            id: transit.place.id(),
            packet,
            blocks: aside.options(&packet).blocks,
        };
        trace.note(clock.ns(now), event);
    }
}

/// No trace.
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

/// A log of the decisions before all links that have a discipline.
impl<W: Write> Trace for DecisionLog<W> {
    fn begin(&mut self, _tcp_groups: &[u32], _datagram_groups: &[u32]) {}

    fn note(&mut self, _now_ns: u64, _event: Event) {}

    fn decide(&mut self, now_ns: u64, port: usize, queue: usize, event: QueueEvent<'_>) {
        DecisionLog::note(self, now_ns, port, queue, event);
    }
}
