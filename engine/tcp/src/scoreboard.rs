//! What selective acknowledgements say of the packets on their way (RFC 6675, section 3).

use crate::segment::{Ack, Block};

/// SACKed packets above a hole that make it lost: more than DupThresh - 1 (RFC 6675, section 4,
/// IsLost).
const LOST_BELOW: u32 = 3;

#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    /// SACKed packets, in ascending order, with holes between.
    sacked: Vec<Block>,
    /// One past the highest hole retransmitted in this recovery (RFC 6675's HighRxt).
    retransmitted: u32,
}

impl Scoreboard {
    /// Forgets all, as after a time-out the receiver might have (RFC 2018, section 8).
    pub fn clear(&mut self) {
        self.sacked.clear();
        self.retransmitted = 0;
    }

    /// Takes an ACK's blocks; `una` and `max` bound what can be on its way. Returns whether they
    /// told anything new.
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

    /// Drops what lies before the first packet not acknowledged.
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
    pub fn first_unsacked(&self, from: u32) -> u32 {
        let index = self.sacked.partition_point(|block| block.end <= from);
        match self.sacked.get(index) {
            Some(block) if block.start <= from => block.end,
            _ => from,
        }
    }

    /// All holes below this packet count as lost: three SACKed packets lie above them.
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

    /// Packets thought to be in the network (RFC 6675, section 4, SetPipe).
    pub fn pipe(&self, una: u32, max: u32) -> u32 {
        self.unsacked(self.lost_below().max(una), max) + self.unsacked(una, self.retransmitted)
    }

    fn unsacked(&self, from: u32, to: u32) -> u32 {
        let within = |block: &Block| block.end.min(to).saturating_sub(block.start.max(from));
        to.saturating_sub(from) - self.sacked.iter().map(within).sum::<u32>()
    }
}
