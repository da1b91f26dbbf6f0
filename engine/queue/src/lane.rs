//! One of a link's queues with the AQM that watches it.

use sluice_aqm::{Aqm, Verdict, View};

use crate::{
    fifo::Fifo,
    packet::{Packet, Waiting},
};

pub struct Lane<P, A> {
    waiting: Fifo<Waiting<P>>,
    aqm: A,
    watches_departures: bool,
    ecn: bool,
    /// Whether the link sends a packet of this lane.
    serving: bool,
    view: View,
}

impl<P: Packet, A: Aqm> Lane<P, A> {
    pub fn new(aqm: A, limit_packets: u32, rate_bps: u64, ecn: bool) -> Self {
        Self {
            waiting: Fifo::new(),
            watches_departures: aqm.watches_departures(),
            aqm,
            ecn,
            serving: false,
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
    pub fn judge(&mut self, now_ns: u64, packet: &P, random: u64) -> Verdict {
        self.look_at(now_ns, packet, random);
        self.aqm.arrive(&self.view)
    }

    #[inline]
    pub fn push(&mut self, now_ns: u64, packet: P) {
        self.waiting.push(Waiting {
            packet,
            since_ns: now_ns,
        });
    }

    /// Takes out the packet at `index`, which is lost.
    pub fn remove(&mut self, now_ns: u64, index: usize) -> Option<P> {
        let removed = self.waiting.remove(index)?;
        self.note_idle(now_ns);
        Some(removed.packet)
    }

    /// The packet at the head, which the link is to send, and the verdict on it: admit, mark or
    /// drop.
    #[inline]
    pub fn pop(&mut self, now_ns: u64, random: &mut impl FnMut() -> u64) -> Option<(P, Verdict)> {
        let Waiting { packet, since_ns } = self.waiting.pop()?;
        self.serving = true;
        if !self.watches_departures {
            return Some((packet, Verdict::Admit));
        }
        self.look_at(now_ns, &packet, random());
        self.view.sojourn_ns = now_ns - since_ns;
        let verdict = self.aqm.depart(&self.view);
        if verdict.is_drop() {
            self.end_service(now_ns);
        }
        Some((packet, verdict))
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
