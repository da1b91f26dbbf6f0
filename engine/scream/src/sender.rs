//! What leaves when, what arrived and what is lost (sections "Sender Side State", "Detecting Lost Data
//! Units" and "Sender Transmission Control").

use std::collections::VecDeque;

use crate::{
    Config, Feedback, REPORTED,
    delay::QueueDelay,
    rate::Rate,
    seconds,
    window::{News, Window},
};

/// Weight of a round-trip time in the smoothed one (RFC 6298, section 2).
const RTT_WEIGHT: f64 = 1.0 / 8.0;
/// The average queue takes a delay each round trip, and at least so often, s (`VIRTUAL_RTT`).
const AVERAGED_S: f64 = 0.025;
/// After so long a silence nothing counts as in flight, and packets leave again: the draft asks for a
/// least rate without feedback, and its authors' program does it so. It is a silence only if feedback
/// could have come: the path may take longer (RFC 6298, section 2, has the first of these for TCP).
const FIRST_SILENCE_NS: u64 = 1_000_000_000;
const SILENCE_NS: u64 = 500_000_000;
const SILENT_ROUNDS: f64 = 2.0;
/// So many packets wait at most: a frame that would exceed this is skipped. No call waits so long; it
/// bounds the memory of one whose least rate the path does not carry.
const MOST_WAITING: usize = 65_536;
/// Feedback may come so many silences late; then its packet is forgotten.
const REMEMBERED: u64 = 16;

/// A packet that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Its number.
    pub seq: u32,
    /// Its size.
    pub bytes: u16,
}

/// A packet that left.
#[derive(Clone, Copy, Debug)]
struct Sent {
    bytes: u16,
    at_ns: u64,
    arrived: bool,
    lost: bool,
    /// When feedback first had later packets and not this one.
    missing_ns: Option<u64>,
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Sender {
    window: Window,
    delay: QueueDelay,
    rate: Rate,
    packet_bytes: u16,
    /// Packets that wait: their sizes, and since when.
    waiting: VecDeque<(u16, u64)>,
    /// Packets that left, from number `first` on; the next has number `next`.
    sent: VecDeque<Sent>,
    first: u32,
    next: u32,
    /// The highest number that arrived, plus 1.
    edge: u32,
    in_flight: u64,
    /// Packets before this number are not in flight, whatever is heard of them.
    given_up: u32,
    rtt_s: Option<f64>,
    /// How long a packet may come late without being lost.
    reordering_ns: u64,
    /// When the pace lets the next packet leave, when the last one left, and when feedback came last.
    paced_ns: u64,
    left_ns: u64,
    heard_ns: u64,
}

impl Sender {
    /// A sender before its first frame.
    pub fn new(config: &Config) -> Self {
        Self {
            window: Window::new(config),
            delay: QueueDelay::default(),
            rate: Rate::new(config),
            packet_bytes: config.packet_bytes,
            waiting: VecDeque::new(),
            sent: VecDeque::new(),
            first: 0,
            next: 0,
            edge: 0,
            in_flight: 0,
            given_up: 0,
            rtt_s: None,
            reordering_ns: 0,
            paced_ns: 0,
            left_ns: 0,
            heard_ns: 0,
        }
    }

    /// Returns the rate at which the next frame shall be coded, bits/s.
    pub fn target_bps(&self) -> f64 {
        self.rate.target_bps()
    }

    /// Returns the number of the oldest packet of which it may still learn.
    pub fn oldest(&self) -> u32 {
        self.first
    }

    /// Takes a frame and cuts it into packets, of which each has at least its headers. Returns how many;
    /// 0 if the frame is skipped, as too many wait.
    pub fn on_frame(&mut self, now_ns: u64, bytes: u32) -> u32 {
        let since_ns = self.waiting.front().map_or(now_ns, |(_, at_ns)| *at_ns);
        self.rate
            .on_frame(f64::from(bytes), seconds(now_ns - since_ns));
        let whole = u32::from(self.packet_bytes);
        let packets = bytes.div_ceil(whole).max(1);
        if self.waiting.len() + packets as usize > MOST_WAITING {
            return 0;
        }
        for place in 0..packets {
            let left = (bytes - place * whole).min(whole) as u16;
            let size = left.max(Config::LEAST_BYTES);
            self.waiting.push_back((size, now_ns));
        }
        packets
    }

    /// Returns when the next packet may leave, if no feedback comes before; `None` if none waits.
    pub fn release_ns(&self) -> Option<u64> {
        let (bytes, _) = self.waiting.front()?;
        Some(if self.allows(*bytes) {
            self.paced_ns
        } else {
            self.left_ns.max(self.heard_ns) + self.silence_ns()
        })
    }

    fn silence_ns(&self) -> u64 {
        self.rtt_s.map_or(FIRST_SILENCE_NS, |rtt_s| {
            SILENCE_NS.max((SILENT_ROUNDS * rtt_s * 1e9) as u64)
        })
    }

    fn allows(&self, bytes: u16) -> bool {
        self.in_flight == 0 || self.window.allows(self.in_flight as f64, f64::from(bytes))
    }

    /// Returns the packet that leaves now; `None` if none may.
    pub fn send(&mut self, now_ns: u64) -> Option<Unit> {
        if self.release_ns()? > now_ns {
            return None;
        }
        let (bytes, _) = self.waiting.pop_front()?;
        if !self.allows(bytes) {
            self.give_up(now_ns);
        }
        self.in_flight += u64::from(bytes);
        self.sent.push_back(Sent {
            bytes,
            at_ns: now_ns,
            arrived: false,
            lost: false,
            missing_ns: None,
        });
        let gap_s = 8.0 * f64::from(bytes) / self.rate.pace_bps();
        (self.left_ns, self.paced_ns) = (now_ns, now_ns + (gap_s * 1e9) as u64);
        self.next += 1;
        Some(Unit {
            seq: self.next - 1,
            bytes,
        })
    }

    /// Nothing was heard of what is in flight; feedback that is late still tells of the path.
    fn give_up(&mut self, now_ns: u64) {
        (self.given_up, self.in_flight) = (self.next, 0);
        let since_ns = now_ns.saturating_sub(REMEMBERED * self.silence_ns());
        while self.sent.front().is_some_and(|sent| sent.at_ns < since_ns) {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    /// True if the receiver may have sent this by now: the packet that came last was sent before.
    pub fn may_be(&self, now_ns: u64, feedback: &Feedback) -> bool {
        let place = feedback.highest.checked_sub(self.first);
        let last = place.and_then(|place| self.sent.get(place as usize));
        feedback.highest < self.next
            && feedback.arrived_ns <= now_ns
            && last.is_none_or(|sent| sent.at_ns <= feedback.arrived_ns)
    }

    /// Takes feedback, which must be of packets that were sent.
    pub fn on_feedback(&mut self, now_ns: u64, feedback: &Feedback) {
        self.heard_ns = now_ns;
        let mut news = News {
            now_s: seconds(now_ns),
            in_flight: self.in_flight as f64,
            at_most: self.rate.is_most(),
            ..News::default()
        };
        if feedback.highest >= self.edge {
            self.advance(now_ns, feedback, &mut news);
        }
        self.note_arrivals(now_ns, feedback, &mut news);
        self.note_losses(now_ns, &mut news);
        let Some(rtt_s) = self.rtt_s else { return };
        news.rtt_s = rtt_s;
        (news.queue_s, news.average_queue_s) = (self.delay.now_s(), self.delay.average_s());
        self.window.on_feedback(&news);
        self.rate
            .follow(self.window.bytes(), self.window.ratio(), rtt_s);
    }

    /// Returns the packet of a number, if it is still known.
    fn at(&mut self, seq: u32) -> Option<&mut Sent> {
        let place = seq.checked_sub(self.first)?;
        self.sent.get_mut(place as usize)
    }

    /// A packet arrived that is higher than all before: a round trip, a one-way delay, and all up to it
    /// are no longer in flight, lost or not.
    fn advance(&mut self, now_ns: u64, feedback: &Feedback, news: &mut News) {
        for seq in self.edge..=feedback.highest {
            if let Some(sent) = self.at(seq) {
                let bytes = sent.bytes;
                news.bytes += f64::from(bytes);
                if seq >= self.given_up {
                    self.in_flight -= u64::from(bytes);
                }
            }
        }
        self.edge = feedback.highest + 1;
        let Some(at_ns) = self.at(feedback.highest).map(|sent| sent.at_ns) else {
            return;
        };
        let rtt_s = seconds(now_ns - at_ns);
        let smoothed_s = self
            .rtt_s
            .map_or(rtt_s, |before| before + RTT_WEIGHT * (rtt_s - before));
        self.rtt_s = Some(smoothed_s);
        let one_way_ns = feedback.arrived_ns - at_ns;
        self.delay
            .take(now_ns, one_way_ns, smoothed_s.min(AVERAGED_S));
    }

    fn note_arrivals(&mut self, now_ns: u64, feedback: &Feedback, news: &mut News) {
        for behind in 0..REPORTED.min(feedback.highest + 1) {
            if feedback.received >> behind & 1 == 0 {
                continue;
            }
            let marked = feedback.marked >> behind & 1 == 1;
            let Some(sent) = self.at(feedback.highest - behind) else {
                continue;
            };
            if std::mem::replace(&mut sent.arrived, true) {
                continue;
            }
            let (bytes, missing_ns) = (f64::from(sent.bytes), sent.missing_ns);
            news.packets += 1;
            if marked {
                news.marked += 1;
                news.marked_bytes += bytes;
            }
            if let Some(missing_ns) = missing_ns {
                self.reordering_ns = self.reordering_ns.max(now_ns - missing_ns);
            }
        }
    }

    /// A packet is lost if later ones arrived and it did not in the time that reordering takes, or that
    /// feedback has it.
    fn note_losses(&mut self, now_ns: u64, news: &mut News) {
        let known = self.edge.saturating_sub(self.first) as usize;
        for sent in self.sent.iter_mut().take(known) {
            if sent.arrived || sent.lost {
                continue;
            }
            let missing_ns = *sent.missing_ns.get_or_insert(now_ns);
            sent.lost = now_ns - missing_ns >= self.reordering_ns;
            news.lost |= sent.lost;
        }
        while self.first + REPORTED < self.edge
            && let Some(sent) = self.sent.pop_front()
        {
            self.first += 1;
            news.lost |= !sent.arrived && !sent.lost;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Receiver;

    const MS: u64 = 1_000_000;

    fn config(l4s: bool) -> Config {
        Config {
            least_bps: 150e3,
            most_bps: 20e6,
            frame_ns: 33 * MS,
            packet_bytes: 1200,
            l4s,
        }
    }

    /// A path of a constant round trip; each packet is lost, marked or kept as `fate` says.
    fn talk(sender: &mut Sender, rounds: u64, rtt_ns: u64, mut fate: impl FnMut(u32) -> Fate) {
        let (mut receiver, mut answers) = (Receiver::default(), VecDeque::new());
        let mut on_way = VecDeque::new();
        for now_ns in (0..rounds * rtt_ns).step_by(MS as usize) {
            if now_ns % (33 * MS) == 0 {
                let bytes = sender.target_bps() * 0.033 / 8.0;
                sender.on_frame(now_ns, bytes as u32);
            }
            while let Some(unit) = sender.send(now_ns) {
                on_way.push_back((now_ns + rtt_ns / 2, unit.seq));
            }
            while let Some((_, seq)) = on_way.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
                let fate = fate(seq);
                if fate != Fate::Lost {
                    let answer = receiver.on_packet(now_ns, seq, fate == Fate::Marked, false);
                    answers.extend(answer.map(|answer| (now_ns + rtt_ns / 2, answer)));
                }
            }
            answers.extend(
                receiver
                    .on_timer(now_ns)
                    .map(|answer| (now_ns + rtt_ns / 2, answer)),
            );
            while let Some((_, answer)) = answers.pop_front_if(|(due_ns, _)| *due_ns <= now_ns) {
                sender.on_feedback(now_ns, &answer);
            }
        }
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fate {
        Kept,
        Marked,
        Lost,
    }

    #[test]
    fn a_path_of_any_length_is_learnt_and_the_rate_rises() {
        for rtt_ms in [50, 600, 1500, 3000] {
            let mut sender = Sender::new(&Config {
                least_bps: 1.5e6,
                ..config(false)
            });
            // until a window that carries more than the least rate
            let rounds = 20 + rtt_ms / 4;
            talk(&mut sender, rounds, rtt_ms * MS, |_| Fate::Kept);
            let rtt_s = sender.rtt_s.expect("feedback was heard");
            assert!(
                (0.9..1.5).contains(&(rtt_s * 1000.0 / rtt_ms as f64)),
                "{rtt_s}"
            );
            assert!(
                sender.target_bps() > 1.6e6,
                "{rtt_ms}: {}",
                sender.target_bps()
            );
        }
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut sender = Sender::new(&config(false));
        // a hundred seconds without leave to send, in frames of a thousand packets
        let taken = (0..3000).map(|frame| sender.on_frame(frame * 33 * MS, 1_200_000));
        assert_eq!(taken.filter(|packets| *packets > 0).count(), 65);
        assert_eq!(sender.on_frame(100_000 * MS, u32::MAX), 0);
        assert_eq!(sender.waiting.len(), 65_000);
    }

    #[test]
    fn without_feedback_what_it_remembers_is_bounded() {
        let mut sender = Sender::new(&config(false));
        talk(&mut sender, 600, 1000 * MS, |_| Fate::Lost);
        // three least windows each second, in packets of some 600 bytes at the least rate
        assert!(
            (100..400).contains(&sender.sent.len()),
            "{}",
            sender.sent.len()
        );
        assert!(sender.in_flight <= 9000 && sender.oldest() > 1000);
    }

    #[test]
    fn feedback_of_what_was_not_sent_by_then_is_none_of_the_receiver_s() {
        let mut sender = Sender::new(&config(false));
        talk(&mut sender, 20, 50 * MS, |_| Fate::Kept);
        let last = sender.sent.back().unwrap().at_ns;
        let of = |highest, arrived_ns| Feedback {
            highest,
            arrived_ns,
            received: u32::MAX,
            marked: 0,
        };
        let next = sender.next;
        for (highest, arrived_ns, may_be) in [
            (next - 1, last, true),
            (next - 1, last - 1, false),
            (next - 1, last + 1, false),
            (next - 1, u64::MAX, false),
            (next, last, false),
            (u32::MAX, u64::MAX, false),
            // what was forgotten tells nothing, but is not of later
            (0, 0, true),
            (0, last + 1, false),
        ] {
            let told = of(highest, arrived_ns);
            assert_eq!(sender.may_be(last, &told), may_be, "{told:?}");
            if may_be {
                sender.on_feedback(last, &told);
            }
        }
        assert!(sender.first > 0);
    }

    proptest! {
        #[test]
        fn whatever_happens_its_rate_stays_in_range(
            l4s: bool,
            rtt_ms in 0_u64..2000,
            fates in prop::collection::vec(0_u8..4, 1..60),
        ) {
            let mut sender = Sender::new(&config(l4s));
            talk(&mut sender, 4000 / (rtt_ms + 20) + 2, (rtt_ms + 1) * MS, |seq| {
                match fates[seq as usize % fates.len()] {
                    0 => Fate::Lost,
                    1 => Fate::Marked,
                    _ => Fate::Kept,
                }
            });
            prop_assert!((150e3..=20e6).contains(&sender.target_bps()));
            prop_assert!(sender.window.bytes() >= 3000.0 && sender.window.bytes().is_finite());
            let unknown: u64 = sender.sent.iter().map(|sent| u64::from(sent.bytes)).sum();
            prop_assert!(sender.in_flight <= unknown);
        }
    }
}
