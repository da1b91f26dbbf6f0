//! What selective acknowledgements say about the packets in flight (RFC 6675, section 3).

use crate::segment::{Ack, Block};

/// Number of SACKed packets above a hole from which on it is lost: more than DupThresh - 1 (RFC
/// 6675, section 4, IsLost).
const LOST_BELOW: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// SACKed packets, in ascending order, with holes between.
    sacked: Vec<Block>,
    /// One past the highest hole retransmitted in this recovery (RFC 6675's HighRxt).
    retransmitted: u32,
    /// Packets thought to be in the network during recovery.
    pub pipe: i32,
}

impl Scoreboard {
    /// Forgets all blocks, because the receiver might have done so after a time-out (RFC 2018,
    /// section 8).
    pub fn clear(&mut self) {
        self.sacked.clear();
        self.retransmitted = 0;
    }

    /// Records the blocks of an ACK; only packets from `una` to `max` can be in flight. Returns
    /// true if the blocks report anything new.
    pub fn update(&mut self, una: u32, max: u32, ack: &Ack) -> bool {
        let mut news = false;
        for block in ack.sack {
            let known = Block {
                start: block.start.max(una),
                end: block.end.min(max),
            };
            news |= !known.is_empty() && self.add(known);
        }
        news
    }

    /// Drops the packets before `una`, the first one not acknowledged.
    pub fn advance(&mut self, una: u32) {
        let passed = self.sacked.partition_point(|block| block.end <= una);
        self.sacked.drain(..passed);
    }

    fn add(&mut self, block: Block) -> bool {
        let first = self.sacked.partition_point(|other| other.end < block.start);
        let touched = self.sacked[first..].partition_point(|other| other.start <= block.end);
        let mut merged = block;
        for other in &self.sacked[first..first + touched] {
            merged.start = merged.start.min(other.start);
            merged.end = merged.end.max(other.end);
        }
        if touched == 1 && self.sacked[first] == merged {
            return false;
        }
        self.sacked.splice(first..first + touched, [merged]);
        true
    }

    /// Notes that a packet was retransmitted in this recovery.
    pub fn mark_retransmitted(&mut self, seq: u32) {
        self.retransmitted = self.retransmitted.max(seq + 1);
    }

    /// Starts a recovery, of which `lost` is the first retransmission.
    pub fn begin(&mut self, lost: u32) {
        self.retransmitted = lost + 1;
    }

    /// The first hole from `una` on that lies below a SACKed packet and was not retransmitted.
    pub fn next_hole(&self, una: u32) -> Option<u32> {
        let from = self.retransmitted.max(una);
        let hole = self.first_unsacked(from);
        self.sacked.last().filter(|last| hole < last.start)?;
        Some(hole)
    }

    /// The first packet from `from` on that is not SACKed.
    #[inline]
    pub fn first_unsacked(&self, from: u32) -> u32 {
        // most senders have none
        if self.sacked.is_empty() {
            return from;
        }
        let index = self.sacked.partition_point(|block| block.end <= from);
        match self.sacked.get(index) {
            Some(block) if block.start <= from => block.end,
            _ => from,
        }
    }

    /// Returns the packet below which all holes are lost, because three SACKed packets lie above
    /// them; 0 if there is none.
    pub fn lost_below(&self) -> u32 {
        let mut above = 0;
        for block in self.sacked.iter().rev() {
            let packets = block.end - block.start;
            if above + packets >= LOST_BELOW {
                return block.end - (LOST_BELOW - above);
            }
            above += packets;
        }
        0
    }

    /// Returns how many packets are thought to be in the network (RFC 6675, section 4, SetPipe).
    pub fn in_network(&self, una: u32, max: u32) -> u32 {
        self.unsacked(self.lost_below().max(una), max) + self.unsacked(una, self.retransmitted)
    }

    /// Returns how many packets an ACK reports that were not known to have arrived.
    pub fn unknown(&self, una: u32, max: u32, ack: &Ack) -> u32 {
        let out_of_order = ack
            .sack
            .iter()
            .map(|block| self.unsacked(block.start.max(ack.next), block.end.min(max)));
        self.unsacked(una, ack.next) + out_of_order.sum::<u32>()
    }

    fn unsacked(&self, from: u32, to: u32) -> u32 {
        let within = |block: &Block| block.end.min(to).saturating_sub(block.start.max(from));
        to.saturating_sub(from) - self.sacked.iter().map(within).sum::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// RFC 6675, transcribed packet by packet.
    struct ByTheText {
        una: u32,
        max: u32,
        sacked: Vec<bool>,
        high_rxt: u32,
    }

    impl ByTheText {
        fn is_lost(&self, seq: u32) -> bool {
            let above = &self.sacked[seq as usize..];
            above.iter().filter(|sacked| **sacked).count() > 2
        }

        /// SetPipe; HighRxt here is one past RFC 6675's.
        fn pipe(&self) -> u32 {
            let mut pipe = 0;
            for seq in self.una..self.max {
                if !self.sacked[seq as usize] {
                    pipe += u32::from(!self.is_lost(seq)) + u32::from(seq < self.high_rxt);
                }
            }
            pipe
        }

        /// Rules 1 and 3 of NextSeg, without the test whether the packet is lost.
        fn next_hole(&self) -> Option<u32> {
            let from = self.una.max(self.high_rxt);
            (from..self.max).find(|seq| {
                let index = *seq as usize;
                !self.sacked[index] && self.sacked[index..].contains(&true)
            })
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_text(
            blocks in prop::collection::vec((0u32..60, 1u32..6), 0..30),
            una in 0u32..60,
            ahead in 0u32..20,
        ) {
            let max = 60;
            let mut board = Scoreboard::default();
            let mut text = ByTheText { una: 0, max, sacked: vec![false; 60], high_rxt: 0 };
            for (start, length) in blocks {
                let end = (start + length).min(max);
                let mut ack = Ack::default();
                ack.sack[0] = Block { start, end };
                let unknown = text.sacked[start as usize..end as usize].contains(&false);
                prop_assert_eq!(board.update(0, max, &ack), unknown);
                text.sacked[start as usize..end as usize].fill(true);
            }
            let una = board.first_unsacked(una);
            board.advance(una);
            text.una = una;
            text.sacked[..una as usize].fill(false);
            if una + ahead < max {
                board.begin(una + ahead);
                text.high_rxt = una + ahead + 1;
            }
            prop_assert_eq!(board.next_hole(una), text.next_hole());
            prop_assert_eq!(board.in_network(una, max), text.pipe());
            for seq in una..max {
                if !text.sacked[seq as usize] {
                    prop_assert_eq!(seq < board.lost_below(), text.is_lost(seq));
                }
            }
        }
    }
}
