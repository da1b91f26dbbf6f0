//! What a queue tells whoever watches it.

use sluice_aqm::{Verdict, View};

/// Hears what happens at a queue, in order. A closure is one that hears of losses only.
pub trait Observer<P> {
    /// Whether `note` does anything.
    const ON: bool = false;

    /// A packet is lost, and why. It need not be the one that arrives.
    fn lost(&mut self, packet: P, verdict: Verdict);

    /// Something happens in number `queue` of the scheduler's queues.
    #[inline]
    fn note(&mut self, _now_ns: u64, _queue: usize, _event: Event<'_>) {}
}

/// What happens at a queue. A view is there where the AQM was asked or told.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The AQM judges a packet that arrives.
    Arrive(&'a View, Verdict),
    /// The packet that arrived joins those that wait, as the last of them.
    Join(Option<&'a View>),
    /// The waiting packet at this index (0 is the head) leaves those that wait.
    Leave(usize, Option<&'a View>),
    /// The AQM judges the packet that has just left, as it would be sent.
    Depart(&'a View, Verdict),
    /// The packet that arrived is lost.
    LoseArrival(Verdict),
    /// The packet that has just left is lost.
    LoseLeft(Verdict),
    /// The AQM is told that its interval is over.
    Tick(&'a View),
}

/// Nobody listens.
impl<P> Observer<P> for () {
    fn lost(&mut self, _packet: P, _verdict: Verdict) {}
}

/// Perhaps somebody listens.
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
    #[inline]
    fn lost(&mut self, packet: P, verdict: Verdict) {
        self(packet, verdict);
    }
}
