//! A queue of packets of equal size that its world keeps.
//!
//! If only arrivals and ticks call the AQM, and the world knows in advance when its link takes each
//! packet, then the world needs no queue: it knows which packets wait, and tells their number. The
//! AQM sees the same views as if each packet had joined and left a queue at its time.

use sluice_aqm::{Aqm, Verdict, Victim};

use crate::{
    buffer::Buffer,
    packet::{Packet, Waiting},
    queue::{Queue, Shape},
    schedule::Fifo,
};

/// A queue that holds only the number of waiting packets, `waiting`, each of `bytes`.
pub struct Ahead<'a, P, A>(&'a mut Buffer<P, A, Fifo>);

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// Returns the queue as one that only counts, if only arrivals and ticks call the AQM, and if
    /// waiting packets leave only to be sent. From then on the queue itself holds no packets.
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
    /// Sets the number of waiting packets and the size of each, bytes.
    #[inline]
    pub fn hold(&mut self, waiting: u32, bytes: u32) {
        self.0.lanes[0].hold(waiting, bytes);
    }

    /// Returns the verdict for an arriving packet that finds `waiting` packets; unless it is a
    /// drop, the packet joins them.
    #[inline(always)]
    pub fn judge(&mut self, now_ns: u64, packet: &P, waiting: u32, random: u64) -> Verdict {
        self.hold(waiting, packet.bytes());
        self.0.judge(0, now_ns, packet, &mut || random, &mut ())
    }

    /// Notes that the link is busy again.
    #[inline]
    pub fn wake(&mut self) {
        self.0.lanes[0].wake();
    }

    /// Notes that from `now_ns` on no packet waits and none is sent.
    #[inline]
    pub fn fall_idle(&mut self, now_ns: u64) {
        self.hold(0, 0);
        self.0.lanes[0].note_idle(now_ns);
    }

    /// Gives the queue the packets that wait, which it holds itself from now on. `serves`: whether
    /// the link sends one.
    pub fn end(self, waiting: impl Iterator<Item = Waiting<P>>, serves: bool) {
        let lane = &mut self.0.lanes[0];
        lane.hold(0, 0);
        waiting.for_each(|waiting| lane.push(waiting.since_ns, waiting.packet));
        if serves {
            lane.serve();
        }
    }

    /// Like [`Queue::tick`].
    pub fn tick(&mut self, now_ns: u64, waiting: u32, bytes: u32) {
        self.hold(waiting, bytes);
        self.0.tick(now_ns, &mut ());
    }
}
