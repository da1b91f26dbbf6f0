//! The queue before a link.

use sluice_aqm::{Aqm, BufferPolicy, Configured, Verdict};

use crate::{
    ack_filter::AckFacts,
    buffer::Buffer,
    lane::Lane,
    observer::Observer,
    packet::{Packet, Waiting},
    schedule::{Fifo, Schedule, Several},
    state::QueueState,
};

/// The packets that wait before one link, and the rules for them.
pub struct Queue<P, A>(pub(crate) Shape<P, A>);

/// Most queues are FIFOs, which do without what only several lanes need.
#[expect(
    clippy::large_enum_variant,
    reason = "a FIFO in a box would be one more place to look up for each packet"
)]
pub(crate) enum Shape<P, A> {
    Fifo(Buffer<P, A, Fifo>),
    Several(Box<Buffer<P, A, Several>>),
}

/// Evaluates the same expression with the buffer of either shape.
macro_rules! with_buffer {
    ($shape:expr, $buffer:ident => $do:expr) => {
        match $shape {
            Shape::Fifo($buffer) => $do,
            Shape::Several($buffer) => $do,
        }
    };
}

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// Returns an empty queue before an idle link of `rate_bps` bits/s; without a scheduler it is
    /// first in, first out. `start_aqm` makes the AQM of each of the scheduler's queues, from its
    /// number; none for those of a coupled discipline, which takes the place of the scheduler.
    ///
    /// # Panics
    /// If `scheduler` is an AQM.
    pub fn new(
        discipline: BufferPolicy,
        scheduler: Option<&Configured>,
        start_aqm: impl Fn(u32) -> A,
        rate_bps: u64,
    ) -> Self {
        let lane =
            |number, wants| Lane::new(number, wants, discipline.limit, rate_bps, discipline.ecn);
        Self(match scheduler.map(Several::new) {
            None => Shape::Fifo(Buffer::new(discipline, Fifo, start_aqm, lane)),
            Some(several) => {
                Shape::Several(Box::new(Buffer::new(discipline, several, start_aqm, lane)))
            }
        })
    }

    /// Returns the number of waiting packets, without the one that the link sends.
    #[inline]
    pub fn packets(&self) -> usize {
        with_buffer!(&self.0, buffer => buffer.occupancy().packets as usize)
    }

    /// Returns the bytes of the waiting packets.
    #[inline]
    pub fn bytes(&self) -> u64 {
        with_buffer!(&self.0, buffer => buffer.occupancy().bytes)
    }

    /// Returns the packet at the head of the first of the scheduler's queues.
    pub fn head(&self) -> Option<&Waiting<P>> {
        let lanes: &[Lane<P>] = with_buffer!(&self.0, buffer => buffer.lanes.as_ref());
        lanes.first().and_then(Lane::head)
    }

    /// Returns what can be seen of it now.
    pub fn state(&self) -> QueueState {
        QueueState {
            packets: self.packets() as u32,
            bytes: self.bytes(),
            verdicts: *self.verdicts(),
            lanes: with_buffer!(&self.0, buffer => buffer.states()),
        }
    }

    /// Returns the AQM of each of the scheduler's queues; without a scheduler there is one, with a
    /// coupled discipline there is none.
    pub fn aqms(&self) -> impl Iterator<Item = &A> {
        let aqms: &[A] = with_buffer!(&self.0, buffer => buffer.aqms.as_ref());
        aqms.iter()
    }

    /// Returns the drop probability of a coupled discipline, if it tells it.
    pub fn coupled_probability(&self) -> Option<f64> {
        with_buffer!(&self.0, buffer => buffer.schedule.probability())
    }

    /// Returns the lane of the packet that [`Queue::depart`] returned last.
    pub fn served(&self) -> usize {
        with_buffer!(&self.0, buffer => buffer.schedule.served())
    }

    /// Returns how often each verdict was given: one for every arrival, and one more for every
    /// packet that was lost as a candidate, was lost in addition to make room in bytes, or was
    /// marked or dropped at its departure. So every lost packet counts once.
    #[inline]
    pub fn verdicts(&self) -> &[u64; Verdict::COUNT] {
        with_buffer!(&self.0, buffer => &buffer.verdicts)
    }

    /// Goes on under another discipline, as [`Queue::new`] takes it. `keep` gives new parameters to
    /// an AQM of the same kind, or returns false.
    ///
    /// What waits stays, in its order, and is judged by the new discipline from now on. So do the
    /// states of AQMs and scheduler, if the AQM is of the same kind and the scheduler has the same
    /// queues. Otherwise they start anew: a new AQM is told of each packet that waits if it follows
    /// the occupancy, and packets join the queues of a new scheduler in the order of their arrival.
    /// If more waits than a new limit allows, nothing is lost by that alone: the queue counts as
    /// full until enough has left.
    ///
    /// The caller must ask for [`Queue::tick_interval_ns`] again.
    ///
    /// # Panics
    /// If `scheduler` is an AQM.
    pub fn retune(
        &mut self,
        now_ns: u64,
        (discipline, scheduler): (BufferPolicy, Option<&Configured>),
        keep: impl Fn(u32, &mut A) -> bool,
        start_aqm: impl Fn(u32) -> A,
        // not generic: each source and server of the slotted world would have its own copy
        random: &mut dyn FnMut() -> u64,
    ) {
        let is_same = match (&mut self.0, scheduler) {
            (Shape::Fifo(_), None) => true,
            (Shape::Several(several), Some(scheduler)) => several.retune_scheduler(scheduler),
            _ => false,
        };
        if is_same {
            with_buffer!(&mut self.0, buffer => {
                buffer.retune(now_ns, &discipline, &keep, &start_aqm);
            });
            return;
        }
        let rate_bps = with_buffer!(&self.0, buffer => {
            let lanes: &[Lane<P>] = buffer.lanes.as_ref();
            lanes[0].view().rate_bps
        });
        let new = Self::new(discipline, scheduler, start_aqm, rate_bps);
        let mut old = std::mem::replace(self, new);
        with_buffer!(&mut self.0, buffer => with_buffer!(&mut old.0, old => {
            buffer.take_over(now_ns, old, random);
        }));
    }

    /// Shows another rate of the link to the AQMs from now on, bits/s; everything else stays. An AQM
    /// may divide by it, so an outage is shown as 1 bit/s.
    pub fn set_rate(&mut self, rate_bps: u64) {
        with_buffer!(&mut self.0, buffer => {
            let lanes: &mut [Lane<P>] = buffer.lanes.as_mut();
            lanes.iter_mut().for_each(|lane| lane.set_rate(rate_bps.max(1)));
        });
    }

    /// Returns the time between two calls of [`Queue::tick`], ns; `None`: it is never called.
    pub fn tick_interval_ns(&self) -> Option<u64> {
        with_buffer!(&self.0, buffer => buffer.tick_interval_ns)
    }

    /// Calls `tick` of every AQM.
    pub fn tick(&mut self, now_ns: u64, observer: &mut impl Observer<P>) {
        with_buffer!(&mut self.0, buffer => buffer.tick(now_ns, observer));
    }

    /// Handles an arriving packet and returns its verdict; an idle link must then call
    /// [`Queue::depart`].
    ///
    /// `random` returns 64 fresh random bits at each call. `observer` gets each packet that is
    /// lost, with the verdict: the arriving one or those that make room for it.
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

    /// Returns lane and place of an ACK that waits and tells nothing more than the last arrival, if this
    /// joined and the discipline filters ACKs. The world asks after [`Queue::arrive`] of an ACK, before any
    /// other call, and then calls [`Queue::remove_ack`]. `facts` has what is known of a packet that is
    /// an ACK.
    pub fn needless_ack(&self, facts: impl Fn(&P) -> Option<AckFacts>) -> Option<(usize, usize)> {
        with_buffer!(&self.0, buffer => buffer.needless_ack(facts))
    }

    /// Removes an ACK that is needless. It counts as a forced drop; Linux counts it among the drops, too.
    pub fn remove_ack(
        &mut self,
        now_ns: u64,
        place: (usize, usize),
        observer: &mut impl Observer<P>,
    ) {
        with_buffer!(&mut self.0, buffer => buffer.remove_ack(now_ns, place, observer));
    }

    /// Returns the time before which no packet may be sent, ns, if [`Queue::depart`] returned `None`
    /// though packets wait: a shaper holds them. An idle link must call it again then, and at each
    /// arrival.
    #[inline]
    pub fn ready_ns(&self) -> Option<u64> {
        with_buffer!(&self.0, buffer => buffer.schedule.ready_ns())
    }

    /// Returns the packet that the link must send next, with the time since which it waited. The
    /// link calls this whenever it is free, so also at the end of each transmission.
    ///
    /// Packets that the AQM drops at departure go to `observer`.
    #[inline]
    pub fn depart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Option<Waiting<P>> {
        match &mut self.0 {
            Shape::Fifo(fifo) => fifo.depart(now_ns, random, observer),
            Shape::Several(several) => {
                let sent = several.depart_apart(now_ns, random, observer);
                sent.map(|(packet, since_ns)| Waiting { packet, since_ns })
            }
        }
    }
}
