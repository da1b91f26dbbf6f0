//! A queue of packets that are all alike, which its world keeps.
//!
//! A world in which nothing but arrivals and ticks asks the AQM, and whose link takes packets at
//! times that it knows, has nothing to fetch from a queue: it knows which packets wait, and says
//! how many. The AQM sees what it would see if each had joined the queue, and left it, in time.

use sluice_aqm::{Aqm, Verdict, Victim};

use crate::{
    buffer::Buffer,
    packet::Packet,
    queue::{Queue, Shape},
    schedule::Fifo,
};

/// A queue that only counts what waits; `waiting` is how many packets do, of `bytes` each.
pub struct Ahead<'a, P, A>(&'a mut Buffer<P, A, Fifo>);

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// The queue as one that only counts, if nothing but arrivals and ticks asks the AQM, and
    /// nothing but departures takes a waiting packet out. It holds no packets from then on.
    #[inline]
    pub fn ahead(&mut self) -> Option<Ahead<'_, P, A>> {
        match &mut self.0 {
            Shape::Fifo(fifo) if fifo.victim == Victim::Tail && !fifo.lanes[0].asks_more() => {
                Some(Ahead(fifo))
            }
            _ => None,
        }
    }
}

impl<P: Packet, A: Aqm> Ahead<'_, P, A> {
    /// So many wait now.
    #[inline]
    pub fn hold(&mut self, waiting: u32, bytes: u32) {
        self.0.lanes[0].hold(waiting, bytes);
    }

    /// The verdict on a packet that arrives; if it is no drop, it joins those that wait.
    #[inline(always)]
    pub fn judge(&mut self, now_ns: u64, packet: &P, waiting: u32, random: u64) -> Verdict {
        self.hold(waiting, packet.bytes());
        self.0.judge(0, now_ns, packet, &mut || random, &mut ())
    }

    /// The link is busy again.
    #[inline]
    pub fn wake(&mut self) {
        self.0.lanes[0].wake();
    }

    /// Since `now_ns` nothing waits, and the link has nothing to send.
    #[inline]
    pub fn fall_idle(&mut self, now_ns: u64) {
        self.hold(0, 0);
        self.0.lanes[0].note_idle(now_ns);
    }

    /// As [`Queue::tick`].
    pub fn tick(&mut self, now_ns: u64, waiting: u32, bytes: u32) {
        self.hold(waiting, bytes);
        self.0.tick(now_ns, &mut ());
    }
}
