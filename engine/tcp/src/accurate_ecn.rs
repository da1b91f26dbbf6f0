//! Accurate ECN feedback (RFC 9768): each ACK carries the number of marked packets that arrived,
//! modulo 8, in the three bits that were AE, CWR and ECE in the handshake.
//!
//! With [`Quirks::counts_marked_bytes`](crate::Quirks) each ACK carries the option of section 3.2.3, too. It counts
//! bytes, so that the number is known where the three bits may have come round. Packets have one size: the
//! counter of marked bytes is kept in packets. Left out are the counters of bytes with ECT(0) and ECT(1).

/// The three bits before the first mark (section 3.2.2: r.cep and s.cep).
pub(crate) const FIRST_COUNT: u8 = 5;

/// The three bits count modulo this (section 3.2.2: DIVACE).
const MODULUS: u32 = 8;

/// The number of marked packets, as the receiver counts it, or as the sender has read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter(u32);

impl Counter {
    /// Counts a marked packet.
    pub fn count(&mut self) {
        self.0 = self.0.wrapping_add(1);
    }

    /// Returns what the option carries.
    pub fn get(self) -> u32 {
        self.0
    }

    /// Returns the three bits.
    pub fn ace(self) -> u8 {
        (self.0.wrapping_add(FIRST_COUNT.into()) % MODULUS) as u8
    }

    /// Takes what an ACK carries that newly acknowledges `acked` packets, the three bits and, if it has the
    /// option, `marked`; returns how many packets were marked since the last one that was read, `None` if
    /// this one is not. If it has no option and more were acknowledged than the bits can tell, they may have
    /// come round: the largest number that fits is assumed (section 3.2.2.5.2, appendix A.2.1).
    ///
    /// An ACK that others overtook has an older counter: it is not read. With the option the counter shows
    /// it. Without, the older counter looks like up to seven marks; then an ACK is read if it
    /// acknowledges something in sequence (`is_latest`), or if it tells of no more marks than packets. So one
    /// that acknowledges nothing new tells of none (Linux: `FLAG_FORWARD_PROGRESS`).
    pub fn read(
        &mut self,
        ace: u8,
        marked: Option<u32>,
        acked: u32,
        is_latest: bool,
    ) -> Option<u32> {
        if let Some(marked) = marked {
            let marks = marked.checked_sub(self.0)?;
            self.0 = marked;
            return Some(marks);
        }
        let least = (u32::from(ace) + MODULUS - u32::from(self.ace())) % MODULUS;
        if least > acked && !is_latest {
            return None;
        }
        let marks = if acked < MODULUS {
            least
        } else {
            acked - (acked - least) % MODULUS
        };
        self.0 = self.0.wrapping_add(marks);
        Some(marks)
    }
}

/// Rounds in which every packet is marked, after which marks are not believed (section 3.2.2.3: "the
/// first three or four rounds").
const ENDLESS_ROUNDS: u8 = 4;

/// Whether every packet since the start was marked: then it is the path, not a queue, that marks
/// (section 3.2.2.3).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Endless {
    /// Rounds that are over.
    rounds: u8,
    /// A packet was not marked.
    has_ended: bool,
    /// One past the last packet of this round; 0 before the first one.
    round_end: u32,
    /// Retransmissions, and one past the last packet sent when they were counted.
    retransmissions: u32,
    resent_end: u32,
}

impl Endless {
    /// True if an ACK of packets from `una` on may be of one that was sent again. That is Not-ECT (RFC
    /// 3168, section 6.1.5) and cannot be marked, which says nothing of the path. Takes how many
    /// retransmissions there were; the packets before `sent` were sent.
    pub fn may_be_resent(&mut self, retransmissions: u32, una: u32, sent: u32) -> bool {
        if self.retransmissions != retransmissions {
            (self.retransmissions, self.resent_end) = (retransmissions, sent);
        }
        una < self.resent_end
    }

    /// Takes that `marks` of `acked` newly acknowledged packets were marked, all of which could be; the
    /// receiver expects `next`, and the packets before `sent` were sent. Returns true once all were
    /// marked for as many rounds.
    pub fn goes_on(&mut self, acked: u32, marks: u32, next: u32, sent: u32) -> bool {
        self.has_ended |= marks < acked;
        if self.has_ended {
            return false;
        }
        if next > self.round_end {
            self.rounds += u8::from(self.round_end > 0);
            self.round_end = sent;
        }
        self.rounds >= ENDLESS_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use sluice_ecn::Ecn;

    use super::*;
    use crate::negotiation::Settled;
    use crate::{Ack, Config, CongestionControl, Receiver, Segment, Sender, Variant};

    const MS: u64 = 1_000_000;

    enum Way {
        There(Segment),
        Back(Ack),
    }

    /// What both ends counted.
    #[derive(Debug, Default)]
    struct Marks {
        received: u32,
        read: u32,
        /// Of what was read, what an ACK of eight packets or more without the option may have added.
        assumed: u32,
        /// ACKs, those with the option, how many blocks these have at most, and the most marks they tell of.
        acks: u32,
        options: u32,
        blocks: usize,
        told: u32,
        /// The first count was 0, so that none was read (section 3.2.2.4).
        none_read: bool,
    }

    /// A transfer over 10 ms each way. Of each packet the next draw says whether it is lost, marked
    /// and late, of each ACK whether it is late, and lost if any is: ACKs overtake each other.
    fn transfer(
        config: &Config,
        packets: u32,
        late_ns: u64,
        draws: &[u8],
        loses_acks: bool,
    ) -> Marks {
        let (mut sender, mut receiver) = (Sender::new(config, packets, 0), Receiver::new());
        let (mut marks, mut now, mut number) = (Marks::default(), 0, 0);
        let (mut on_way, mut sent, mut answers) = (BTreeMap::new(), vec![], vec![]);
        let mut release = u64::MAX;
        sender.start(config, now, &mut |segment| sent.push(segment));
        while !sender.is_done() {
            let back = answers.drain(..).map(Way::Back);
            for mut way in sent.drain(..).map(Way::There).chain(back) {
                let draw = draws[number % draws.len()];
                number += 1;
                let late = late_ns * u64::from(draw % 16) / 16;
                if loses_acks && draw >= 200 && matches!(way, Way::Back(_)) {
                    continue;
                }
                if let Way::There(segment) = &mut way {
                    if draw >= 250 && !segment.syn {
                        continue;
                    }
                    if draw.is_multiple_of(3) && segment.ecn.is_capable() {
                        segment.ecn = Ecn::Ce;
                    }
                }
                on_way.insert((now + 10 * MS + late, number), way);
            }
            release = sender.take_release().unwrap_or(release);
            let timers = [sender.deadline(), receiver.deadline()].map(|at| at.unwrap_or(u64::MAX));
            let first = on_way.keys().next().map_or(u64::MAX, |(at, _)| *at);
            now = first.min(release).min(timers[0]).min(timers[1]);
            let send = &mut |segment| sent.push(segment);
            if timers[0] == now {
                sender.on_timer(config, now, send);
            } else if release == now {
                release = u64::MAX;
                sender.on_release(config, now, send);
            } else if timers[1] == now {
                answers.extend(receiver.on_timer(config, now));
            } else if let Some((_, way)) = on_way.pop_first() {
                match way {
                    Way::There(segment) => {
                        marks.received += u32::from(segment.ecn.is_marked() && !segment.syn);
                        receiver
                            .on_segment(config, now, &segment, &mut |answer| answers.push(answer));
                    }
                    Way::Back(ack) => {
                        let mut before = sender.clone();
                        // the ACK of the SYN has flags in the place of the count
                        if before.una > 0 || !config.syn {
                            before.read_count(config, &ack);
                        }
                        let read = before.congestion.new_marks();
                        marks.read += read;
                        let guesses = !config.quirks.counts_marked_bytes;
                        if guesses && before.newly_acknowledged(config, &ack) >= 8 {
                            marks.assumed += read - read % 8;
                        }
                        marks.acks += 1;
                        if let Some(marked) = ack.marked {
                            marks.told = marks.told.max(marked);
                            let blocks = ack.sack.iter().filter(|block| !block.is_empty());
                            marks.options += 1;
                            marks.blocks = marks.blocks.max(blocks.count());
                        }
                        sender.on_ack(config, now, &ack, send);
                    }
                }
            }
        }
        marks.none_read = matches!(sender.settled, Settled::Useless);
        marks
    }

    proptest! {
        #[test]
        fn acks_that_overtake_each_other_add_no_marks(
            variant in prop::sample::select(vec![
                Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Rack,
            ]),
            control in prop::sample::select(vec![
                CongestionControl::Cubic, CongestionControl::Prague,
            ]),
            (packets, late_ns) in (10_u32..300, 0..8 * MS),
            (linux, counts, is_marked, loses_acks) in any::<(bool, bool, bool, bool)>(),
            ack_every in prop::sample::select(vec![2, 20]),
            mut draws in prop::collection::vec(any::<u8>(), 50..200),
        ) {
            let base = match linux {
                true => Config::linux(Variant::Rack),
                false => Config::rfc(variant),
            };
            let mut base = Config { ecn: true, accurate_ecn: true, ack_every, ..base };
            base.quirks.counts_marked_bytes = counts;
            if !is_marked {
                let marking = draws.iter_mut().filter(|draw| draw.is_multiple_of(3));
                marking.for_each(|draw| *draw = 1);
            }
            let config = base.with(control);
            config.check().unwrap();
            let marks = transfer(&config, packets, late_ns, &draws, loses_acks);
            let Marks { received, read, assumed, acks, options, blocks, told, none_read } = marks;
            prop_assert_eq!(options, if counts { acks } else { 0 });
            prop_assert!(!counts || none_read || read == told, "{read} {told}");
            prop_assert!(blocks <= 2);
            prop_assert!(is_marked || received == 0);
            prop_assert!(read <= received + assumed, "{read} {received} {assumed}");
            // marks after the last ACK that was read are not told
            let tells_all = (counts || !loses_acks) && !none_read;
            prop_assert!(!tells_all || read + 8 > received, "{read} {received}");
        }
    }

    #[test]
    fn the_counter_wraps_at_three_bits() {
        let (mut receiver, mut sender) = (Counter::default(), Counter::default());
        let counts = [6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0];
        for count in counts {
            receiver.count();
            assert_eq!(receiver.ace(), count);
            assert_eq!(sender.read(count, None, 1, true), Some(1));
        }
        // seven marks at most are told apart
        for marks in 0..8 {
            (0..marks).for_each(|_| receiver.count());
            assert_eq!(sender.read(receiver.ace(), None, 7, true), Some(marks));
        }
    }

    /// Appendix A.2.1: 9 packets and a difference of 2 are 2 marks, 10 packets may be 10.
    #[test]
    fn the_examples_of_the_appendix() {
        for (acked, marks) in [(9, 2), (10, 10)] {
            for before in 0..8 {
                let mut counter = Counter(before);
                let ace = Counter(before + 2).ace();
                assert_eq!(counter.read(ace, None, acked, true), Some(marks));
                // "It repeats the same value of ACE in every subsequent ACK"
                assert_eq!(counter.read(ace, None, 1, true), Some(0));
            }
        }
        // section 3.2.2: the counter starts at 5, and "AE, CWR, ECE" are then 1, 0, 1
        assert_eq!(Counter::default().ace(), 0b101);
    }

    /// Appendix A.2.2 estimates from the option's bytes which of the numbers that fit it is; with packets
    /// of one size it is exact.
    #[test]
    fn the_option_tells_what_the_bits_cannot() {
        for (acked, marked) in [(9, 1), (9, 9), (20, 2), (20, 10), (20, 18)] {
            let mut counter = Counter(3);
            let told = Counter(3 + marked);
            let read = counter.read(told.ace(), Some(told.get()), acked, true);
            assert_eq!((read, counter), (Some(marked), told));
        }
        // one whose counter is ahead was not overtaken, even if it acknowledges nothing in sequence
        let mut counter = Counter(4);
        assert_eq!(counter.read(Counter(6).ace(), Some(6), 1, false), Some(2));
        assert_eq!(counter.read(Counter(5).ace(), Some(5), 7, false), None);
        assert_eq!(counter, Counter(6));
    }

    #[test]
    fn an_ack_of_many_packets_may_hide_a_whole_turn() {
        // 9 packets acknowledged and a difference of 1: one packet or all nine were marked
        for (now, acked, marks) in [(6, 9, 9), (6, 8, 1), (5, 8, 8), (7, 20, 18)] {
            assert_eq!(Counter(0).read(now, None, acked, true), Some(marks));
        }
        for acked in 8..100 {
            for now in 0..8 {
                let marks = Counter(3).read(now, None, acked, true).unwrap();
                assert!(marks <= acked && acked - marks < 8);
                assert_eq!(Counter(3 + marks).ace(), now);
            }
        }
    }
}
