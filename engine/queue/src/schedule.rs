//! Chooses the lane that a packet joins, and the lane that sends next.

use crate::{
    classify::Classifier,
    lane::Lane,
    packet::Packet,
    scheduler::{Order, Scheduler},
};

/// Decides about the lanes of a buffer.
pub trait Schedule {
    /// The list of lanes.
    type Lanes<T>: AsRef<[T]> + AsMut<[T]>;

    /// Makes the lanes.
    fn lanes<T>(&self, lane: impl Fn() -> T) -> Self::Lanes<T>;

    /// Returns the packets and the bytes that wait in all lanes.
    fn held<P: Packet, A>(&self, lanes: &[Lane<P, A>]) -> (u32, u64);

    /// Returns the lane of a flow's packets.
    fn classify(&mut self, now_ns: u64, flow_hash: u32, random: &mut impl FnMut() -> u64) -> usize;

    /// Notes that a packet joins a lane.
    fn join(&mut self, lane: usize, bytes: u32);

    /// Notes that a packet leaves a lane.
    fn leave(&mut self, bytes: u32);

    /// Returns the lane whose head may be sent now, the same until `send` or until its head
    /// changes; `None` if no packet waits.
    fn next<P: Packet, A>(&mut self, lanes: &[Lane<P, A>]) -> Option<usize>;

    /// Notes that the link sends a packet of the lane that `next` returned, and whether that lane
    /// is then empty.
    fn send(&mut self, lane: usize, bytes: u32, is_empty: bool);

    /// Returns the lane of the packet that the link sends, or sent last.
    fn served(&self) -> usize;

    /// Returns the longest lane if a packet of `arriving_bytes` is counted in lane `own`.
    fn longest<P: Packet, A>(&self, lanes: &[Lane<P, A>], own: usize, arriving_bytes: u32)
    -> usize;
}

/// One lane.
pub struct Fifo;

impl Schedule for Fifo {
    type Lanes<T> = [T; 1];

    fn lanes<T>(&self, lane: impl Fn() -> T) -> [T; 1] {
        [lane()]
    }

    #[inline]
    fn held<P: Packet, A>(&self, lanes: &[Lane<P, A>]) -> (u32, u64) {
        (lanes[0].packets(), lanes[0].bytes())
    }

    #[inline]
    fn classify(&mut self, _: u64, _: u32, _: &mut impl FnMut() -> u64) -> usize {
        0
    }

    #[inline]
    fn join(&mut self, _: usize, _: u32) {}

    #[inline]
    fn leave(&mut self, _: u32) {}

    #[inline]
    fn next<P: Packet, A>(&mut self, lanes: &[Lane<P, A>]) -> Option<usize> {
        (lanes[0].packets() > 0).then_some(0)
    }

    #[inline]
    fn send(&mut self, _: usize, _: u32, _: bool) {}

    #[inline]
    fn served(&self) -> usize {
        0
    }

    #[inline]
    fn longest<P: Packet, A>(&self, _: &[Lane<P, A>], _: usize, _: u32) -> usize {
        0
    }
}

/// Several lanes with a scheduler.
pub struct Several {
    classifier: Classifier,
    order: Order,
    count: u32,
    served: usize,
    /// Packets and bytes in all lanes together.
    packets: u32,
    bytes: u64,
}

impl Several {
    /// `None` for a FIFO.
    pub fn new(scheduler: Scheduler) -> Option<Self> {
        Some(Self {
            classifier: Classifier::new(scheduler.queues(), scheduler.perturbation_ns()),
            order: Order::new(scheduler)?,
            count: scheduler.queues(),
            served: 0,
            packets: 0,
            bytes: 0,
        })
    }
}

impl Schedule for Several {
    type Lanes<T> = Vec<T>;

    fn lanes<T>(&self, lane: impl Fn() -> T) -> Vec<T> {
        (0..self.count).map(|_| lane()).collect()
    }

    fn held<P: Packet, A>(&self, _: &[Lane<P, A>]) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    fn classify(&mut self, now_ns: u64, flow_hash: u32, random: &mut impl FnMut() -> u64) -> usize {
        self.classifier.queue(now_ns, flow_hash, random)
    }

    fn join(&mut self, lane: usize, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.order.wake(lane);
    }

    fn leave(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }

    #[inline(never)]
    fn next<P: Packet, A>(&mut self, lanes: &[Lane<P, A>]) -> Option<usize> {
        self.order.next(|lane| lanes[lane].head_bytes())
    }

    fn send(&mut self, lane: usize, bytes: u32, is_empty: bool) {
        self.served = lane;
        self.order.sent(lane, bytes, is_empty);
    }

    fn served(&self) -> usize {
        self.served
    }

    fn longest<P: Packet, A>(
        &self,
        lanes: &[Lane<P, A>],
        own: usize,
        arriving_bytes: u32,
    ) -> usize {
        let length = |index: usize| {
            let lane = &lanes[index];
            let (arriving, bytes) = if index == own {
                (1, arriving_bytes)
            } else {
                (0, 0)
            };
            match self.order.counts_bytes() {
                true => lane.bytes() + u64::from(bytes),
                false => u64::from(lane.packets()) + arriving,
            }
        };
        let mut longest = own;
        for index in self.order.queues() {
            if length(index) > length(longest) {
                longest = index;
            }
        }
        longest
    }
}
