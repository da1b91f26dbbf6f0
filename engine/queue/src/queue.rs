//! The queue in front of a link.

use sluice_aqm::{Aqm, Discipline, Verdict};

use crate::{
    buffer::Buffer,
    lane::Lane,
    observer::Observer,
    packet::{Packet, Waiting},
    schedule::{Fifo, Several},
    scheduler::Scheduler,
};

/// All that waits in front of one link, and the rules that it waits under.
pub struct Queue<P, A>(pub(crate) Shape<P, A>);

/// A FIFO is all that most queues are, so it does without what only several lanes need.
pub(crate) enum Shape<P, A> {
    Fifo(Buffer<P, A, Fifo>),
    Several(Box<Buffer<P, A, Several>>),
}

/// Does the same with the buffer of either shape.
macro_rules! with_buffer {
    ($shape:expr, $buffer:ident => $do:expr) => {
        match $shape {
            Shape::Fifo($buffer) => $do,
            Shape::Several($buffer) => $do,
        }
    };
}

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// An empty queue in front of an idle link of `rate_bps` bits/s. `start_aqm` gives each of
    /// the scheduler's queues its own AQM.
    pub fn new(
        discipline: Discipline,
        scheduler: Scheduler,
        start_aqm: impl Fn() -> A,
        rate_bps: u64,
    ) -> Self {
        let lane = || Lane::new(start_aqm(), discipline.limit, rate_bps, discipline.ecn);
        Self(match Several::new(scheduler) {
            None => Shape::Fifo(Buffer::new(discipline, Fifo, lane)),
            Some(several) => Shape::Several(Box::new(Buffer::new(discipline, several, lane))),
        })
    }

    fn lanes(&self) -> &[Lane<P, A>] {
        with_buffer!(&self.0, buffer => buffer.lanes.as_ref())
    }

    /// Waiting packets, without the one that the link sends.
    #[inline]
    pub fn packets(&self) -> usize {
        with_buffer!(&self.0, buffer => buffer.held().0 as usize)
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        with_buffer!(&self.0, buffer => buffer.held().1)
    }

    /// The AQM of each of the scheduler's queues; with `fifo` there is one.
    pub fn aqms(&self) -> impl Iterator<Item = &A> {
        self.lanes().iter().map(Lane::aqm)
    }

    /// How often each verdict was given: one for every arrival, and one for every packet that was
    /// lost as a candidate, or in addition to make room in bytes, or marked or dropped as it left.
    /// So every packet that is lost counts once.
    #[inline]
    pub fn verdicts(&self) -> &[u64; Verdict::COUNT] {
        with_buffer!(&self.0, buffer => &buffer.verdicts)
    }

    /// How often [`Queue::tick`] is to be called, ns; never if `None`.
    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.lanes()[0].tick_interval_ns()
    }

    /// Ticks every AQM.
    pub fn tick(&mut self, now_ns: u64, observer: &mut impl Observer<P>) {
        with_buffer!(&mut self.0, buffer => buffer.tick(now_ns, observer));
    }

    /// Takes in a packet; an idle link is then to ask for its next with [`Queue::depart`].
    ///
    /// `random` gives 64 fresh random bits a call. `observer` gets each packet that is lost, and
    /// why: the arriving one or those that make room for it. Returns the verdict on the arrival.
    #[inline]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        packet: P,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        match &mut self.0 {
            Shape::Fifo(fifo) => fifo.arrive(now_ns, packet, random, observer),
            Shape::Several(several) => several.arrive_apart(now_ns, packet, random, observer),
        }
    }

    /// The packet that the link is to send next, and since when it waited; to be called whenever
    /// the link is free, and so also as each transmission ends.
    ///
    /// Packets that the AQM drops as they would leave go to `observer`.
    #[inline]
    pub fn depart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Option<Waiting<P>> {
        match &mut self.0 {
            Shape::Fifo(fifo) => fifo.depart(now_ns, random, observer),
            Shape::Several(several) => several.depart_apart(now_ns, random, observer),
        }
    }
}
