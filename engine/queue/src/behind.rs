//! Decisions behind departures that are known to come but have not been carried out.
//!
//! For a world that knows beforehand when its link takes packets: it can ask about several
//! arrivals at once and carry out the departures between them afterwards. The AQM sees what it
//! would see in their true order. That needs a FIFO of packets of one size, an AQM that only
//! arrivals and ticks ask, and a link that does not fall idle meanwhile.

use sluice_aqm::{Aqm, Verdict, Victim};

use crate::{packet::Packet, queue::Queue, scheduler::Order};

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// Whether nothing but arrivals and ticks ever asks the AQM, nor takes out a waiting packet.
    pub fn decides_on_arrival_only(&self) -> bool {
        matches!(self.order, Order::Fifo)
            && self.victim == Victim::Tail
            && !self.lanes[0].asks_more()
    }

    /// As [`Queue::arrive`], when the first `gone` of the waiting packets will have been sent.
    #[inline]
    pub fn arrive_behind(&mut self, gone: u32, now_ns: u64, mut packet: P, random: u64) -> Verdict {
        let lane = &mut self.lanes[0];
        let packets = self.packets - gone as usize;
        let bytes = self.bytes - u64::from(gone) * u64::from(packet.bytes());
        let full = packets >= self.limit || u64::from(packet.bytes()) > self.limit_bytes - bytes;
        let verdict = lane.judge_behind((packets, bytes), now_ns, &packet, full, random);
        self.verdicts[verdict as usize] += 1;
        if !verdict.is_drop() {
            if verdict == Verdict::Mark {
                packet.mark();
            }
            self.packets += 1;
            self.bytes += u64::from(packet.bytes());
            lane.push(now_ns, packet);
        }
        verdict
    }

    /// As [`Queue::tick`], when the first `gone` of the waiting packets will have been sent.
    pub fn tick_behind(&mut self, gone: u32, now_ns: u64) {
        let packets = self.packets - gone as usize;
        let bytes = self.lanes[0]
            .head_bytes()
            .map_or(0, |head| packets as u64 * u64::from(head));
        self.lanes[0].tick_behind((packets, bytes), now_ns);
    }

    /// The packet that the link sends next, as its last one is sent.
    ///
    /// # Panics
    /// If none waits.
    #[inline]
    pub fn take_head(&mut self) -> P {
        let head = self.lanes[0].take_head().expect("a packet waits");
        self.forget(&head);
        head
    }
}
