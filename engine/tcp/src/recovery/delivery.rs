//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02; Linux:
//! net/ipv4/tcp_rate.c), for the congestion controls that ask for them.
//!
//! Each packet remembers what had been delivered when it was sent. When it arrives, the packets
//! delivered since then, over the time that sending or acknowledging them took, whichever is
//! longer, are a sample. Rates thus never exceed what the path delivers, even if ACKs come in
//! bursts.

use crate::congestion::{Delivery, LostPacket, Rate};

/// Places of the ring of records at first.
const LEAST_RECORDS: usize = 4;

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

/// The records of packets from `first` to `end`, `end` not included. Each has its place in a ring by
/// its number, whose size is a power of two: to find or forget one takes a step.
#[derive(Clone, Debug, Default)]
struct Records {
    ring: Vec<Record>,
    first: u32,
    end: u32,
}

impl Records {
    fn is_empty(&self) -> bool {
        self.first == self.end
    }

    fn place(&self, seq: u32) -> usize {
        seq as usize & self.ring.len().wrapping_sub(1)
    }

    fn get(&self, seq: u32) -> Option<&Record> {
        let has = (self.first..self.end).contains(&seq);
        has.then(|| &self.ring[self.place(seq)])
    }

    /// Takes the record of a packet: the next one, or one of those that have a record.
    fn put(&mut self, seq: u32, record: Record) {
        if self.is_empty() {
            (self.first, self.end) = (seq, seq);
        }
        if seq == self.end {
            if (self.end - self.first) as usize == self.ring.len() {
                self.grow(&record);
            }
            self.end += 1;
        }
        let place = self.place(seq);
        self.ring[place] = record;
    }

    #[cold]
    fn grow(&mut self, any: &Record) {
        let places = (2 * self.ring.len()).max(LEAST_RECORDS);
        let mut ring = vec![*any; places];
        for seq in self.first..self.end {
            ring[seq as usize & (places - 1)] = self.ring[self.place(seq)];
        }
        self.ring = ring;
    }

    /// Forgets the packets before `next`.
    fn forget_before(&mut self, next: u32) {
        self.first = self.first.max(next.min(self.end));
    }
}

/// The connection's state (the draft's C), and the records of the packets in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    records: Records,
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
    /// Of the packets that the present ACK reports, the one that was sent last: its number, and when,
    /// ns.
    latest: Option<(u32, u64)>,
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
        self.records.put(seq, record);
    }

    /// Takes a packet that is newly known to have arrived (section 3.3, UpdateRateSample), with the
    /// time when it was sent, ns, if it was sent only once.
    #[inline(never)]
    pub fn on_arrival(&mut self, now_ns: u64, seq: u32, sent_once_ns: Option<u64>) {
        self.latest_once_ns = self.latest_once_ns.max(sent_once_ns);
        self.delivered += 1;
        self.delivered_ns = now_ns;
        let Some(record) = self.records.get(seq) else {
            return;
        };
        let sent_ns = record.sent_ns;
        if self
            .latest
            .is_none_or(|(_, latest_ns)| sent_ns >= latest_ns)
        {
            self.latest = Some((seq, sent_ns));
            self.first_sent_ns = sent_ns;
        }
    }

    /// Takes a packet that is found lost.
    #[cold]
    pub fn on_lost(&mut self, now_ns: u64, seq: u32) {
        self.lost = self.lost.wrapping_add(1);
        if let Some(record) = self.records.get(seq) {
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
    #[inline(always)]
    pub fn sample(&mut self, now_ns: u64, next: u32, min_rtt_ns: u64, ce: u32) -> Delivery {
        self.ce = self.ce.wrapping_add(ce);
        if self.delivered > self.limited_to {
            self.limited_to = 0;
        }
        let rate = self.rate(min_rtt_ns);
        self.records.forget_before(next);
        Delivery {
            delivered: self.delivered,
            rtt_ns: self.latest_once_ns.take().map(|sent_ns| now_ns - sent_ns),
            rate,
        }
    }

    /// Returns no rate if the time is shorter than a round trip, which shows that the ACK
    /// acknowledges a retransmission whose original arrived.
    fn rate(&mut self, min_rtt_ns: u64) -> Option<Rate> {
        let (seq, _) = self.latest.take()?;
        let packet = self.records.get(seq)?;
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
    fn each_packet_in_flight_has_its_own_record() {
        // windows of one packet to 40, and numbers beyond any size of the ring
        let mut records = Records::default();
        let record = |seq: u32| Record {
            sent_ns: u64::from(seq),
            delivered: 0,
            delivered_ns: 0,
            first_sent_ns: 0,
            app_limited: false,
            in_flight: 0,
            lost: 0,
            ce: 0,
        };
        let (mut una, mut next) = (7, 7);
        for window in [1, 3, 4, 5, 9, 2, 40, 1, 33] {
            while next < una + window {
                records.put(next, record(next));
                next += 1;
            }
            records.put(una, record(una + 1000));
            let sent = |seq: u32| records.get(seq).map(|record| record.sent_ns);
            assert_eq!(sent(una), Some(u64::from(una) + 1000));
            assert!((una + 1..next).all(|seq| sent(seq) == Some(u64::from(seq))));
            assert_eq!((sent(una - 1), sent(next)), (None, None));
            una += window / 2;
            records.forget_before(una);
        }
        records.forget_before(next + 5);
        assert!(records.is_empty());
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
