//! One of a link's queues with the AQM that watches it.

use sluice_aqm::{Aqm, Verdict, View};

use crate::{
    below,
    fifo::Fifo,
    packet::{Bytes, Packet, Waiting},
};

pub struct Lane<P, A> {
    waiting: Fifo<Waiting<P>>,
    aqm: A,
    watches_departures: bool,
    watches_occupancy: bool,
    wants_candidate: bool,
    limit_packets: u32,
    rate_bps: u64,
    ecn: bool,
    /// Whether the link sends a packet of this lane.
    serving: bool,
    /// Index of the waiting packet that the last arrival was judged with.
    candidate: Option<usize>,
    idle_since_ns: u64,
    /// What the AQM saw last.
    view: View,
}

impl<P: Packet, A: Aqm> Lane<P, A> {
    pub fn new(aqm: A, limit_packets: u32, rate_bps: u64, ecn: bool) -> Self {
        Self {
            waiting: Fifo::new(),
            watches_departures: aqm.watches_departures(),
            watches_occupancy: aqm.watches_occupancy(),
            wants_candidate: aqm.wants_candidate(),
            aqm,
            limit_packets,
            rate_bps,
            ecn,
            serving: false,
            candidate: None,
            idle_since_ns: 0,
            view: View::default(),
        }
    }

    #[inline]
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    #[inline]
    pub fn bytes(&self) -> u64 {
        self.waiting.bytes()
    }

    /// Size of the packet at the head.
    #[inline]
    pub fn head_bytes(&self) -> Option<u32> {
        self.waiting.get(0).map(Bytes::bytes)
    }

    pub fn aqm(&self) -> &A {
        &self.aqm
    }

    /// What the AQM saw last.
    #[inline]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The same, if it was told of the last packet that joined or left.
    #[inline]
    pub fn occupancy_view(&self) -> Option<&View> {
        self.watches_occupancy.then_some(&self.view)
    }

    /// Whether the AQM does more than to decide on arrivals and to tick.
    pub fn asks_more(&self) -> bool {
        self.watches_departures || self.watches_occupancy || self.wants_candidate
    }

    /// What the AQM sees of the queue.
    #[inline]
    fn state(&self, now_ns: u64) -> View {
        self.state_behind((self.waiting.len(), self.waiting.bytes()), now_ns)
    }

    /// The same, were these packets and bytes those that wait.
    #[inline]
    fn state_behind(&self, (packets, bytes): (usize, u64), now_ns: u64) -> View {
        let idle = packets == 0 && !self.serving;
        View {
            now_ns,
            idle_since_ns: if idle { self.idle_since_ns } else { 0 },
            rate_bps: self.rate_bps,
            queue_bytes: bytes,
            queue_packets: packets as u32,
            limit_packets: self.limit_packets,
            idle: u8::from(idle),
            ..View::default()
        }
    }

    /// The same, and a packet.
    #[inline]
    fn state_with(&self, now_ns: u64, packet: &P) -> View {
        View {
            packet_bytes: packet.bytes(),
            flow_hash: packet.flow_hash(),
            ecn_capable: u8::from(self.ecn && packet.ecn_capable()),
            ..self.state(now_ns)
        }
    }

    /// The settled verdict on a packet that arrives.
    #[inline]
    pub fn judge(
        &mut self,
        now_ns: u64,
        packet: &P,
        full: bool,
        random: &mut impl FnMut() -> u64,
    ) -> Verdict {
        self.view = View {
            random: random(),
            full: u8::from(full),
            ..self.state_with(now_ns, packet)
        };
        if self.wants_candidate {
            self.draw_candidate(random);
        }
        self.aqm.arrive(&self.view)
    }

    /// The same, were these packets and bytes those that wait; of an AQM that wants no candidate.
    #[inline]
    pub fn judge_behind(
        &mut self,
        waiting: (usize, u64),
        now_ns: u64,
        packet: &P,
        full: bool,
        random: u64,
    ) -> Verdict {
        self.view = View {
            packet_bytes: packet.bytes(),
            flow_hash: packet.flow_hash(),
            ecn_capable: u8::from(self.ecn && packet.ecn_capable()),
            random,
            full: u8::from(full),
            ..self.state_behind(waiting, now_ns)
        };
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

    /// Index of the waiting packet that the last arrival was judged with, if there was one.
    pub fn take_candidate(&mut self) -> Option<usize> {
        self.candidate.take()
    }

    /// Tells the AQM that a packet joins those that wait, or has left them.
    #[inline]
    fn count(&mut self, now_ns: u64, packet: &P, change: i64) {
        if self.watches_occupancy {
            self.view = self.state_with(now_ns, packet);
            self.aqm.occupancy(&self.view, change);
        }
    }

    #[inline]
    pub fn push(&mut self, now_ns: u64, packet: P) {
        self.count(now_ns, &packet, 1);
        self.waiting.push(Waiting {
            packet,
            since_ns: now_ns,
        });
    }

    /// Takes out the packet at `index`, which is lost.
    pub fn remove(&mut self, now_ns: u64, index: usize) -> Option<P> {
        let Waiting { packet, .. } = self.waiting.remove(index)?;
        self.count(now_ns, &packet, -1);
        self.note_idle(now_ns);
        Some(packet)
    }

    /// Takes the packet at the head, which the link is to send.
    #[inline]
    pub fn pop(&mut self, now_ns: u64) -> Option<Waiting<P>> {
        let head = self.waiting.pop()?;
        self.serving = true;
        self.count(now_ns, &head.packet, -1);
        Some(head)
    }

    /// The packet at the head, which the link sends as its last one is sent; the AQM is not told.
    #[inline]
    pub fn take_head(&mut self) -> Option<P> {
        self.waiting.pop().map(|head| head.packet)
    }

    /// The verdict on the packet that `pop` gave, if the AQM judges departures: admit, mark or
    /// drop.
    #[inline]
    pub fn judge_departure(
        &mut self,
        now_ns: u64,
        head: &Waiting<P>,
        random: &mut impl FnMut() -> u64,
    ) -> Option<Verdict> {
        if !self.watches_departures {
            return None;
        }
        self.view = View {
            random: random(),
            sojourn_ns: now_ns - head.since_ns,
            ..self.state_with(now_ns, &head.packet)
        };
        Some(self.aqm.depart(&self.view))
    }

    /// The link has sent the packet that it took, or will not send it.
    #[inline]
    pub fn end_service(&mut self, now_ns: u64) {
        self.serving = false;
        self.note_idle(now_ns);
    }

    #[inline]
    fn note_idle(&mut self, now_ns: u64) {
        if self.waiting.is_empty() && !self.serving {
            self.idle_since_ns = now_ns;
        }
    }

    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.aqm.tick_interval_ns()
    }

    pub fn tick(&mut self, now_ns: u64) {
        self.tick_behind((self.waiting.len(), self.waiting.bytes()), now_ns);
    }

    /// The same, were these packets and bytes those that wait.
    pub fn tick_behind(&mut self, waiting: (usize, u64), now_ns: u64) {
        self.view = self.state_behind(waiting, now_ns);
        self.aqm.tick(&self.view);
    }
}
