//! Departures that the world knows of beforehand.
//!
//! A world in which nothing but arrivals and ticks asks the AQM, and whose link takes packets at
//! times that it knows, can tell the queue how many have left by the next arrival, and fetch them
//! later, all at once. The AQM sees what it would see if each were fetched in time.

use sluice_aqm::{Aqm, Victim};

use crate::{
    lane::Lane,
    packet::Packet,
    queue::{Queue, Shape},
};

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// Whether nothing but arrivals and ticks asks the AQM, and nothing but departures takes a
    /// waiting packet out.
    pub fn decides_on_arrivals_only(&self) -> bool {
        match &self.0 {
            Shape::Fifo(fifo) => fifo.victim == Victim::Tail && !fifo.lanes[0].asks_more(),
            Shape::Several(_) => false,
        }
    }

    #[inline]
    fn lane(&mut self) -> &mut Lane<P, A> {
        match &mut self.0 {
            Shape::Fifo(fifo) => &mut fifo.lanes[0],
            Shape::Several(_) => unreachable!("`decides_on_arrivals_only` is false"),
        }
    }

    /// By now the link has taken `count` packets more, of `bytes` each, and sends the last of them,
    /// or still the one before.
    #[inline]
    pub fn release(&mut self, count: u32, bytes: u32) {
        self.lane().release(count, bytes);
    }

    /// The link has nothing to send since `now_ns`.
    #[inline]
    pub fn fall_idle(&mut self, now_ns: u64) {
        self.lane().end_service(now_ns);
    }

    /// Fetches the first of the packets that `release` said the link had taken.
    ///
    /// # Panics
    /// If all have been fetched.
    #[inline]
    pub fn fetch_released(&mut self) -> P {
        self.lane().fetch_released()
    }
}
