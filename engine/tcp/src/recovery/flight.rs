//! The packets in flight: when each was sent last, and what the sender knows about it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// In the network, as far as the sender knows.
    Flying,
    /// At the receiver, which reported it out of order.
    Sacked,
    /// Considered lost, and not sent again since.
    Lost,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub seq: u32,
    pub sent_ns: u64,
    pub retransmitted: bool,
    /// It was found lost, and has not been reported since, whether it was sent again or not.
    missing: bool,
    fate: Fate,
}

/// Packets that were found lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lost {
    pub packets: u32,
    /// True if one of them was a retransmission.
    pub again: bool,
}

/// The packets sent and not acknowledged cumulatively, in order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    packets: VecDeque<Packet>,
    /// The number of the first one, if there is any.
    first: u32,
    /// When packets were sent, and their numbers, sorted; some are out of date. Kept only while
    /// packets are missing: then what was sent before a packet that arrived is at the front.
    sendings: Option<VecDeque<(u64, u32)>>,
    /// The numbers of all packets that are lost; some are out of date.
    losses: BinaryHeap<Reverse<u32>>,
    /// Number of packets of each fate.
    flying: u32,
    sacked: u32,
    lost: u32,
    missing: u32,
    /// Number of packets that were sent again.
    retransmitted: u32,
}

/// Inserts a packet that is sent again at the time of the last sending, after one of a higher number.
#[cold]
fn insert(sendings: &mut VecDeque<(u64, u32)>, sending: (u64, u32)) {
    let place = sendings.partition_point(|other| *other < sending);
    sendings.insert(place, sending);
}

impl Flight {
    /// Returns the place of a packet; one before the first has a place behind all.
    fn place(&self, seq: u32) -> usize {
        seq.wrapping_sub(self.first) as usize
    }

    /// Packets in the network (RFC 6675's pipe).
    pub fn flying(&self) -> u32 {
        self.flying
    }

    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// When the first packet not acknowledged was sent last, ns.
    pub fn first_sent_ns(&self) -> Option<u64> {
        self.packets.front().map(|packet| packet.sent_ns)
    }

    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// True if a packet was found lost and has not been reported since. It may have been sent again
    /// (Linux: `lost_out`).
    pub fn has_missing(&self) -> bool {
        self.missing > 0
    }

    /// True if a packet may have been sent before `latest` (time, ns, and number), which arrived,
    /// and may not have arrived itself. If no packet is SACKed or was sent again, the first one was
    /// sent before all others.
    #[inline]
    pub fn may_miss(&mut self, latest: (u64, u32)) -> bool {
        let is_before = |first: &Packet| (first.sent_ns, first.seq) < latest;
        if self.sacked > 0 || self.retransmitted > 0 {
            return self.was_sent_before(latest);
        }
        if self.sendings.is_some() {
            self.sendings = None;
        }
        self.packets.front().is_some_and(is_before)
    }

    /// Forgets what is out of date of the first sendings; true if one before `latest` is not, or if
    /// none are kept.
    #[inline]
    fn was_sent_before(&mut self, latest: (u64, u32)) -> bool {
        let Some(sendings) = &mut self.sendings else {
            return true;
        };
        while let Some(&(when_ns, seq)) = sendings.front()
            && (when_ns, seq) <= latest
        {
            let packet = self.packets.get(seq.wrapping_sub(self.first) as usize);
            let flies = |packet: &Packet| packet.fate == Fate::Flying && packet.sent_ns == when_ns;
            if packet.is_some_and(flies) {
                return true;
            }
            sendings.pop_front();
        }
        false
    }

    /// Records that a packet is sent: the next one, or one of those in flight again.
    pub fn send(&mut self, seq: u32, now_ns: u64) {
        self.note_sending(now_ns, seq);
        if self.packets.is_empty() {
            self.first = seq;
        }
        let place = self.place(seq);
        if place == self.packets.len() {
            self.packets.push_back(Packet {
                seq,
                sent_ns: now_ns,
                retransmitted: false,
                missing: false,
                fate: Fate::Flying,
            });
            self.flying += 1;
        } else if let Some(packet) = self.packets.get_mut(place) {
            packet.sent_ns = now_ns;
            self.retransmitted += u32::from(!packet.retransmitted);
            packet.retransmitted = true;
            let before = std::mem::replace(&mut packet.fate, Fate::Flying);
            *self.count(before) -= 1;
            self.flying += 1;
        }
    }

    #[inline]
    fn note_sending(&mut self, now_ns: u64, seq: u32) {
        let Some(sendings) = &mut self.sendings else {
            return;
        };
        let sending = (now_ns, seq);
        if sendings.back().is_none_or(|last| *last < sending) {
            sendings.push_back(sending);
        } else {
            insert(sendings, sending);
        }
    }

    /// Removes and returns a packet before `next`, the first that the receiver expects. The flag is
    /// true if it was not SACKed before.
    pub fn take_before(&mut self, next: u32) -> Option<(Packet, bool)> {
        if self.first >= next {
            return None;
        }
        let packet = self.packets.pop_front()?;
        self.first += 1;
        *self.count(packet.fate) -= 1;
        self.retransmitted -= u32::from(packet.retransmitted);
        self.missing -= u32::from(packet.missing);
        Some((packet, packet.fate != Fate::Sacked))
    }

    /// Returns how many packets before `next` are not known to have arrived.
    #[inline]
    pub fn unknown_before(&self, next: u32) -> u32 {
        let packets = self.packets.iter();
        let before = packets.take_while(|packet| packet.seq < next);
        before.filter(|packet| packet.fate != Fate::Sacked).count() as u32
    }

    /// True if a packet is in flight and not known to have arrived.
    pub fn is_unknown(&self, seq: u32) -> bool {
        let packet = self.packets.get(self.place(seq));
        packet.is_some_and(|packet| packet.fate != Fate::Sacked)
    }

    /// Notes that a packet arrived out of order; returns it if that is news.
    pub fn sack(&mut self, seq: u32) -> Option<Packet> {
        let place = self.place(seq);
        let packet = self.packets.get_mut(place)?;
        let before = *packet;
        if before.fate == Fate::Sacked {
            return None;
        }
        (packet.fate, packet.missing) = (Fate::Sacked, false);
        self.missing -= u32::from(before.missing);
        *self.count(before.fate) -= 1;
        self.sacked += 1;
        Some(before)
    }

    /// Marks as lost all packets in the network for which `is_lost` is true.
    pub fn lose(&mut self, mut is_lost: impl FnMut(&Packet) -> bool) -> Lost {
        let mut lost = Lost::default();
        for place in 0..self.packets.len() {
            self.stays(place, &mut lost, &mut is_lost);
        }
        lost
    }

    /// The same, of the packets that were sent before `latest` (time, ns, and number), which
    /// arrived.
    pub fn lose_before(
        &mut self,
        latest: (u64, u32),
        mut is_lost: impl FnMut(&Packet) -> bool,
    ) -> Lost {
        let mut lost = Lost::default();
        if self.sendings.is_none() {
            self.sendings = Some(self.in_order_of_time());
        }
        let mut looked_at = 0;
        while let Some(sending) = self.sendings.as_ref().and_then(|all| all.get(looked_at))
            && *sending <= latest
        {
            let (when_ns, seq) = *sending;
            let mut is_up_to_date = false;
            let mut is_lost = |packet: &Packet| {
                is_up_to_date = packet.sent_ns == when_ns;
                is_up_to_date && is_lost(packet)
            };
            let stays = self.stays(self.place(seq), &mut lost, &mut is_lost);
            if stays && is_up_to_date || looked_at > 0 {
                looked_at += 1;
            } else if let Some(sendings) = &mut self.sendings {
                sendings.pop_front();
            }
        }
        lost
    }

    fn in_order_of_time(&self) -> VecDeque<(u64, u32)> {
        let flying = self
            .packets
            .iter()
            .filter(|packet| packet.fate == Fate::Flying);
        let mut sendings: Vec<_> = flying.map(|packet| (packet.sent_ns, packet.seq)).collect();
        sendings.sort_unstable();
        sendings.into()
    }

    /// Marks a packet as lost if it is in the network and `is_lost` is true; returns true if it
    /// stays in the network.
    #[inline]
    fn stays(
        &mut self,
        place: usize,
        lost: &mut Lost,
        is_lost: &mut impl FnMut(&Packet) -> bool,
    ) -> bool {
        let packet = self.packets.get_mut(place);
        let Some(packet) = packet.filter(|packet| packet.fate == Fate::Flying) else {
            return false;
        };
        if !is_lost(packet) {
            return true;
        }
        self.missing += u32::from(!packet.missing);
        (packet.fate, packet.missing) = (Fate::Lost, true);
        self.flying -= 1;
        self.lost += 1;
        self.losses.push(Reverse(packet.seq));
        lost.packets += 1;
        lost.again |= packet.retransmitted;
        false
    }

    /// Marks all lost packets as in the network again.
    pub fn lose_none(&mut self) {
        self.sendings = None;
        for packet in &mut self.packets {
            packet.missing = false;
            if packet.fate == Fate::Lost {
                packet.fate = Fate::Flying;
            }
        }
        self.flying += std::mem::take(&mut self.lost);
        self.missing = 0;
    }

    /// Returns the first packet that is considered lost.
    pub fn first_lost(&mut self) -> Option<u32> {
        if self.lost == 0 {
            return None;
        }
        loop {
            let Reverse(seq) = *self.losses.peek()?;
            let packet = self.packets.get(self.place(seq));
            if packet.is_some_and(|packet| packet.fate == Fate::Lost) {
                return Some(seq);
            }
            self.losses.pop();
        }
    }

    fn count(&mut self, fate: Fate) -> &mut u32 {
        match fate {
            Fate::Flying => &mut self.flying,
            Fate::Sacked => &mut self.sacked,
            Fate::Lost => &mut self.lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the packets that are looked at for what was sent before a packet that arrived.
    fn looked_at(flight: &mut Flight, latest: (u64, u32)) -> Vec<u32> {
        let mut all = Vec::new();
        flight.lose_before(latest, |packet| {
            all.push(packet.seq);
            false
        });
        all
    }

    #[test]
    fn what_was_sent_before_is_in_the_order_of_times_and_numbers() {
        let mut flight = Flight::default();
        (0..6).for_each(|seq| flight.send(seq, 10 + u64::from(seq)));
        flight.sack(3);
        assert!(flight.may_miss((13, 3)));
        assert_eq!(looked_at(&mut flight, (13, 3)), [0, 1, 2]);
        // packet 2 is sent again, and at the same time, by a second call, packet 1
        flight.send(6, 20);
        flight.send(2, 20);
        flight.send(1, 20);
        assert_eq!(looked_at(&mut flight, (20, 2)), [0, 4, 5, 1, 2]);
        flight.sack(0);
        flight.sack(4);
        flight.sack(5);
        assert!(
            !flight.may_miss((19, 7)),
            "of what was sent by then, all arrived"
        );
        assert!(flight.may_miss((20, 1)));
    }
}
