//! One of a link's queues, with its AQM.

use sluice_aqm::{Aqm, Discipline, Verdict, View};

use crate::{
    below,
    fifo::Fifo,
    packet::{Packet, Waiting},
};

pub struct Lane<P, A> {
    waiting: Fifo<Waiting<P>>,
    aqm: A,
    watches_departures: bool,
    watches_occupancy: bool,
    wants_candidate: bool,
    ecn: bool,
    /// True while the link sends a packet of this lane.
    serving: bool,
    /// Index of the candidate of the last arrival.
    candidate: Option<usize>,
    /// The AQM's view. The fields of the queue are always up to date, the others are those of the
    /// last call.
    view: View,
}

impl<P: Packet, A> Lane<P, A> {
    #[inline]
    pub fn packets(&self) -> u32 {
        self.view.queue_packets
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        self.view.queue_bytes
    }

    /// Returns the packet at the head.
    #[inline]
    pub fn head(&self) -> Option<&Waiting<P>> {
        self.waiting.get(0)
    }

    pub fn aqm(&self) -> &A {
        &self.aqm
    }
}

impl<P: Packet, A: Aqm> Lane<P, A> {
    /// Returns an empty lane; `number` is its place among all lanes.
    pub fn new(number: u32, aqm: A, limit_packets: u32, rate_bps: u64, ecn: bool) -> Self {
        Self {
            waiting: Fifo::new(),
            watches_departures: aqm.watches_departures(),
            watches_occupancy: aqm.watches_occupancy(),
            wants_candidate: aqm.wants_candidate(),
            aqm,
            ecn,
            serving: false,
            candidate: None,
            view: View {
                limit_packets,
                rate_bps,
                lane: number,
                idle: 1,
                ..View::default()
            },
        }
    }

    /// Goes on under another discipline. `keep` gives the AQM new parameters, or returns false; then
    /// one of `start` takes its place, and what waits stays. `held_bytes` wait in all lanes.
    pub fn retune(
        &mut self,
        discipline: &Discipline,
        (now_ns, held_bytes): (u64, u64),
        keep: &impl Fn(&mut A) -> bool,
        start: &impl Fn() -> A,
    ) {
        self.view.limit_packets = discipline.limit;
        self.ecn = discipline.ecn;
        if !keep(&mut self.aqm) {
            let others_bytes = held_bytes - self.bytes();
            let (waiting, idle_since_ns) = (self.waiting.take(), self.view.idle_since_ns);
            let mut fresh = Self::new(
                self.view.lane,
                start(),
                discipline.limit,
                self.view.rate_bps,
                self.ecn,
            );
            fresh.serving = self.serving;
            fresh.view.idle = self.view.idle;
            fresh.view.idle_since_ns = idle_since_ns;
            *self = fresh;
            for waiting in waiting {
                self.rejoin(now_ns, waiting, others_bytes + self.bytes());
            }
        }
    }

    /// Adds a packet that has waited before under another AQM.
    pub fn rejoin(&mut self, now_ns: u64, waiting: Waiting<P>, buffer_bytes: u64) {
        self.tell(now_ns, &waiting.packet, buffer_bytes, 1);
        self.push(waiting.since_ns, waiting.packet);
    }

    /// Takes out all waiting packets.
    pub fn take_all(&mut self) -> impl Iterator<Item = Waiting<P>> + use<P, A> {
        self.waiting.take()
    }

    /// True while the link sends a packet of this lane.
    pub fn is_serving(&self) -> bool {
        self.serving
    }

    /// Notes that the link sends a packet that came under another discipline.
    pub fn serve(&mut self) {
        self.serving = true;
        self.wake();
    }

    /// Returns the AQM's view; after a call, the view of that call.
    #[inline]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// True if the AQM needs more than arrivals and ticks.
    pub fn asks_more(&self) -> bool {
        self.watches_departures || self.watches_occupancy || self.wants_candidate
    }

    #[inline]
    fn show(&mut self, now_ns: u64, packet: &P, buffer_bytes: u64, random: u64) {
        self.view.now_ns = now_ns;
        self.view.sojourn_ns = 0;
        self.view.random = random;
        self.view.buffer_bytes = buffer_bytes;
        self.view.packet_bytes = packet.bytes();
        self.view.flow_hash = packet.flow_hash();
        self.view.candidate_flow_hash = 0;
        self.view.ecn_capable = u8::from(self.ecn & packet.ecn().is_capable());
        self.view.full = 0;
        self.view.traffic_class = packet.traffic_class();
    }

    /// Returns the settled verdict for an arriving packet. `buffer_bytes` wait in all lanes, here
    /// and in the other functions.
    #[inline]
    pub fn judge(
        &mut self,
        now_ns: u64,
        packet: &P,
        full: bool,
        buffer_bytes: u64,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.show(now_ns, packet, buffer_bytes, random());
        self.view.full = u8::from(full);
        if self.wants_candidate {
            self.draw_candidate(random);
        }
        self.aqm.arrive(&self.view)
    }

    fn draw_candidate(&mut self, random: &mut impl FnMut() -> u64) {
        self.candidate = None;
        if !self.waiting.is_empty() {
            let index = below(random(), self.waiting.len());
            self.candidate = Some(index);
            let waiting = self.waiting.get(index).expect("below the number that wait");
            self.view.candidate_flow_hash = waiting.packet.flow_hash();
        }
    }

    /// Returns the index of the last arrival's candidate, if there was one, and forgets it.
    pub fn take_candidate(&mut self) -> Option<usize> {
        self.candidate.take()
    }

    /// Tells an AQM that follows the occupancy that a packet is about to join the waiting packets
    /// (`change` = 1) or has left them (-1). Returns the view that it got.
    #[inline]
    pub fn tell(
        &mut self,
        now_ns: u64,
        packet: &P,
        buffer_bytes: u64,
        change: i64,
    ) -> Option<&View> {
        if !self.watches_occupancy {
            return None;
        }
        self.show(now_ns, packet, buffer_bytes, 0);
        self.aqm.occupancy(&self.view, change);
        Some(&self.view)
    }

    #[inline]
    pub fn push(&mut self, now_ns: u64, packet: P) {
        self.waiting.push(Waiting {
            packet,
            since_ns: now_ns,
        });
        self.view.queue_packets += 1;
        self.view.queue_bytes += u64::from(packet.bytes());
        self.wake();
    }

    /// Removes the packet at `index`, which is lost.
    pub fn remove(&mut self, index: usize) -> Option<P> {
        let Waiting { packet, .. } = self.waiting.remove(index)?;
        self.view.queue_packets -= 1;
        self.view.queue_bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    /// Removes the packet at the head, which the link will send.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.waiting.pop()?;
        self.serving = true;
        self.view.queue_packets -= 1;
        self.view.queue_bytes -= u64::from(head.packet.bytes());
        Some(head)
    }

    /// Sets the number of waiting packets, of `bytes` each, if the world keeps them itself.
    #[inline]
    pub fn hold(&mut self, packets: u32, bytes: u32) {
        self.view.queue_packets = packets;
        self.view.queue_bytes = u64::from(packets) * u64::from(bytes);
    }

    /// Notes that a packet waits or is sent.
    #[inline]
    pub fn wake(&mut self) {
        self.view.idle = 0;
        self.view.idle_since_ns = 0;
    }

    /// Returns the verdict for the packet that `pop` returned: admit, mark or drop; `None` if the
    /// AQM does not judge departures.
    #[inline]
    pub fn judge_departure(
        &mut self,
        now_ns: u64,
        head: &Waiting<P>,
        buffer_bytes: u64,
        random: &mut impl FnMut() -> u64,
    ) -> Option<Verdict> {
        if !self.watches_departures {
            return None;
        }
        self.show(now_ns, &head.packet, buffer_bytes, random());
        self.view.sojourn_ns = now_ns - head.since_ns;
        Some(self.aqm.depart(&self.view))
    }

    /// Notes that the packet that the link took, if any, is sent or was dropped.
    #[inline]
    pub fn end_service(&mut self, now_ns: u64) {
        if self.serving {
            self.serving = false;
            self.note_idle(now_ns);
        }
    }

    /// If no packet waits and none is sent, notes that this is so from now on.
    #[inline]
    pub fn note_idle(&mut self, now_ns: u64) {
        if self.view.queue_packets == 0 && !self.serving {
            self.view.idle = 1;
            self.view.idle_since_ns = now_ns;
        }
    }

    pub fn set_rate(&mut self, rate_bps: u64) {
        self.view.rate_bps = rate_bps;
    }

    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.aqm.tick_interval_ns()
    }

    pub fn tick(&mut self, now_ns: u64, buffer_bytes: u64) {
        self.view = View {
            now_ns,
            buffer_bytes,
            sojourn_ns: 0,
            random: 0,
            packet_bytes: 0,
            flow_hash: 0,
            candidate_flow_hash: 0,
            ecn_capable: 0,
            full: 0,
            traffic_class: 0,
            ..self.view
        };
        self.aqm.tick(&self.view);
    }
}
