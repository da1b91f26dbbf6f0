//! Chooses the lane that a packet joins, the lane that sends next, and who judges packets.

use sluice_aqm::{
    AckFilter, Aqm, Configured, LaneView, Next, Scheduler, Verdict, View, greatest_divisor,
};

use crate::{
    lane::{Lane, Wants},
    packet::Packet,
    state::Occupancy,
};

/// Calls of a scheduler after which it is at fault if it sends nothing of what waits. A packet of
/// 65,535 bytes in each of 65,536 lanes with quanta of 1 byte takes half as many.
const MOST_CALLS: u32 = 1 << 13;

/// Decides about the lanes of a buffer.
pub trait Schedule {
    /// The list of lanes.
    type Lanes<T>: AsRef<[T]> + AsMut<[T]>;

    /// Makes the lanes, each from its number.
    fn lanes<T>(&self, lane: impl Fn(u32) -> T) -> Self::Lanes<T>;

    /// Returns what waits in all lanes.
    fn occupancy<P: Packet>(&self, lanes: &[Lane<P>]) -> Occupancy;

    /// Returns the lane that a packet joins.
    fn classify(
        &mut self,
        now_ns: u64,
        packet: &impl Packet,
        random: &mut impl FnMut() -> u64,
    ) -> usize;

    /// Notes that a packet of `bytes` has joined a lane, which is then `lane`.
    fn join<P: Packet>(&mut self, number: usize, lane: &Lane<P>, bytes: u32);

    /// Notes that a packet of `bytes` has left a lane, which is then `lane`.
    fn leave<P: Packet>(&mut self, number: usize, lane: &Lane<P>, bytes: u32);

    /// Returns the lane whose head may be sent now, the same until `send` or until its head
    /// changes; `None` if no packet waits, or none may be sent before `ready_ns`.
    fn next<P: Packet>(&mut self, now_ns: u64, lanes: &[Lane<P>]) -> Option<usize>;

    /// Returns the time before which `next`, which returned `None`, has no packet that may be sent, ns;
    /// `None` if none waits.
    fn ready_ns(&self) -> Option<u64> {
        None
    }

    /// True if `lost` does anything.
    fn watches_losses(&self) -> bool {
        false
    }

    /// Notes that the packet of a lane's view, which waited there, was lost in place of an arrival.
    fn lost(&mut self, _: &View) {}

    /// Returns how ACKs that wait are removed; `None`: they stay.
    fn ack_filter(&self) -> Option<AckFilter> {
        None
    }

    /// Notes that the packet of a lane's view, an ACK that waited there, was removed so.
    fn thinned(&mut self, _: &View) {}

    /// Notes that the link sends a packet of the lane that `next` returned.
    fn send(&mut self, lane: usize, bytes: u32);

    /// Returns the lane of the packet that the link sends, or sent last.
    fn served(&self) -> usize;

    /// Returns the lane that loses a packet for an arrival of `bytes` at lane `own` when the buffer
    /// is full.
    fn victim(&mut self, own: usize, bytes: u32) -> usize;

    /// Makes the AQM of each lane; none if the discipline judges the packets of all lanes itself.
    fn aqms<A>(&self, start: impl Fn(u32) -> A) -> Self::Lanes<A>;

    /// Returns what the one who judges the packets of a lane wants to be asked or told.
    fn wants(&self, aqms: &[impl Aqm], lane: u32) -> Wants {
        Wants::of(&aqms[lane as usize])
    }

    /// Returns the verdict for the arriving packet of a lane's view.
    #[inline]
    fn arrive(&mut self, aqms: &mut [impl Aqm], lane: usize, view: &View) -> Verdict {
        aqms[lane].arrive(view)
    }

    /// Returns the verdict for the leaving packet of a lane's view.
    #[inline]
    fn depart(&mut self, aqms: &mut [impl Aqm], lane: usize, view: &View) -> Verdict {
        aqms[lane].depart(view)
    }

    /// Makes the tick of a lane; false if there is none: all lanes tick together, or its AQM has a
    /// longer interval than others.
    fn tick(&mut self, aqms: &mut [impl Aqm], _: u64, lane: usize, view: &View) -> bool {
        aqms[lane].tick(view);
        true
    }

    /// Returns the time between two ticks, ns, the greatest that divides the intervals of all AQMs;
    /// `None`: there are none.
    fn tick_interval_ns(&self, aqms: &[impl Aqm]) -> Option<u64> {
        aqms[0].tick_interval_ns()
    }

    /// Returns the drop probability of a discipline that judges the packets of all lanes itself, if
    /// it tells it.
    fn probability(&self) -> Option<f64> {
        None
    }
}

/// One lane.
pub struct Fifo;

impl Schedule for Fifo {
    type Lanes<T> = [T; 1];

    fn lanes<T>(&self, lane: impl Fn(u32) -> T) -> [T; 1] {
        [lane(0)]
    }

    #[inline]
    fn occupancy<P: Packet>(&self, lanes: &[Lane<P>]) -> Occupancy {
        lanes[0].occupancy()
    }

    #[inline]
    fn classify(&mut self, _: u64, _: &impl Packet, _: &mut impl FnMut() -> u64) -> usize {
        0
    }

    #[inline]
    fn join<P: Packet>(&mut self, _: usize, _: &Lane<P>, _: u32) {}

    #[inline]
    fn leave<P: Packet>(&mut self, _: usize, _: &Lane<P>, _: u32) {}

    #[inline]
    fn next<P: Packet>(&mut self, _: u64, lanes: &[Lane<P>]) -> Option<usize> {
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

    fn aqms<A>(&self, start: impl Fn(u32) -> A) -> [A; 1] {
        [start(0)]
    }
}

/// Several lanes with a scheduler or a coupled discipline of `aqm/`.
pub struct Several {
    scheduler: Scheduler,
    served: usize,
    ready_ns: Option<u64>,
    /// What waits in all lanes together.
    waiting: Occupancy,
    ticks: Ticks,
}

/// When the AQMs of lanes get their next ticks, if their intervals differ.
#[derive(Default)]
struct Ticks {
    /// The interval of each lane at the last tick, and its next tick, ns.
    of_lanes: Vec<(u64, u64)>,
}

impl Ticks {
    /// True if a lane with this interval has a tick now. The first call of a lane, and one with
    /// another interval, begins an interval at the tick before.
    fn is_due(&mut self, lane: usize, interval_ns: u64, common_ns: u64, now_ns: u64) -> bool {
        if interval_ns == common_ns {
            // another interval begins anew, whenever it was known before
            if let Some(of_lane) = self.of_lanes.get_mut(lane) {
                *of_lane = (0, 0);
            }
            return true;
        }
        if self.of_lanes.len() <= lane {
            self.of_lanes.resize(lane + 1, (0, 0));
        }
        let (known_ns, due_ns) = &mut self.of_lanes[lane];
        if *known_ns != interval_ns {
            *known_ns = interval_ns;
            *due_ns = now_ns - common_ns.min(now_ns) + interval_ns;
        }
        let is_due = now_ns >= *due_ns;
        if is_due {
            *due_ns += interval_ns;
        }
        is_due
    }
}

impl Several {
    pub fn new(scheduler: &Configured) -> Self {
        Self {
            scheduler: Scheduler::start(scheduler),
            served: 0,
            ready_ns: None,
            waiting: Occupancy::default(),
            ticks: Ticks::default(),
        }
    }

    /// Takes new parameters; false if the lanes would not be the same.
    pub fn retune(&mut self, scheduler: &Configured) -> bool {
        self.scheduler.retune(scheduler)
    }

    #[inline]
    fn set_view<P: Packet>(&mut self, number: usize, lane: &Lane<P>) {
        let head = lane.head();
        let view = LaneView {
            bytes: lane.bytes(),
            packets: lane.packets(),
            head_since_ns: head.map_or(0, |head| head.since_ns),
            head_bytes: head.map_or(0, |head| head.packet.bytes()),
        };
        self.scheduler.set_view(number, view);
    }
}

impl Schedule for Several {
    type Lanes<T> = Vec<T>;

    fn lanes<T>(&self, lane: impl Fn(u32) -> T) -> Vec<T> {
        (0..self.scheduler.lanes()).map(lane).collect()
    }

    fn occupancy<P: Packet>(&self, _: &[Lane<P>]) -> Occupancy {
        self.waiting
    }

    fn classify(
        &mut self,
        now_ns: u64,
        packet: &impl Packet,
        random: &mut impl FnMut() -> u64,
    ) -> usize {
        let [source_hash, destination_hash] = packet.hosts();
        let view = View {
            now_ns,
            packet_bytes: packet.bytes(),
            flow_hash: packet.flow_hash(),
            source_hash,
            destination_hash,
            traffic_class: packet.traffic_class(),
            ..View::default()
        };
        self.scheduler.classify(view, random)
    }

    fn join<P: Packet>(&mut self, number: usize, lane: &Lane<P>, bytes: u32) {
        self.waiting += Occupancy::of_one(bytes);
        self.set_view(number, lane);
        self.scheduler.joined(number);
    }

    fn leave<P: Packet>(&mut self, number: usize, lane: &Lane<P>, bytes: u32) {
        self.waiting -= Occupancy::of_one(bytes);
        self.set_view(number, lane);
    }

    fn next<P: Packet>(&mut self, now_ns: u64, _: &[Lane<P>]) -> Option<usize> {
        self.ready_ns = None;
        // a call gives a bounded number of turns, which may not be enough for a large packet
        for _ in 0..MOST_CALLS {
            match self.scheduler.next(now_ns) {
                Next::Lane(lane) => return Some(lane),
                Next::NotBefore(ready_ns) => {
                    self.ready_ns = Some(ready_ns);
                    return None;
                }
                Next::None if self.waiting.packets == 0 => return None,
                Next::None => {}
            }
        }
        panic!(
            "the scheduler sends none of {} packets that wait",
            self.waiting.packets
        )
    }

    fn ready_ns(&self) -> Option<u64> {
        self.ready_ns
    }

    fn watches_losses(&self) -> bool {
        self.scheduler.watches_losses()
    }

    fn lost(&mut self, view: &View) {
        self.scheduler.lost(view);
    }

    fn ack_filter(&self) -> Option<AckFilter> {
        self.scheduler.ack_filter()
    }

    fn thinned(&mut self, view: &View) {
        self.scheduler.thinned(view);
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

    fn aqms<A>(&self, start: impl Fn(u32) -> A) -> Vec<A> {
        if self.scheduler.judges() {
            return Vec::new();
        }
        (0..self.scheduler.lanes()).map(start).collect()
    }

    fn wants(&self, aqms: &[impl Aqm], lane: u32) -> Wants {
        aqms.get(lane as usize).map_or(Wants::COUPLED, Wants::of)
    }

    fn arrive(&mut self, aqms: &mut [impl Aqm], lane: usize, view: &View) -> Verdict {
        match aqms.get_mut(lane) {
            Some(aqm) => aqm.arrive(view),
            None => self.scheduler.arrive(view),
        }
    }

    fn depart(&mut self, aqms: &mut [impl Aqm], lane: usize, view: &View) -> Verdict {
        match aqms.get_mut(lane) {
            Some(aqm) => aqm.depart(view),
            None => self.scheduler.depart(view),
        }
    }

    fn tick(&mut self, aqms: &mut [impl Aqm], common_ns: u64, lane: usize, view: &View) -> bool {
        match aqms.get_mut(lane) {
            Some(aqm) => {
                let interval_ns = aqm.tick_interval_ns().unwrap_or(0);
                if interval_ns == 0 || !self.ticks.is_due(lane, interval_ns, common_ns, view.now_ns)
                {
                    return false;
                }
                aqm.tick(view);
            }
            None if lane > 0 => return false,
            None => self.scheduler.tick(view),
        }
        true
    }

    fn tick_interval_ns(&self, aqms: &[impl Aqm]) -> Option<u64> {
        if aqms.is_empty() {
            return self.scheduler.tick_interval_ns();
        }
        let intervals = aqms.iter().filter_map(Aqm::tick_interval_ns);
        intervals.reduce(greatest_divisor)
    }

    fn probability(&self) -> Option<f64> {
        self.scheduler.probability()
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;

    #[test]
    fn an_interval_that_was_the_common_one_for_a_while_begins_anew() {
        let mut ticks = Ticks::default();
        let mut due = |times: std::ops::RangeInclusive<u64>, common: u64| -> Vec<u64> {
            let at = times.filter(|now| now % common == 0);
            at.filter(|now| ticks.is_due(0, 15, common, *now)).collect()
        };
        assert_eq!(due(1..=45, 5), [15, 30, 45]);
        assert_eq!(due(46..=1005, 15).len(), 64);
        assert_eq!(due(1006..=1050, 5), [1020, 1035, 1050]);
    }
}
