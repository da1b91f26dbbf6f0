//! The receiver: acknowledges what arrives.

use smallvec::SmallVec;

use crate::ack_delay::AckDelay;
use crate::config::Config;
use crate::deadline::Deadline;
use crate::segment::{Ack, Block, Segment};

/// The receiving endpoint of one flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The next packet expected.
    next: u32,
    /// Runs that arrived out of order, the most recent first (RFC 2018, section 4). Most often
    /// they are few, and then found without another look into memory.
    ahead: SmallVec<[Block; 3]>,
    /// Congestion was reported and the sender has not answered with CWR (RFC 3168, section 6.1.3);
    /// to a sender that counts marks, the last packet was marked (RFC 8257's DCTCP.CE).
    echo: bool,
    /// Congestion was experienced since the last ACK: no CWR can answer that.
    congested: bool,
    /// When the ACK held back is due, ns.
    held_until: Deadline,
    /// Of a receiver that has them ([`Quirks::adapts_ack_delay`](crate::Quirks)).
    delay: Option<Box<AckDelay>>,
}

impl Receiver {
    /// A receiver that expects packet 0.
    pub fn new() -> Receiver {
        Receiver::default()
    }

    /// Takes a packet and answers with an ACK, unless it may wait for a second packet (RFC 5681,
    /// section 4.2): never when the packet is a SYN, out of order or next to a gap. The last packet
    /// in order may wait again when it comes again.
    ///
    /// To a sender that counts marks it echoes each (RFC 8257, section 3.2): with two ACKs where
    /// marks begin or end while one is held back, the first of them for the packets before.
    #[inline]
    pub fn on_segment(
        &mut self,
        config: &Config,
        now_ns: u64,
        segment: &Segment,
        answer: &mut impl FnMut(Ack),
    ) {
        let changed = config.congestion_control.counts_marks() && segment.ce != self.echo;
        let mut is_news = false;
        if changed {
            if !self.held_until.is_none() {
                answer(self.acknowledge(config));
            }
            self.echo = segment.ce;
        } else if !config.congestion_control.counts_marks() {
            self.echo &= !segment.cwr;
            is_news = segment.ce && !self.echo && !self.congested;
            self.congested |= segment.ce;
        }
        if config.quirks.adapts_ack_delay {
            let expected = segment.seq == self.next;
            let delay = self.delay.get_or_insert_default();
            delay.on_segment(config, now_ns, segment, expected);
            delay.on_codepoint(segment, is_news);
        }
        let at_once = segment.cwr && config.quirks.adapts_ack_delay;
        let no_gap = self.ahead.is_empty();
        self.insert(segment.seq);
        if let Some(delay) = &mut self.delay {
            delay.on_read(now_ns, self.next, !self.ahead.is_empty());
        }
        let in_order = no_gap && segment.seq + 1 == self.next;
        if let Some(delay_ns) = config.delayed_ack_ns
            && in_order
            && !segment.syn
            && !changed
            && !at_once
            && !self
                .delay
                .as_ref()
                .is_some_and(|delay| delay.acks_at_once())
            && self.held_until.is_none()
        {
            let delay = self.delay.as_ref();
            let delay_ns = delay.map_or(delay_ns, |delay| delay.wait_ns());
            self.held_until = config.timer(now_ns, delay_ns);
            return;
        }
        self.held_until = Deadline::NONE;
        answer(self.acknowledge(config));
    }

    /// When `on_timer` is due, ns; none: no ACK is held back.
    pub fn deadline(&self) -> Option<u64> {
        self.held_until.get()
    }

    /// Sends the ACK held back, if it is due.
    pub fn on_timer(&mut self, config: &Config, now_ns: u64) -> Option<Ack> {
        if !self.held_until.is_due(now_ns) {
            return None;
        }
        self.held_until = Deadline::NONE;
        if let Some(delay) = &mut self.delay {
            delay.on_timer();
        }
        Some(self.acknowledge(config))
    }

    /// Packets received in sequence, the SYN among them.
    pub fn received(&self) -> u32 {
        self.next
    }

    fn acknowledge(&mut self, config: &Config) -> Ack {
        self.echo |= self.congested;
        self.congested = false;
        if let Some(delay) = &mut self.delay {
            delay.on_ack();
        }
        let mut sack = [Block::default(); 3];
        if config.variant.uses_sack() {
            for (reported, block) in sack.iter_mut().zip(&self.ahead) {
                *reported = *block;
            }
        }
        Ack {
            next: self.next,
            ece: self.echo,
            sack,
        }
    }

    /// Files a packet; one that arrived before changes nothing but what is reported first.
    fn insert(&mut self, seq: u32) {
        if seq < self.next {
            return;
        }
        if seq == self.next && self.ahead.is_empty() {
            self.next += 1;
            return;
        }
        let mut run = Block {
            start: seq,
            end: seq + 1,
        };
        self.ahead.retain(|block| {
            let apart = block.end < run.start || run.end < block.start;
            if !apart {
                run.start = run.start.min(block.start);
                run.end = run.end.max(block.end);
            }
            apart
        });
        if run.start == self.next {
            self.next = run.end;
            if self.ahead.is_empty() {
                // a burst of losses may have taken room that is not needed again
                self.ahead = SmallVec::new();
            }
        } else {
            if self.ahead.len() == self.ahead.capacity() {
                // not twice as much: in a burst of losses all flows need it at once
                self.ahead.grow(self.ahead.len() + 4);
            }
            self.ahead.insert(0, run);
        }
    }
}
