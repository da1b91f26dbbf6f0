//! Observers of the events at a queue.

use sluice_aqm::{Verdict, View};

/// Gets the events at a queue, in order. A closure is an observer of losses only.
pub trait Observer<P> {
    /// False if it ignores all events but losses.
    const ON: bool = true;

    /// A packet is lost, because of this verdict. It need not be the arriving one.
    fn lost(&mut self, packet: P, verdict: Verdict);

    /// An event happens in number `queue` of the scheduler's queues.
    #[inline]
    fn note(&mut self, _now_ns: u64, _queue: usize, _event: Event<'_>) {}
}

/// An event at a queue. It has a view if the AQM was called.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The AQM judges an arriving packet.
    Arrive(&'a View, Verdict),
    /// The packet that arrived joins the waiting packets at the tail.
    Join(Option<&'a View>),
    /// The waiting packet at this index (0 is the head) leaves the waiting packets.
    Leave(usize, Option<&'a View>),
    /// The AQM judges the packet that has just left, before it is sent.
    Depart(&'a View, Verdict),
    /// The packet that arrived is lost.
    LoseArrival(Verdict),
    /// The packet that has just left is lost.
    LoseLeft(Verdict),
    /// The AQM's `tick` is called.
    Tick(&'a View),
}

impl Event<'_> {
    /// Returns the verdict that it adds to the counts of its queue. A loss counts once, in the queue in
    /// which the packet was: a packet that arrives may be admitted while one of another queue is lost.
    #[inline]
    pub fn counted(&self) -> Option<Verdict> {
        match *self {
            Event::Arrive(_, verdict) => (!verdict.is_drop()).then_some(verdict),
            Event::LoseArrival(verdict) | Event::LoseLeft(verdict) => Some(verdict),
            Event::Depart(_, Verdict::Mark) => Some(Verdict::Mark),
            _ => None,
        }
    }

    /// Returns by how many packets more wait in its queue.
    #[inline]
    pub fn change(&self) -> i32 {
        match self {
            Event::Join(_) => 1,
            Event::Leave(..) => -1,
            _ => 0,
        }
    }
}

/// No observer.
impl<P> Observer<P> for () {
    const ON: bool = false;

    fn lost(&mut self, _packet: P, _verdict: Verdict) {}
}

/// An observer or none.
impl<P, O: Observer<P>> Observer<P> for Option<O> {
    const ON: bool = O::ON;

    fn lost(&mut self, packet: P, verdict: Verdict) {
        if let Some(observer) = self {
            observer.lost(packet, verdict);
        }
    }

    fn note(&mut self, now_ns: u64, queue: usize, event: Event<'_>) {
        if let Some(observer) = self {
            observer.note(now_ns, queue, event);
        }
    }
}

impl<P, F: FnMut(P, Verdict)> Observer<P> for F {
    const ON: bool = false;

    #[inline]
    fn lost(&mut self, packet: P, verdict: Verdict) {
        self(packet, verdict);
    }
}
