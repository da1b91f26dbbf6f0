//! What an ACK reports about the packets in flight (RFC 8985, section 6.2, steps 1 to 3).

use super::Rack;
use crate::quirks::Quirks;
use crate::recovery::flight::Packet;
use crate::segment::{Ack, Block};

/// Calls `take` with the packets of a block, but for most of those that are in `known` blocks, too.
#[inline(always)]
fn outside(block: Block, known: &[Block; 3], mut take: impl FnMut(u32)) {
    let mut seq = block.start;
    if let Some(before) = known.iter().find(|before| before.start == seq) {
        // mostly a block has grown at its end
        seq = seq.max(before.end);
    }
    while seq < block.end {
        let mut end = block.end;
        if end - seq > 1 {
            let has = |other: &&Block| (other.start..other.end).contains(&seq);
            if let Some(other) = known.iter().find(has) {
                seq = other.end;
                continue;
            }
            let after = known.iter().filter(|other| other.start > seq);
            end = after.fold(end, |end, other| end.min(other.start));
        }
        (seq..end).for_each(&mut take);
        seq = end;
    }
}

/// What an ACK reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// Packets newly reported as arrived.
    pub packets: u32,
    /// True if the ACK acknowledges new data.
    pub advances: bool,
    /// True if a newly reported packet arrived out of order.
    pub out_of_order: bool,
    /// True if one of them was sent only once, and before the last reduction.
    pub original: bool,
    /// Round-trip time, ns, of the first newly reported packet in the order of processing. A packet
    /// that was sent again counts only if the ACK acknowledges new data: then its time stamp shows
    /// which transmission arrived.
    pub rtt_ns: Option<u64>,
}

/// What is needed to learn from an ACK, and what it has reported so far.
struct Lesson {
    now_ns: u64,
    /// The next packet that the receiver expects.
    next: u32,
    recover: u32,
    /// The highest packet that arrived before this ACK.
    highest: u32,
    reads_sack_first: bool,
    found: Arrivals,
}

impl Lesson {
    fn note(&mut self, packet: &Packet) {
        let found = &mut self.found;
        found.packets += 1;
        found.out_of_order |= packet.seq >= self.next;
        found.original |= !packet.retransmitted && packet.seq < self.recover;
        if found.advances || !packet.retransmitted {
            found.rtt_ns = found.rtt_ns.or(Some(self.now_ns - packet.sent_ns));
        }
    }
}

impl Rack {
    /// Processes what an ACK reports about packets from `una` on (RFC 8985, section 6.2, steps 1 to
    /// 3).
    pub(super) fn learn(
        &mut self,
        quirks: &Quirks,
        now_ns: u64,
        una: u32,
        recover: u32,
        ack: &Ack,
    ) -> Arrivals {
        let mut lesson = Lesson {
            now_ns,
            next: ack.next,
            recover,
            highest: self.highest,
            reads_sack_first: quirks.reads_sack_first,
            found: Arrivals {
                advances: ack.next > una,
                ..Arrivals::default()
            },
        };
        // the first block is the most recent
        let has_blocks = !ack.sack[0].is_empty();
        if has_blocks && quirks.reads_sack_first {
            self.learn_out_of_order(&ack.sack, &mut lesson);
        }
        while let Some((packet, is_news)) = self.flight.take_before(ack.next) {
            if is_news {
                self.on_arrival(&mut lesson, &packet);
            }
        }
        if has_blocks && !quirks.reads_sack_first {
            self.learn_out_of_order(&ack.sack, &mut lesson);
        }
        lesson.found
    }

    #[inline(never)]
    fn learn_out_of_order(&mut self, sack: &[Block; 3], lesson: &mut Lesson) {
        let known = std::mem::replace(&mut self.known, *sack);
        let [first, second, third] = *sack;
        // mostly only the first block is news, and the others moved back by a place at most
        let are_known =
            (second == known[1] || second == known[0]) && (third == known[2] || third == known[1]);
        if are_known {
            outside(first, &known, |seq| self.on_sack(lesson, seq));
            return;
        }
        let mut blocks = *sack;
        blocks.sort_unstable_by_key(|block| block.start);
        for block in blocks {
            outside(block, &known, |seq| self.on_sack(lesson, seq));
        }
    }

    #[inline]
    fn on_sack(&mut self, lesson: &mut Lesson, seq: u32) {
        if self.flight.is_unknown(seq) {
            self.on_news(lesson, seq);
        }
    }

    // of this, nothing is kept in registers while blocks are looked through
    #[inline(never)]
    fn on_news(&mut self, lesson: &mut Lesson, seq: u32) {
        if let Some(packet) = self.flight.sack(seq) {
            self.on_arrival(lesson, &packet);
        }
    }

    /// Returns how many packets an ACK reports that were not known to have arrived.
    pub fn unknown(&self, ack: &Ack) -> u32 {
        let mut packets = self.flight.unknown_before(ack.next);
        if !ack.sack[0].is_empty() {
            for block in ack.sack {
                outside(block, &self.known, |seq| {
                    packets += u32::from(self.flight.is_unknown(seq));
                });
            }
        }
        packets
    }

    /// Processes a packet that arrived.
    #[inline(always)]
    fn on_arrival(&mut self, lesson: &mut Lesson, packet: &Packet) {
        lesson.note(packet);
        let now_ns = lesson.now_ns;
        let rtt_ns = now_ns - packet.sent_ns;
        if let Some(deliveries) = &mut self.deliveries {
            let sent_once_ns = (!packet.retransmitted).then_some(packet.sent_ns);
            deliveries.on_arrival(now_ns, packet.seq, sent_once_ns);
        }
        if !packet.retransmitted {
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
            self.reordering_seen |= packet.seq < lesson.highest;
        } else if self.min_rtt_ns.is_some_and(|least| rtt_ns < least) {
            // the first transmission arrived after all
            return;
        }
        self.highest = self.highest.max(packet.seq);
        let sending = (packet.sent_ns, packet.seq);
        let is_latest = self.latest.is_none_or(|latest| latest < sending);
        if is_latest {
            self.latest = Some(sending);
        }
        if is_latest || lesson.reads_sack_first {
            self.rtt_ns = rtt_ns;
        }
    }
}
