//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02; Linux:
//! net/ipv4/tcp_rate.c), for the congestion controls that ask for them.
//!
//! Each packet remembers what had been delivered when it was sent. When it arrives, the packets
//! delivered since then, over the time that sending or acknowledging them took, whichever is
//! longer, are a sample. Rates thus never exceed what the path delivers, even if ACKs come in
//! bursts.

use std::collections::VecDeque;

use crate::congestion::{Delivery, LostPacket, Rate};

/// What a packet remembers from the time when it was sent last (the draft's P).
#[derive(Clone, Copy, Debug)]
struct Record {
    sent_ns: u64,
    /// Packets delivered before, and when the last of them was.
    delivered: u64,
    delivered_ns: u64,
    /// When the packet was sent that was the last one delivered.
    first_sent_ns: u64,
    app_limited: bool,
    /// Packets in flight, itself among them.
    in_flight: u32,
    /// Packets found lost before, and marks reported.
    lost: u32,
    ce: u32,
}

/// The connection's state (the draft's C), and the records of the packets in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    /// Records of the packets from `first` on, in the order of their numbers.
    records: VecDeque<Record>,
    first: u32,
    delivered: u64,
    delivered_ns: u64,
    first_sent_ns: u64,
    /// Packets found lost, and those reported as marked, in all; they may come round.
    lost: u32,
    ce: u32,
    /// The packets of the present ACK that are found lost.
    losses: Vec<LostPacket>,
    /// The application limits what is sent until more packets than these are delivered; 0: it does
    /// not.
    limited_to: u64,
    /// Of the packets that the present ACK reports, the one that was sent last.
    latest: Option<Record>,
    /// The same of those that were sent only once: when, ns.
    latest_once_ns: Option<u64>,
}

impl Deliveries {
    /// Takes a packet that is sent, with `in_flight` packets before it (section 3.2).
    #[inline(never)]
    pub fn on_sent(&mut self, now_ns: u64, seq: u32, in_flight: u32) {
        if self.records.is_empty() {
            (self.first_sent_ns, self.delivered_ns) = (now_ns, now_ns);
        }
        let record = Record {
            sent_ns: now_ns,
            delivered: self.delivered,
            delivered_ns: self.delivered_ns,
            first_sent_ns: self.first_sent_ns,
            app_limited: self.limited_to > 0,
            in_flight: in_flight + 1,
            lost: self.lost,
            ce: self.ce,
        };
        if self.records.is_empty() {
            self.first = seq;
        }
        match self.records.get_mut((seq - self.first) as usize) {
            Some(earlier) => *earlier = record,
            None => self.records.push_back(record),
        }
    }

    /// Takes a packet that is newly known to have arrived (section 3.3, UpdateRateSample), with the
    /// time when it was sent, ns, if it was sent only once.
    #[inline(never)]
    pub fn on_arrival(&mut self, now_ns: u64, seq: u32, sent_once_ns: Option<u64>) {
        self.latest_once_ns = self.latest_once_ns.max(sent_once_ns);
        self.delivered += 1;
        self.delivered_ns = now_ns;
        let place = seq.checked_sub(self.first);
        let Some(record) = place.and_then(|place| self.records.get(place as usize)) else {
            return;
        };
        let is_later = |other: &Record| record.sent_ns >= other.sent_ns;
        if self.latest.as_ref().is_none_or(is_later) {
            self.latest = Some(*record);
            self.first_sent_ns = record.sent_ns;
        }
    }

    /// Takes a packet that is found lost.
    #[cold]
    pub fn on_lost(&mut self, now_ns: u64, seq: u32) {
        self.lost = self.lost.wrapping_add(1);
        let place = seq.checked_sub(self.first);
        if let Some(record) = place.and_then(|place| self.records.get(place as usize)) {
            self.losses.push(LostPacket {
                now_ns,
                in_flight_at_send: record.in_flight,
                lost: self.lost.wrapping_sub(record.lost),
                app_limited: record.app_limited,
            });
        }
    }

    /// Returns the packets found lost since the last call.
    pub fn take_losses(&mut self) -> impl Iterator<Item = LostPacket> {
        self.losses.drain(..)
    }

    /// Returns what an ACK that expects `next` says (section 3.3, GenerateRateSample).
    #[inline(never)]
    pub fn sample(&mut self, now_ns: u64, next: u32, min_rtt_ns: u64, ce: u32) -> Delivery {
        self.ce = self.ce.wrapping_add(ce);
        while self.first < next && self.records.pop_front().is_some() {
            self.first += 1;
        }
        if self.delivered > self.limited_to {
            self.limited_to = 0;
        }
        Delivery {
            delivered: self.delivered,
            rtt_ns: self.latest_once_ns.take().map(|sent_ns| now_ns - sent_ns),
            rate: self.rate(min_rtt_ns),
        }
    }

    /// Returns no rate if the time is shorter than a round trip, which shows that the ACK
    /// acknowledges a retransmission whose original arrived.
    fn rate(&mut self, min_rtt_ns: u64) -> Option<Rate> {
        let packet = self.latest.take()?;
        let sending_ns = packet.sent_ns - packet.first_sent_ns;
        let acknowledging_ns = self.delivered_ns - packet.delivered_ns;
        let interval_ns = sending_ns.max(acknowledging_ns);
        (interval_ns > 0 && interval_ns >= min_rtt_ns).then_some(Rate {
            packets: (self.delivered - packet.delivered) as u32,
            interval_ns,
            app_limited: packet.app_limited,
            prior_delivered: packet.delivered,
            in_flight_at_send: packet.in_flight,
            lost: self.lost.wrapping_sub(packet.lost),
            ce: self.ce.wrapping_sub(packet.ce),
        })
    }

    /// The application had no more packets to send than those in flight (section 3.4).
    pub fn limit_by_application(&mut self, in_flight: u32) {
        self.limited_to = (self.delivered + u64::from(in_flight)).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    impl Deliveries {
        fn rate_of(&mut self, next: u32, min_rtt_ns: u64) -> Option<Rate> {
            self.sample(1000 * MS, next, min_rtt_ns, 0).rate
        }
    }

    #[test]
    fn a_burst_of_acks_does_not_raise_the_rate() {
        // ten packets sent 1 ms apart from 100 ms on, after one at 0 that was acknowledged at 100 ms
        let mut all = Deliveries::default();
        all.on_sent(0, 0, 0);
        all.on_arrival(100 * MS, 0, None);
        let first = all.rate_of(1, 0).unwrap();
        assert_eq!((first.packets, first.interval_ns), (1, 100 * MS));
        for seq in 1..=10 {
            all.on_sent((99 + u64::from(seq)) * MS, seq, seq - 1);
        }
        // all are acknowledged at 250 ms: ten in 150 ms, though ACKs come at once
        (1..=10).for_each(|seq| all.on_arrival(250 * MS, seq, None));
        let sample = all.rate_of(11, 0).unwrap();
        assert_eq!((sample.packets, sample.interval_ns), (10, 150 * MS));
        assert_eq!((sample.prior_delivered, all.delivered), (1, 11));
        assert_eq!(sample.in_flight_at_send, 10);
        assert!(all.rate_of(11, 0).is_none());
    }

    #[test]
    fn slow_sending_limits_the_rate_and_a_short_time_gives_no_sample() {
        let mut all = Deliveries::default();
        (0..4).for_each(|seq| all.on_sent(u64::from(seq) * 50 * MS, seq, seq));
        // the ACKs of the first three come at 160 ms: sending took longer than acknowledging
        all.on_arrival(160 * MS, 0, None);
        all.rate_of(1, 0);
        all.on_arrival(161 * MS, 1, None);
        all.on_arrival(161 * MS, 2, None);
        let sample = all.rate_of(3, 0).unwrap();
        assert_eq!((sample.packets, sample.interval_ns), (3, 161 * MS));
        // packet 3 is sent again at 170 ms, and its first transmission arrives
        all.on_sent(170 * MS, 3, 0);
        all.on_arrival(172 * MS, 3, None);
        assert!(all.rate_of(4, 100 * MS).is_none());
    }

    #[test]
    fn what_the_application_limits_is_flagged() {
        let mut all = Deliveries::default();
        all.on_sent(0, 0, 0);
        all.limit_by_application(1);
        all.on_sent(10 * MS, 1, 1);
        all.on_arrival(100 * MS, 0, None);
        assert!(!all.rate_of(1, 0).unwrap().app_limited);
        // one is delivered; the limit ends with the second
        all.on_sent(100 * MS, 2, 1);
        all.on_arrival(110 * MS, 1, None);
        assert!(all.rate_of(2, 0).unwrap().app_limited);
        all.on_sent(110 * MS, 3, 1);
        all.on_arrival(200 * MS, 2, None);
        all.on_arrival(210 * MS, 3, None);
        assert!(!all.rate_of(4, 0).unwrap().app_limited);
    }
}
