//! What arrives at the receivers, and the answers to it, by class of flows.

use sluice_histogram::Histogram;

use crate::{
    classes::Classes,
    packet::{Kind, Packet},
};

/// Counts of the data packets and datagrams of one class that arrived at their receivers in a
/// period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reception {
    /// One-way delay: times from sending to arrival, ns.
    pub delay: Histogram,
    /// The least of them in the whole run so far, ns; `None` if nothing arrived.
    pub least_delay_ns: Option<u64>,
    /// Sum of the jitter of RFC 3550 (section 6.4.1) after each packet but the first of a flow, ns.
    pub jitter_sum_ns: f64,
    /// Number of these packets.
    pub jitter_count: u64,
    /// Datagrams that should have arrived, by their sequence numbers.
    pub datagrams_expected: u64,
    /// Datagrams that arrived.
    pub datagrams: u64,
    /// Datagrams of these that arrived after one with a greater sequence number (RFC 4737, section
    /// 3.3).
    pub reordered: u64,
    /// How often one or more datagrams in a row were missing when the next one arrived.
    pub loss_runs: u64,
    /// Sum of the times from one of these moments to the next of the same flow, ns.
    pub loss_gaps_ns: u64,
    /// Number of these times.
    pub loss_gaps: u64,
    /// Bytes of these datagrams.
    pub datagram_bytes: u64,
    /// Round trips of TCP: times from the sending of a data packet until the ACK of it is at its
    /// sender, ns. Of each flow one packet at a time is timed, and none that a duplicate ACK follows.
    pub round_trip: Histogram,
    /// Sum of the smoothed round trips that TCP holds, ns, those of each flow once a second.
    pub smoothed_sum_ns: u64,
    /// How many were looked at.
    pub smoothed_count: u64,
}

/// What is known of a flow from the last packet that arrived.
#[derive(Clone, Copy, Default)]
struct Last {
    delay_ns: Option<u64>,
    jitter_ns: f64,
    /// The datagram expected next, or what the last ACK expected.
    next: u32,
    /// When datagrams were missed the last time, ns.
    missed_ns: Option<u64>,
    /// The data packet whose round trip is timed, and when it was sent, ns.
    timed: Option<(u32, u64)>,
}

/// All receivers together.
#[derive(Default)]
pub struct Receptions {
    tcp: Vec<Last>,
    datagrams: Vec<Last>,
    counts: Vec<Reception>,
}

impl Receptions {
    pub fn new(classes: &Classes) -> Self {
        Self {
            tcp: vec![Last::default(); classes.tcp().len()],
            datagrams: vec![Last::default(); classes.datagrams().len()],
            counts: vec![Reception::default(); classes.count.unwrap_or(0)],
        }
    }

    /// Counts a packet that arrives now and was sent at `sent_ns`.
    pub fn count(&mut self, class: usize, packet: &Packet, now_ns: u64, sent_ns: u64) {
        let delay_ns = now_ns - sent_ns;
        let counts = &mut self.counts[class];
        let last = match packet.kind {
            Kind::Datagram => {
                let last = &mut self.datagrams[packet.flow as usize];
                counts.datagrams += 1;
                counts.datagram_bytes += u64::from(packet.bytes);
                if packet.number >= last.next {
                    if packet.number > last.next {
                        counts.loss_runs += 1;
                        if let Some(before_ns) = last.missed_ns.replace(now_ns) {
                            counts.loss_gaps_ns += now_ns - before_ns;
                            counts.loss_gaps += 1;
                        }
                    }
                    counts.datagrams_expected += u64::from(packet.number - last.next) + 1;
                    last.next = packet.number + 1;
                } else {
                    counts.reordered += 1;
                }
                last
            }
            Kind::Data => {
                let last = &mut self.tcp[packet.flow as usize];
                if last.timed.is_none() && !packet.is_syn() {
                    last.timed = Some((packet.number, sent_ns));
                }
                last
            }
            Kind::Ack | Kind::Feedback => unreachable!("answers are not measured"),
        };
        counts.delay.add(delay_ns);
        let least_ns = counts.least_delay_ns.get_or_insert(delay_ns);
        *least_ns = delay_ns.min(*least_ns);
        if let Some(before_ns) = last.delay_ns.replace(delay_ns) {
            // RFC 3550, section 6.4.1: J += (|D| - J) / 16
            let difference_ns = delay_ns.abs_diff(before_ns) as f64;
            last.jitter_ns += (difference_ns - last.jitter_ns) / 16.0;
            counts.jitter_sum_ns += last.jitter_ns;
            counts.jitter_count += 1;
        }
    }

    /// Counts an ACK that arrives at the sender of its flow.
    pub fn acknowledge(&mut self, class: usize, packet: &Packet, now_ns: u64) {
        let last = &mut self.tcp[packet.flow as usize];
        let duplicate = packet.number == last.next;
        last.next = packet.number;
        if let Some((number, sent_ns)) = last.timed {
            if packet.number > number {
                self.counts[class].round_trip.add(now_ns - sent_ns);
                last.timed = None;
            } else if duplicate {
                // a packet is missing: the next ACK of new data waits for it
                last.timed = None;
            }
        }
    }

    /// Counts what TCP holds for the round trip of a flow.
    pub fn count_smoothed(&mut self, class: usize, smoothed_ns: u64) {
        let counts = &mut self.counts[class];
        counts.smoothed_sum_ns += smoothed_ns;
        counts.smoothed_count += 1;
    }

    /// Returns the counts of each class since the last call.
    pub fn take(&mut self) -> Vec<Reception> {
        let fresh = |counts: &Reception| Reception {
            least_delay_ns: counts.least_delay_ns,
            ..Reception::default()
        };
        let next = self.counts.iter().map(fresh).collect();
        std::mem::replace(&mut self.counts, next)
    }
}
