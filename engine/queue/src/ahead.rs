//! Departures that the world knows of beforehand.
//!
//! A world in which nothing but arrivals and ticks asks the AQM, and whose link takes packets at
//! times that it knows, can tell the queue how many have left by the next arrival, and fetch them
//! later, all at once. The AQM sees what it would see if each were fetched in time.

use sluice_aqm::{Aqm, Verdict, Victim};

use crate::{
    buffer::Buffer,
    packet::Packet,
    queue::{Queue, Shape},
    schedule::Fifo,
};

/// A queue some of whose packets have left, though they are yet to be fetched.
pub struct Ahead<'a, P, A>(&'a mut Buffer<P, A, Fifo>);

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// The queue as one that can run ahead of departures, if nothing but arrivals and ticks asks
    /// the AQM, and nothing but departures takes a waiting packet out.
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
    /// By now the link has taken `count` packets more, of `bytes` each, and sends the last of them,
    /// or still the one before.
    #[inline]
    pub fn release(&mut self, count: u32, bytes: u32) {
        self.0.lanes[0].release(count, bytes);
    }

    /// The link has nothing to send since `now_ns`.
    #[inline]
    pub fn fall_idle(&mut self, now_ns: u64) {
        self.0.lanes[0].end_service(now_ns);
    }

    /// Fetches the first `count` of the packets that `release` said the link had taken.
    ///
    /// # Panics
    /// If fewer wait.
    #[inline]
    pub fn fetch(&mut self, count: u32) -> impl Iterator<Item = P> {
        self.0.lanes[0].fetch_released(count)
    }

    /// As [`Queue::arrive`].
    #[inline]
    pub fn arrive(&mut self, now_ns: u64, packet: P, random: u64) -> Verdict {
        self.0.arrive(now_ns, packet, &mut || random, &mut ())
    }

    /// As [`Queue::tick`].
    pub fn tick(&mut self, now_ns: u64) {
        self.0.tick(now_ns, &mut ());
    }
}
