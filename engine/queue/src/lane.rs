//! One of a link's queues, with what is shown to its AQM.

use sluice_aqm::{Aqm, BufferPolicy, View};

use crate::{
    below,
    fifo::Fifo,
    packet::{Packet, Waiting},
    state::Occupancy,
};

/// What an AQM wants to be asked or told, besides arrivals and ticks.
#[derive(Clone, Copy)]
pub struct Wants {
    pub departures: bool,
    pub occupancy: bool,
    pub candidate: bool,
}

impl Wants {
    /// What a coupled discipline wants.
    pub const COUPLED: Self = Self {
        departures: true,
        occupancy: false,
        candidate: false,
    };

    pub fn of(aqm: &impl Aqm) -> Self {
        Self {
            departures: aqm.watches_departures(),
            occupancy: aqm.watches_occupancy(),
            candidate: aqm.wants_candidate(),
        }
    }
}

pub struct Lane<P> {
    waiting: Fifo<Waiting<P>>,
    wants: Wants,
    ecn: bool,
    /// True while the link sends a packet of this lane.
    serving: bool,
    /// Index of the candidate of the last arrival.
    candidate: Option<usize>,
    /// The AQM's view. The fields of the queue are always up to date, the others are those of the
    /// last call.
    view: View,
}

impl<P: Packet> Lane<P> {
    #[inline]
    pub fn packets(&self) -> u32 {
        self.view.queue_packets
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        self.view.queue_bytes
    }

    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        Occupancy {
            packets: self.packets(),
            bytes: self.bytes(),
        }
    }

    /// Returns the packet at the head.
    #[inline]
    pub fn head(&self) -> Option<&Waiting<P>> {
        self.waiting.get(0)
    }

    /// Returns an empty lane; `number` is its place among all lanes.
    pub fn new(number: u32, wants: Wants, limit_packets: u32, rate_bps: u64, ecn: bool) -> Self {
        Self {
            waiting: Fifo::new(),
            wants,
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

    /// Goes on with another limit and with marking or without.
    pub fn retune(&mut self, discipline: &BufferPolicy) {
        self.view.limit_packets = discipline.limit;
        self.ecn = discipline.ecn;
    }

    /// Gets another AQM, which must be told of the packets that waited: returns them, and is empty.
    pub fn restart(&mut self, wants: Wants) -> impl Iterator<Item = Waiting<P>> + use<P> {
        self.wants = wants;
        self.candidate = None;
        self.take_all()
    }

    /// Takes out all waiting packets.
    pub fn take_all(&mut self) -> impl Iterator<Item = Waiting<P>> + use<P> {
        self.hold(0, 0);
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
        self.wants.departures || self.wants.occupancy || self.wants.candidate
    }

    #[inline]
    fn show(&mut self, now_ns: u64, packet: &P, buffer: Occupancy, random: u64) {
        self.view.now_ns = now_ns;
        self.view.sojourn_ns = 0;
        self.view.random = random;
        self.view.buffer_bytes = buffer.bytes;
        self.view.packet_bytes = packet.bytes();
        self.view.flow_hash = packet.flow_hash();
        self.view.candidate_flow_hash = 0;
        self.view.ecn_capable = u8::from(self.ecn & packet.ecn().is_capable());
        self.view.full = 0;
        self.view.traffic_class = packet.traffic_class();
    }

    /// Makes the view of an arriving packet. `buffer` is what waits in all lanes, here and in the
    /// other functions.
    #[inline]
    pub fn show_arrival(
        &mut self,
        now_ns: u64,
        packet: &P,
        full: bool,
        buffer: Occupancy,
        random: &mut impl FnMut() -> u64,
    ) {
        self.show(now_ns, packet, buffer, random());
        self.view.full = u8::from(full);
        if self.wants.candidate {
            self.draw_candidate(random);
        }
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

    /// Makes the view for an AQM that follows the occupancy, of a packet that is about to join the
    /// waiting packets or has left them. Returns false if the AQM does not follow it.
    #[inline]
    pub fn show_change(&mut self, now_ns: u64, packet: &P, buffer: Occupancy) -> bool {
        if self.wants.occupancy {
            self.show(now_ns, packet, buffer, 0);
        }
        self.wants.occupancy
    }

    /// Makes the view of a packet that waited and is lost.
    pub fn show_loss(&mut self, now_ns: u64, packet: &P, buffer: Occupancy) {
        self.show(now_ns, packet, buffer, 0);
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

    /// Returns the packets that wait, from the head on.
    pub fn packets_in_order(
        &self,
    ) -> impl ExactSizeIterator<Item = &P> + DoubleEndedIterator + Clone {
        let at = |index| &self.waiting.get(index).expect("below their number").packet;
        (0..self.waiting.len()).map(at)
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

    /// Makes the view of the packet that `pop` returned. Returns false if the AQM does not judge
    /// departures.
    #[inline]
    pub fn show_departure(
        &mut self,
        now_ns: u64,
        head: &Waiting<P>,
        buffer: Occupancy,
        random: &mut impl FnMut() -> u64,
    ) -> bool {
        if self.wants.departures {
            self.show(now_ns, &head.packet, buffer, random());
            self.view.sojourn_ns = now_ns - head.since_ns;
        }
        self.wants.departures
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

    /// Makes the view of a tick.
    pub fn show_tick(&mut self, now_ns: u64) {
        self.view = View {
            now_ns,
            buffer_bytes: 0,
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
    }
}
