//! Chooses the lane that a packet joins, and the lane that sends next.

use sluice_aqm::{Configured, LaneView, Scheduler, View};

use crate::{lane::Lane, packet::Packet};

/// Decides about the lanes of a buffer.
pub trait Schedule {
    /// The list of lanes.
    type Lanes<T>: AsRef<[T]> + AsMut<[T]>;

    /// Makes the lanes, each from its number.
    fn lanes<T>(&self, lane: impl Fn(u32) -> T) -> Self::Lanes<T>;

    /// Returns the packets and the bytes that wait in all lanes.
    fn held<P: Packet, A>(&self, lanes: &[Lane<P, A>]) -> (u32, u64);

    /// Returns the lane that a packet joins.
    fn classify(
        &mut self,
        now_ns: u64,
        packet: &impl Packet,
        random: &mut impl FnMut() -> u64,
    ) -> usize;

    /// Notes that a packet of `bytes` has joined a lane, which is then `lane`.
    fn join<P: Packet, A>(&mut self, number: usize, lane: &Lane<P, A>, bytes: u32);

    /// Notes that a packet of `bytes` has left a lane, which is then `lane`.
    fn leave<P: Packet, A>(&mut self, number: usize, lane: &Lane<P, A>, bytes: u32);

    /// Returns the lane whose head may be sent now, the same until `send` or until its head
    /// changes; `None` if no packet waits.
    fn next<P: Packet, A>(&mut self, now_ns: u64, lanes: &[Lane<P, A>]) -> Option<usize>;

    /// Notes that the link sends a packet of the lane that `next` returned.
    fn send(&mut self, lane: usize, bytes: u32);

    /// Returns the lane of the packet that the link sends, or sent last.
    fn served(&self) -> usize;

    /// Returns the lane that loses a packet for an arrival of `bytes` at lane `own` when the buffer
    /// is full.
    fn victim(&mut self, own: usize, bytes: u32) -> usize;
}

/// One lane.
pub struct Fifo;

impl Schedule for Fifo {
    type Lanes<T> = [T; 1];

    fn lanes<T>(&self, lane: impl Fn(u32) -> T) -> [T; 1] {
        [lane(0)]
    }

    #[inline]
    fn held<P: Packet, A>(&self, lanes: &[Lane<P, A>]) -> (u32, u64) {
        (lanes[0].packets(), lanes[0].bytes())
    }

    #[inline]
    fn classify(&mut self, _: u64, _: &impl Packet, _: &mut impl FnMut() -> u64) -> usize {
        0
    }

    #[inline]
    fn join<P: Packet, A>(&mut self, _: usize, _: &Lane<P, A>, _: u32) {}

    #[inline]
    fn leave<P: Packet, A>(&mut self, _: usize, _: &Lane<P, A>, _: u32) {}

    #[inline]
    fn next<P: Packet, A>(&mut self, _: u64, lanes: &[Lane<P, A>]) -> Option<usize> {
        (lanes[0].packets() > 0).then_some(0)
    }

    #[inline]
    fn send(&mut self, _: usize, _: u32) {}

    #[inline]
    fn served(&self) -> usize {
        0
    }

    #[inline]
    fn victim(&mut self, own: usize, _: u32) -> usize {
        own
    }
}

/// Several lanes with a scheduler of `aqm/`.
pub struct Several {
    scheduler: Scheduler,
    served: usize,
    /// Packets and bytes in all lanes together.
    packets: u32,
    bytes: u64,
}

impl Several {
    pub fn new(scheduler: &Configured) -> Self {
        Self {
            scheduler: Scheduler::start(scheduler),
            served: 0,
            packets: 0,
            bytes: 0,
        }
    }

    /// Takes new parameters; false if the lanes would not be the same.
    pub fn retune(&mut self, scheduler: &Configured) -> bool {
        self.scheduler.retune(scheduler)
    }

    #[inline]
    fn tell<P: Packet, A>(&mut self, number: usize, lane: &Lane<P, A>) {
        let head = lane.head();
        let view = LaneView {
            bytes: lane.bytes(),
            packets: lane.packets(),
            head_since_ns: head.map_or(0, |head| head.since_ns),
            head_bytes: head.map_or(0, |head| head.packet.bytes()),
        };
        self.scheduler.tell(number, view);
    }
}

impl Schedule for Several {
    type Lanes<T> = Vec<T>;

    fn lanes<T>(&self, lane: impl Fn(u32) -> T) -> Vec<T> {
        (0..self.scheduler.lanes()).map(lane).collect()
    }

    fn held<P: Packet, A>(&self, _: &[Lane<P, A>]) -> (u32, u64) {
        (self.packets, self.bytes)
    }

    fn classify(
        &mut self,
        now_ns: u64,
        packet: &impl Packet,
        random: &mut impl FnMut() -> u64,
    ) -> usize {
        let view = View {
            now_ns,
            packet_bytes: packet.bytes(),
            flow_hash: packet.flow_hash(),
            traffic_class: packet.traffic_class(),
            ..View::default()
        };
        self.scheduler.classify(view, random)
    }

    fn join<P: Packet, A>(&mut self, number: usize, lane: &Lane<P, A>, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.tell(number, lane);
        self.scheduler.joined(number);
    }

    fn leave<P: Packet, A>(&mut self, number: usize, lane: &Lane<P, A>, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
        self.tell(number, lane);
    }

    fn next<P: Packet, A>(&mut self, now_ns: u64, _: &[Lane<P, A>]) -> Option<usize> {
        loop {
            // a call gives a bounded number of turns, which may not be enough for a large packet
            let next = self.scheduler.next(now_ns);
            if next.is_some() || self.packets == 0 {
                return next;
            }
        }
    }

    fn send(&mut self, lane: usize, bytes: u32) {
        self.served = lane;
        self.scheduler.sent(lane, bytes);
    }

    fn served(&self) -> usize {
        self.served
    }

    fn victim(&mut self, own: usize, bytes: u32) -> usize {
        self.scheduler.victim(own, bytes)
    }
}
