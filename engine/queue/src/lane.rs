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
    ecn: bool,
    /// Whether the link sends a packet of this lane.
    serving: bool,
    /// Index of the waiting packet that the last arrival was judged with.
    candidate: Option<usize>,
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
            ecn,
            serving: false,
            candidate: None,
            view: View {
                limit_packets,
                rate_bps,
                ..View::default()
            },
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

    #[inline]
    fn look(&mut self, now_ns: u64) {
        self.view.now_ns = now_ns;
        self.view.queue_packets = self.waiting.len() as u32;
        self.view.queue_bytes = self.waiting.bytes();
        self.view.idle = u8::from(self.waiting.is_empty() && !self.serving);
    }

    #[inline]
    fn look_at(&mut self, now_ns: u64, packet: &P, random: u64) {
        self.look(now_ns);
        self.view.random = random;
        self.view.packet_bytes = packet.bytes();
        self.view.flow_hash = packet.flow_hash();
        self.view.ecn_capable = u8::from(self.ecn && packet.ecn_capable());
    }

    /// The settled verdict on a packet that arrives.
    #[inline]
    pub fn judge(&mut self, now_ns: u64, packet: &P, random: &mut impl FnMut() -> u64) -> Verdict {
        self.look_at(now_ns, packet, random());
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

    /// Takes out the candidate that the last arrival was judged with, if there was one.
    pub fn remove_candidate(&mut self, now_ns: u64) -> Option<P> {
        let index = self.candidate.take()?;
        self.remove(now_ns, index)
    }

    fn count(&mut self, now_ns: u64, packet: &P, change: i64) {
        self.look_at(now_ns, packet, 0);
        self.aqm.occupancy(&self.view, change);
    }

    #[inline]
    pub fn push(&mut self, now_ns: u64, packet: P) {
        if self.watches_occupancy {
            self.count(now_ns, &packet, 1);
        }
        self.waiting.push(Waiting {
            packet,
            since_ns: now_ns,
        });
    }

    /// Takes out the packet at `index`, which is lost.
    pub fn remove(&mut self, now_ns: u64, index: usize) -> Option<P> {
        let Waiting { packet, .. } = self.waiting.remove(index)?;
        if self.watches_occupancy {
            self.count(now_ns, &packet, -1);
        }
        self.note_idle(now_ns);
        Some(packet)
    }

    /// The packet at the head, which the link is to send, and the verdict on it: admit, mark or
    /// drop.
    #[inline]
    pub fn pop(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
    ) -> Option<(Waiting<P>, Verdict)> {
        let head = self.waiting.pop()?;
        let Waiting { packet, since_ns } = head;
        self.serving = true;
        if self.watches_occupancy {
            self.count(now_ns, &packet, -1);
        }
        if !self.watches_departures {
            return Some((head, Verdict::Admit));
        }
        self.look_at(now_ns, &packet, random());
        self.view.sojourn_ns = now_ns - since_ns;
        let verdict = self.aqm.depart(&self.view);
        if verdict.is_drop() {
            self.end_service(now_ns);
        }
        Some((head, verdict))
    }

    /// The link has sent the packet that it took.
    #[inline]
    pub fn end_service(&mut self, now_ns: u64) {
        self.serving = false;
        self.note_idle(now_ns);
    }

    #[inline]
    fn note_idle(&mut self, now_ns: u64) {
        if self.waiting.is_empty() && !self.serving {
            self.view.idle_since_ns = now_ns;
        }
    }

    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.aqm.tick_interval_ns()
    }

    pub fn tick(&mut self, now_ns: u64) {
        self.look(now_ns);
        self.aqm.tick(&self.view);
    }
}
