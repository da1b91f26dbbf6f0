//! What an ACK reports about the packets in flight (RFC 8985, section 6.2, steps 1 to 3).

use super::Rack;
use crate::quirks::Quirks;
use crate::recovery::flight::Packet;
use crate::segment::{Ack, Block};

/// Calls `take` with each packet of a block that is in none of others.
fn outside(block: Block, others: &[Block; 3], mut take: impl FnMut(u32)) {
    let mut seq = block.start;
    while seq < block.end {
        let has = |other: &&Block| (other.start..other.end).contains(&seq);
        if let Some(other) = others.iter().find(has) {
            seq = other.end;
            continue;
        }
        let after = others.iter().filter(|other| other.start > seq);
        let end = after.fold(block.end, |end, other| end.min(other.start));
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

impl Arrivals {
    fn note(&mut self, now_ns: u64, recover: u32, next: u32, packet: &Packet) {
        self.packets += 1;
        self.out_of_order |= packet.seq >= next;
        self.original |= !packet.retransmitted && packet.seq < recover;
        if self.advances || !packet.retransmitted {
            self.rtt_ns = self.rtt_ns.or(Some(now_ns - packet.sent_ns));
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
        let highest = self.highest;
        let mut found = Arrivals {
            advances: ack.next > una,
            ..Arrivals::default()
        };
        let mut take = |rack: &mut Rack, packet: Packet| {
            found.note(now_ns, recover, ack.next, &packet);
            rack.on_arrival(quirks, now_ns, highest, packet);
        };
        // the first block is the most recent
        let has_blocks = !ack.sack[0].is_empty();
        if has_blocks && quirks.reads_sack_first {
            self.learn_out_of_order(ack, &mut take);
        }
        self.learn_in_order(ack, &mut take);
        if has_blocks && !quirks.reads_sack_first {
            self.learn_out_of_order(ack, &mut take);
        }
        found
    }

    #[inline]
    fn learn_in_order(&mut self, ack: &Ack, take: &mut impl FnMut(&mut Rack, Packet)) {
        while let Some((packet, is_news)) = self.flight.take_before(ack.next) {
            if is_news {
                take(self, packet);
            }
        }
    }

    #[inline(never)]
    fn learn_out_of_order(&mut self, ack: &Ack, take: &mut impl FnMut(&mut Rack, Packet)) {
        let known = std::mem::replace(&mut self.known, ack.sack);
        let mut blocks = ack.sack;
        // mostly only the first block is news, and the others moved back by a place at most
        let [_, second, third] = blocks;
        let are_known =
            (second == known[0] || second == known[1]) && (third == known[1] || third == known[2]);
        let news = if are_known {
            &blocks[..1]
        } else {
            blocks.sort_unstable_by_key(|block| block.start);
            &blocks[..]
        };
        for block in news {
            outside(*block, &known, |seq| {
                if let Some(packet) = self.flight.sack(seq) {
                    take(self, packet);
                }
            });
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

    /// Processes a packet that arrived; `highest` is the highest one that arrived before this ACK.
    fn on_arrival(&mut self, quirks: &Quirks, now_ns: u64, highest: u32, packet: Packet) {
        let rtt_ns = now_ns - packet.sent_ns;
        if let Some(deliveries) = &mut self.deliveries {
            let sent_once_ns = (!packet.retransmitted).then_some(packet.sent_ns);
            deliveries.on_arrival(now_ns, packet.seq, sent_once_ns);
        }
        if !packet.retransmitted {
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
            self.reordering_seen |= packet.seq < highest;
        } else if self.min_rtt_ns.is_some_and(|least| rtt_ns < least) {
            // the first transmission arrived after all
            return;
        }
        self.highest = self.highest.max(packet.seq);
        let is_latest = self.latest < Some((packet.sent_ns, packet.seq));
        if is_latest {
            self.latest = Some((packet.sent_ns, packet.seq));
        }
        if is_latest || quirks.reads_sack_first {
            self.rtt_ns = rtt_ns;
        }
    }
}
