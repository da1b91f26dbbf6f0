//! One of a link's queues with the AQM that watches it.

use sluice_aqm::{Aqm, Verdict, View};

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
    /// Whether the link sends a packet of this lane.
    serving: bool,
    /// Index of the waiting packet that the last arrival was judged with.
    candidate: Option<usize>,
    /// What the AQM sees. What describes the queue is always up to date, the rest of the last call.
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

    /// Size of the packet at the head.
    #[inline]
    pub fn head_bytes(&self) -> Option<u32> {
        self.waiting.get(0).map(|head| head.packet.bytes())
    }

    pub fn aqm(&self) -> &A {
        &self.aqm
    }
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
                idle: 1,
                ..View::default()
            },
        }
    }

    /// What the AQM sees, or saw if it was just asked.
    #[inline]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Whether the AQM does more than to decide on arrivals and to tick.
    pub fn asks_more(&self) -> bool {
        self.watches_departures || self.watches_occupancy || self.wants_candidate
    }

    #[inline]
    fn show(&mut self, now_ns: u64, packet: &P, random: u64) {
        self.view.now_ns = now_ns;
        self.view.sojourn_ns = 0;
        self.view.random = random;
        self.view.packet_bytes = packet.bytes();
        self.view.flow_hash = packet.flow_hash();
        self.view.candidate_flow_hash = 0;
        self.view.ecn_capable = u8::from(self.ecn & packet.ecn_capable());
        self.view.full = 0;
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
        self.show(now_ns, packet, random());
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

    /// Index of the waiting packet that the last arrival was judged with, if there was one.
    pub fn take_candidate(&mut self) -> Option<usize> {
        self.candidate.take()
    }

    /// Tells an AQM that follows the occupancy that a packet is about to join those that wait
    /// (`change` = 1), or has left them (-1). Gives what it saw.
    #[inline]
    pub fn tell(&mut self, now_ns: u64, packet: &P, change: i64) -> Option<&View> {
        if !self.watches_occupancy {
            return None;
        }
        self.show(now_ns, packet, 0);
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

    /// Takes out the packet at `index`, which is lost.
    pub fn remove(&mut self, index: usize) -> Option<P> {
        let Waiting { packet, .. } = self.waiting.remove(index)?;
        self.view.queue_packets -= 1;
        self.view.queue_bytes -= u64::from(packet.bytes());
        Some(packet)
    }

    /// Takes the packet at the head, which the link is to send.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.waiting.pop()?;
        self.serving = true;
        self.view.queue_packets -= 1;
        self.view.queue_bytes -= u64::from(head.packet.bytes());
        Some(head)
    }

    /// So many packets wait, of `bytes` each: of a lane whose packets are kept elsewhere.
    #[inline]
    pub fn hold(&mut self, packets: u32, bytes: u32) {
        self.view.queue_packets = packets;
        self.view.queue_bytes = u64::from(packets) * u64::from(bytes);
    }

    /// Something waits or is sent.
    #[inline]
    pub fn wake(&mut self) {
        self.view.idle = 0;
        self.view.idle_since_ns = 0;
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
        self.show(now_ns, &head.packet, random());
        self.view.sojourn_ns = now_ns - head.since_ns;
        Some(self.aqm.depart(&self.view))
    }

    /// If the link has taken a packet, it has sent it, or will not send it.
    #[inline]
    pub fn end_service(&mut self, now_ns: u64) {
        if self.serving {
            self.serving = false;
            self.note_idle(now_ns);
        }
    }

    /// Notes that from now on nothing waits and none is sent, if that is so.
    #[inline]
    pub fn note_idle(&mut self, now_ns: u64) {
        if self.view.queue_packets == 0 && !self.serving {
            self.view.idle = 1;
            self.view.idle_since_ns = now_ns;
        }
    }

    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.aqm.tick_interval_ns()
    }

    pub fn tick(&mut self, now_ns: u64) {
        self.view = View {
            now_ns,
            sojourn_ns: 0,
            random: 0,
            packet_bytes: 0,
            flow_hash: 0,
            candidate_flow_hash: 0,
            ecn_capable: 0,
            full: 0,
            ..self.view
        };
        self.aqm.tick(&self.view);
    }
}
