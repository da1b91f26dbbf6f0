//! The receiver: acknowledges what arrives.

use crate::accurate_ecn::Counter;
use crate::ack_delay::AckDelay;
use crate::config::Config;
use crate::deadline::Deadline;
use crate::negotiation::Feedback;
use crate::runs::Runs;
use crate::segment::{Ack, Block, Echo, Segment};

/// The receiving endpoint of one flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// The next packet expected.
    next: u32,
    /// Packets have arrived out of order, and some before them have not.
    has_gap: bool,
    /// A mark has arrived, and the sender has not answered with CWR (RFC 3168, section 6.1.3). For
    /// a sender that counts marks: the last packet was marked (RFC 8257's DCTCP.CE).
    echo: bool,
    /// A marked packet has arrived since the last ACK: no CWR can be an answer to it.
    congested: bool,
    /// Marked packets that arrived, for accurate feedback.
    marks: Counter,
    /// How marks are fed back, once a handshake has settled it.
    feedback: Option<Feedback>,
    /// Packets that the delayed ACK is for.
    held: u8,
    /// When the delayed ACK is due, ns.
    held_until: Deadline,
    /// What arrived out of order.
    ahead: Runs,
    /// State of a receiver with adaptive delays ([`Quirks::adapts_ack_delay`](crate::Quirks)).
    delay: Option<Box<AckDelay>>,
}

impl Receiver {
    /// Returns a receiver that expects packet 0.
    pub fn new() -> Receiver {
        Receiver::default()
    }

    /// Takes a packet and answers with an ACK, unless the ACK may wait for another packet (RFC
    /// 5681, section 4.2). It never waits if the packet is a SYN, out of order or next to a gap, or if
    /// marks begin with it (RFC 9768, section 3.2.2.5.1) or, where each is echoed, end. With the
    /// [quirks](crate::Quirks) of Linux it does not either if marks end with it, if it has PSH or CWR, or
    /// while the receiver acknowledges each packet at once; but then ACKs of packets out of order may wait
    /// ([`Quirks::compresses_sacks`](crate::Quirks)). When the last packet in order arrives again, its ACK
    /// may wait again, but not with Linux's quirks.
    ///
    /// If the sender counts marks, each mark is echoed (RFC 8257, section 3.2). If marks begin or
    /// end while an ACK is delayed, two ACKs are sent: the first one for the packets before the
    /// change.
    #[inline]
    pub fn on_segment(
        &mut self,
        config: &Config,
        now_ns: u64,
        segment: &Segment,
        answer: &mut impl FnMut(Ack),
    ) {
        if segment.syn {
            let ack = self.open(config, now_ns, segment);
            return answer(ack);
        }
        let marked = segment.ecn.is_marked();
        let (mut changed, mut is_news) = (false, false);
        match self.echo(config) {
            Echo::None => {}
            Echo::Classic => {
                self.echo &= !segment.cwr;
                is_news = marked && !self.echo && !self.congested;
                self.congested |= marked;
            }
            Echo::Accurate => {
                // the first mark after a packet without is told at once (RFC 9768, section
                // 3.2.2.5.1)
                changed = marked != self.echo && (marked || config.quirks.tells_end_of_marks);
                if marked {
                    self.marks.count();
                }
                self.echo = marked;
            }
            Echo::PerPacket => {
                changed = marked != self.echo;
                if changed && self.held > 0 {
                    answer(self.acknowledge(config));
                }
                self.echo = marked;
            }
        }
        if config.quirks.adapts_ack_delay {
            let delay = self.delay.get_or_insert_default();
            delay.on_segment(config, now_ns, segment, self.next);
            delay.on_codepoint(segment, is_news);
            if self.has_gap && self.moves_block_of_held(segment.seq) {
                self.held_until = Deadline::NONE;
                answer(self.acknowledge(config));
            }
        }
        let at_once = segment.cwr && config.quirks.adapts_ack_delay
            || segment.push && config.quirks.pushes_writes;
        let no_gap = !self.has_gap;
        self.insert(segment.seq);
        if let Some(delay) = &mut self.delay {
            delay.on_read(now_ns, self.next, self.has_gap);
        }
        let in_order = no_gap && segment.seq + 1 == self.next;
        if let Some(delay_ns) = config.delayed_ack_ns
            && in_order
            && !changed
            && !at_once
            && !self
                .delay
                .as_ref()
                .is_some_and(|delay| delay.acks_at_once())
            && self.held + 1 < config.ack_every
        {
            self.held += 1;
            if self.held_until.is_none() {
                let delay = self.delay.as_ref();
                let delay_ns = delay.map_or(delay_ns, |delay| delay.wait_ns());
                self.held_until = config.timer(now_ns, delay_ns);
            }
            return;
        }
        if self.delay.is_some() && !changed && !segment.cwr && self.is_compressed(config, now_ns) {
            return;
        }
        self.held_until = Deadline::NONE;
        answer(self.acknowledge(config));
    }

    /// True if the ACK of a packet beside a gap waits for others
    /// ([`Quirks::compresses_sacks`](crate::Quirks)). A receiver that delays no ACK is always in Linux's
    /// quick mode, in which none waits.
    #[inline(never)]
    fn is_compressed(&mut self, config: &Config, now_ns: u64) -> bool {
        let compresses = config.quirks.compresses_sacks && config.delayed_ack_ns.is_some();
        if !compresses || !self.has_gap || !config.variant.uses_sack() {
            return false;
        }
        let Some(delay) = &mut self.delay else {
            return false;
        };
        if delay.acks_at_once() || !delay.sacks.waits(self.next) {
            return false;
        }
        if self.held_until.is_none() {
            self.held_until = Deadline::at(now_ns + delay.sack_wait_ns());
        }
        true
    }

    /// True if an ACK waits whose block the packet would move to the third place: it leaves first
    /// (`tcp_sack_new_ofo_skb`).
    #[inline(never)]
    fn moves_block_of_held(&self, seq: u32) -> bool {
        let holds = self.delay.as_ref().is_some_and(|delay| delay.sacks.holds());
        let [first, second, _] = self.ahead.latest();
        let touches = |run: Block| run.start <= seq + 1 && seq <= run.end;
        holds && seq > self.next && !second.is_empty() && !touches(first) && !touches(second)
    }

    /// Takes a SYN and returns its answer. The first one settles how marks are fed back; a mark of
    /// its own does not count (RFC 9768, sections 3.1.5 and 3.2.2.2).
    #[cold]
    fn open(&mut self, config: &Config, now_ns: u64, segment: &Segment) -> Ack {
        if config.quirks.adapts_ack_delay {
            let delay = self.delay.get_or_insert_default();
            delay.on_segment(config, now_ns, segment, self.next);
        }
        self.insert(segment.seq);
        self.held_until = Deadline::NONE;
        let server = config.server();
        let feedback = *self
            .feedback
            .get_or_insert_with(|| server.agrees(segment.ace));
        Ack {
            ece: false,
            ace: server.answers(feedback, segment.ace, segment.ecn),
            ..self.acknowledge(config)
        }
    }

    /// Returns how marks are echoed.
    #[inline]
    fn echo(&self, config: &Config) -> Echo {
        if !config.ecn {
            return Echo::None;
        }
        config.echo(self.feedback(config))
    }

    /// Returns how marks are fed back.
    #[inline]
    fn feedback(&self, config: &Config) -> Feedback {
        self.feedback.unwrap_or(config.feedback())
    }

    /// Returns when `on_timer` is due, ns; `None` if no ACK is delayed.
    pub fn deadline(&self) -> Option<u64> {
        self.held_until.get()
    }

    /// Returns the delayed ACK if it is due.
    pub fn on_timer(&mut self, config: &Config, now_ns: u64) -> Option<Ack> {
        if !self.held_until.is_due(now_ns) {
            return None;
        }
        self.held_until = Deadline::NONE;
        if let Some(delay) = &mut self.delay
            && !delay.sacks.holds()
        {
            delay.on_timer();
        }
        Some(self.acknowledge(config))
    }

    /// Packets received in sequence, the SYN among them.
    pub fn received(&self) -> u32 {
        self.next
    }

    fn acknowledge(&mut self, config: &Config) -> Ack {
        // written only if they change: the processor would wait for a write to read the field beside
        if self.held > 0 {
            self.held = 0;
        }
        if self.congested {
            (self.echo, self.congested) = (true, false);
        }
        if let Some(delay) = &mut self.delay {
            delay.on_ack();
            delay.sacks.on_ack(self.next);
        }
        let mut sack = [Block::default(); 3];
        if self.has_gap && config.variant.uses_sack() {
            sack = self.ahead.latest();
        }
        let mut ack = Ack {
            next: self.next,
            ece: self.echo,
            ace: 0,
            marked: None,
            sack,
        };
        if config.accurate_ecn && self.feedback(config) == Feedback::Accurate {
            (ack.ece, ack.ace) = (false, self.marks.ace());
            if config.quirks.counts_marked_bytes {
                ack.marked = Some(self.marks.get());
                ack.sack[2] = Block::default();
            }
        }
        ack
    }

    /// Records a packet. A packet that arrived before only changes which run is reported first.
    #[inline]
    fn insert(&mut self, seq: u32) {
        if seq == self.next && !self.has_gap {
            self.next += 1;
        } else if seq >= self.next {
            self.insert_beside_gap(seq);
        }
    }

    #[inline(never)]
    fn insert_beside_gap(&mut self, seq: u32) {
        if seq > self.next {
            self.has_gap = true;
            return self.ahead.insert(seq);
        }
        self.next = self.ahead.take_first(seq + 1).unwrap_or(seq + 1);
        self.has_gap = !self.ahead.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same in few words: the run of a packet, joined with those that it touches, comes first.
    fn insert_plainly(next: &mut u32, ahead: &mut Vec<Block>, seq: u32) {
        if seq < *next {
            return;
        }
        let (mut start, mut end) = (seq, seq + 1);
        ahead.retain(|run| {
            let apart = run.end < start || end < run.start;
            if !apart {
                (start, end) = (start.min(run.start), end.max(run.end));
            }
            apart
        });
        match start == *next {
            true => *next = end,
            false => ahead.insert(0, Block { start, end }),
        }
    }

    proptest! {
        #[test]
        fn runs_are_joined_and_reported_in_their_order(
            steps in prop::collection::vec((0_u32..8, 0_u32..60), 1..400),
        ) {
            let (mut receiver, mut next, mut ahead) = (Receiver::new(), 0, Vec::new());
            let mut edge = 0;
            for (kind, draw) in steps {
                let seq = match kind {
                    // the next one, one behind a hole, the lowest hole, any again
                    0..4 => edge,
                    4 => edge + draw % 4,
                    5 => next,
                    _ => draw % (edge + 2),
                };
                edge = edge.max(seq + 1);
                receiver.insert(seq);
                insert_plainly(&mut next, &mut ahead, seq);
                prop_assert_eq!(receiver.next, next);
                let reported = receiver.ahead.latest();
                prop_assert_eq!(receiver.has_gap, !ahead.is_empty());
                let mut latest = [Block::default(); 3];
                latest.iter_mut().zip(&ahead).for_each(|(place, run)| *place = *run);
                prop_assert_eq!(reported, latest);
                let mut all = ahead.clone();
                all.sort_by_key(|run| run.start);
                prop_assert_eq!(receiver.ahead.all(), all);
            }
        }
    }
}
