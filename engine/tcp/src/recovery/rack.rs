//! Recovery by times, as in today's systems: RACK-TLP (RFC 8985) with proportional rate reduction
//! (RFC 9937).
//!
//! A packet is lost when one that was sent later has arrived and a short time for reordering has
//! passed. Lost retransmissions are found as well, and losses at the end of a window, for which
//! three duplicate ACKs never come.

use super::DUPLICATE_THRESHOLD;
use super::delivery::Deliveries;
use super::flight::{Flight, Lost, Packet};
use super::frto::Frto;
use super::probe::Probe;
use crate::config::Config;
use crate::congestion::{Delivery, Event, InFlight};
use crate::deadline::Deadline;
use crate::push::Writes;
use crate::quirks::Quirks;
use crate::segment::{Ack, Block, Segment};
use crate::sender::{Moment, Phase, Sender};

/// Packets may be reordered by the shortest round-trip time divided by this number (RFC 8985,
/// section 6.2, step 4).
const REORDERING_SHARE: u64 = 4;

/// What the sender knows about the packets in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    pub flight: Flight,
    pub probe: Probe,
    pub frto: Frto,
    /// Of all packets that arrived, the one that was sent last: when, ns, its number, and its
    /// round-trip time (RACK.xmit_ts, RACK.end_seq, RACK.rtt).
    latest: Option<(u64, u32)>,
    pub rtt_ns: u64,
    pub min_rtt_ns: Option<u64>,
    /// The highest packet that arrived (RACK.fack).
    highest: u32,
    reordering_seen: bool,
    /// Blocks that the last ACK with any reported.
    known: [Block; 3],
    /// When packets that may still be reordered will count as lost.
    reorder_at: Deadline,
    /// What was delivered and when, if the congestion control asks for it.
    deliveries: Option<Box<Deliveries>>,
    /// What the application has written, if PSH is set ([`Quirks::pushes_writes`]).
    pub writes: Option<Writes>,
}

/// Calls `take` with each packet of a block that is in none of others.
fn outside(block: Block, others: &[Block; 3], mut take: impl FnMut(u32)) {
    let mut seq = block.start;
    while seq < block.end {
        let has = |other: &&Block| (other.start..other.end).contains(&seq);
        if let Some(other) = others.iter().find(has) {
            seq = other.end;
            continue;
        }
        let after = others.iter().filter(|other| other.start > seq);
        let end = after.fold(block.end, |end, other| end.min(other.start));
        (seq..end).for_each(&mut take);
        seq = end;
    }
}

/// What an ACK reported.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// Packets newly reported as arrived.
    packets: u32,
    /// True if the ACK acknowledges new data.
    pub advances: bool,
    /// True if a newly reported packet arrived out of order.
    pub out_of_order: bool,
    /// True if one of them was sent only once, and before the last reduction.
    pub original: bool,
    /// Round-trip time, ns, of the first newly reported packet in the order of processing. A packet
    /// that was sent again counts only if the ACK acknowledges new data: then its time stamp shows
    /// which transmission arrived.
    rtt_ns: Option<u64>,
}

impl Arrivals {
    fn note(&mut self, now_ns: u64, recover: u32, next: u32, packet: &Packet) {
        self.packets += 1;
        self.out_of_order |= packet.seq >= next;
        self.original |= !packet.retransmitted && packet.seq < recover;
        if self.advances || !packet.retransmitted {
            self.rtt_ns = self.rtt_ns.or(Some(now_ns - packet.sent_ns));
        }
    }
}

impl Rack {
    pub fn new(config: &Config) -> Rack {
        let samples = config.congestion_control.samples_delivery();
        Rack {
            deliveries: samples.then(Box::default),
            writes: (config.quirks.pushes_writes).then(|| Writes::new(config)),
            ..Rack::default()
        }
    }

    /// Notes that a packet is sent; returns how many were in flight before it.
    #[inline]
    pub fn on_sent(&mut self, now_ns: u64, seq: u32) -> u32 {
        let in_flight = self.flight.flying();
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_sent(now_ns, seq, in_flight);
        }
        self.flight.send(seq, now_ns);
        in_flight
    }

    #[inline]
    pub fn sample(&mut self, now_ns: u64, next: u32, ce: u32) -> Option<Delivery> {
        let min_rtt_ns = self.min_rtt_ns.unwrap_or(0);
        let deliveries = self.deliveries.as_mut()?;
        Some(deliveries.sample(now_ns, next, min_rtt_ns, ce))
    }

    /// Returns when the reordering timer or the probe is due, whichever comes first.
    pub fn deadline(&self) -> Deadline {
        self.reorder_at.min(self.probe.at)
    }

    /// Processes what an ACK reports about packets from `una` on (RFC 8985, section 6.2, steps 1 to
    /// 3).
    fn learn(
        &mut self,
        quirks: &Quirks,
        now_ns: u64,
        una: u32,
        recover: u32,
        ack: &Ack,
    ) -> Arrivals {
        let highest = self.highest;
        let mut found = Arrivals {
            advances: ack.next > una,
            ..Arrivals::default()
        };
        let mut take = |rack: &mut Rack, packet: Packet| {
            found.note(now_ns, recover, ack.next, &packet);
            rack.on_arrival(quirks, now_ns, highest, packet);
        };
        // the first block is the most recent
        let has_blocks = !ack.sack[0].is_empty();
        if has_blocks && quirks.looks_at_sack_first {
            self.learn_out_of_order(ack, &mut take);
        }
        self.learn_in_order(ack, &mut take);
        if has_blocks && !quirks.looks_at_sack_first {
            self.learn_out_of_order(ack, &mut take);
        }
        found
    }

    #[inline]
    fn learn_in_order(&mut self, ack: &Ack, take: &mut impl FnMut(&mut Rack, Packet)) {
        while let Some((packet, is_news)) = self.flight.take_before(ack.next) {
            if is_news {
                take(self, packet);
            }
        }
    }

    #[inline(never)]
    fn learn_out_of_order(&mut self, ack: &Ack, take: &mut impl FnMut(&mut Rack, Packet)) {
        let known = std::mem::replace(&mut self.known, ack.sack);
        let mut blocks = ack.sack;
        // mostly only the first block is news, and the others moved back by a place at most
        let [_, second, third] = blocks;
        let are_known =
            (second == known[0] || second == known[1]) && (third == known[1] || third == known[2]);
        let news = if are_known {
            &blocks[..1]
        } else {
            blocks.sort_unstable_by_key(|block| block.start);
            &blocks[..]
        };
        for block in news {
            outside(*block, &known, |seq| {
                if let Some(packet) = self.flight.sack(seq) {
                    take(self, packet);
                }
            });
        }
    }

    /// Returns how many packets an ACK reports that were not known to have arrived.
    pub fn unknown(&self, ack: &Ack) -> u32 {
        let mut packets = self.flight.unknown_before(ack.next);
        if !ack.sack[0].is_empty() {
            for block in ack.sack {
                outside(block, &self.known, |seq| {
                    packets += u32::from(self.flight.is_unknown(seq));
                });
            }
        }
        packets
    }

    /// Processes a packet that arrived; `highest` is the highest one that arrived before this ACK.
    fn on_arrival(&mut self, quirks: &Quirks, now_ns: u64, highest: u32, packet: Packet) {
        let rtt_ns = now_ns - packet.sent_ns;
        if let Some(deliveries) = &mut self.deliveries {
            let sent_once_ns = (!packet.retransmitted).then_some(packet.sent_ns);
            deliveries.on_arrival(now_ns, packet.seq, sent_once_ns);
        }
        if !packet.retransmitted {
            self.min_rtt_ns = Some(self.min_rtt_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
            self.reordering_seen |= packet.seq < highest;
        } else if self.min_rtt_ns.is_some_and(|least| rtt_ns < least) {
            // the first transmission arrived after all
            return;
        }
        self.highest = self.highest.max(packet.seq);
        let is_latest = self.latest < Some((packet.sent_ns, packet.seq));
        if is_latest {
            self.latest = Some((packet.sent_ns, packet.seq));
        }
        if is_latest || quirks.looks_at_sack_first {
            self.rtt_ns = rtt_ns;
        }
    }

    /// Marks as lost the packets that were sent before one that arrived, and whose time for
    /// reordering has passed (RFC 8985, section 6.2, steps 4 and 5).
    fn find_lost(
        &mut self,
        config: &Config,
        now_ns: u64,
        latest: (u64, u32),
        (srtt_ns, recovers): (u64, bool),
    ) -> Lost {
        let enough = recovers || self.flight.sacked() >= DUPLICATE_THRESHOLD;
        let window_ns = if enough && !self.reordering_seen {
            0
        } else {
            let known_ns = if srtt_ns > 0 { srtt_ns } else { u64::MAX };
            (self.min_rtt_ns.unwrap_or(0) / REORDERING_SHARE).min(known_ns)
        };
        let mut last_due_ns = None;
        let (rtt_ns, flight) = (self.rtt_ns, &mut self.flight);
        let deliveries = &mut self.deliveries;
        let lost = flight.lose_before(latest, |packet| {
            let due_ns = packet.sent_ns + rtt_ns + window_ns;
            if due_ns > now_ns {
                last_due_ns = last_due_ns.max(Some(due_ns));
                return false;
            }
            if let Some(deliveries) = deliveries {
                deliveries.on_lost(now_ns, packet.seq);
            }
            true
        });
        self.reorder_at = last_due_ns.map_or(Deadline::NONE, |due_ns| {
            config.timer(now_ns, due_ns - now_ns)
        });
        lost
    }

    /// Marks as lost, after a time-out, the first packet and all packets whose time has passed (RFC
    /// 8985, section 6.3). Returns how many.
    pub fn on_time_out(&mut self, now_ns: u64, una: u32) -> u32 {
        let had_time_ns = self.rtt_ns + self.min_rtt_ns.unwrap_or(0) / REORDERING_SHARE;
        let deliveries = &mut self.deliveries;
        let lost = self.flight.lose(|packet| {
            let is_lost = packet.seq == una || packet.sent_ns + had_time_ns <= now_ns;
            if is_lost && let Some(deliveries) = deliveries {
                deliveries.on_lost(now_ns, packet.seq);
            }
            is_lost
        });
        self.reorder_at = Deadline::NONE;
        self.probe = Probe::default();
        lost.packets
    }
}

pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if ack.next < sender.una {
        return;
    }
    let (una, recover) = (sender.una, sender.recover);
    let before = sender.rack().flight.flying();
    let arrivals = sender
        .rack()
        .learn(&moment.config.quirks, moment.now_ns, una, recover, ack);
    let repaired = sender.rack().probe.on_ack(ack, arrivals.advances);
    let recovered = sender.phase == Phase::Recovery;
    if moment.config.quirks.times_every_ack {
        time(sender, moment, ack, &arrivals);
    }
    if sender.phase == Phase::TimedOut && moment.config.quirks.questions_time_outs {
        sender.answer_time_out(moment.config, ack, &arrivals);
    }
    if arrivals.advances {
        advance(sender, moment, ack);
    }
    if repaired {
        repair(sender, moment.config);
    }
    let lost = find_lost(sender, moment);
    begin_recovery(sender, moment, lost);
    if moment.config.quirks.restarts_timer_by_sack && is_older(sender.rack(), moment, &arrivals) {
        sender.restart_timer(moment);
    }
    let grows = !recovered || moment.config.quirks.grows_after_recovery;
    let flight = InFlight {
        before,
        lost: lost.packets,
        advances: arrivals.advances,
        ..InFlight::default()
    };
    let news = (arrivals.packets, arrivals.advances && grows);
    sender.report_ack_in_flight(moment, ack, news, flight);
    send(sender, moment);
    sender.write_more();
}

/// Takes the round-trip time from the ACK's time stamp, not from the timed packet.
fn time<F>(sender: &mut Sender, moment: &Moment<F>, ack: &Ack, arrivals: &Arrivals) {
    sender.timed_at = Deadline::NONE;
    if let Some(rtt_ns) = arrivals.rtt_ns {
        sender.end_backoff(ack);
        let ticks = rtt_ns / moment.config.tick_ns;
        sender.rto.sample(moment.config, ticks);
    }
}

/// True if an ACK of no new data reports a packet that was sent before the first unacknowledged
/// packet was sent last, and no packet waits for the reordering timer.
fn is_older<F>(rack: &Rack, moment: &Moment<F>, arrivals: &Arrivals) -> bool {
    let first_ns = rack.flight.first_sent_ns();
    !arrivals.advances
        && rack.reorder_at.is_none()
        && arrivals
            .rtt_ns
            .is_some_and(|rtt_ns| first_ns.is_some_and(|sent_ns| moment.now_ns - rtt_ns < sent_ns))
}

/// Serves the reordering timer and the probe. Returns true if one of them was due; nothing else is
/// to be done then.
pub(crate) fn on_timer<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) -> bool {
    let rack = sender.rack();
    if rack.reorder_at.is_due(moment.now_ns) {
        let recovered = sender.phase == Phase::Recovery;
        let before = sender.rack().flight.flying();
        let lost = find_lost(sender, moment);
        begin_recovery(sender, moment, lost);
        let counts = counts_timer_as_ack(moment.config);
        if sender.phase == Phase::Recovery && !(recovered && counts) {
            let ack = Ack {
                next: sender.una,
                ..Ack::default()
            };
            let flight = InFlight {
                before,
                lost: lost.packets,
                ..InFlight::default()
            };
            sender.report_ack_in_flight(moment, &ack, (u32::from(counts), false), flight);
        }
        send(sender, moment);
    } else if rack.probe.at.is_due(moment.now_ns) {
        sender.send_probe(moment);
    } else {
        return false;
    }
    true
}

/// True if the reordering timer, where it begins a recovery, counts as an ACK of one packet, and
/// leaves the window as it is during one. To a control that decides alone it only tells the losses.
fn counts_timer_as_ack(config: &Config) -> bool {
    config.quirks.counts_timer_as_ack && !config.congestion_control.decides_alone()
}

/// Sends what the window allows: lost packets first, then new ones; only new ones while F-RTO
/// questions a time-out.
pub(crate) fn send<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    let only_new = sender.sends_new_first();
    send_allowed(sender, moment, only_new);
    if only_new && sender.max <= sender.recover {
        if !sender.may_leave(moment) {
            sender.keeps_sending_new();
            return;
        }
        // no new packet could be sent
        sender.ends_question();
        send_allowed(sender, moment, false);
    }
    sender.schedule_probe(moment);
}

fn send_allowed<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, only_new: bool) {
    let limit = sender.limit(moment.config);
    while sender.rack().flight.flying() < sender.congestion.cwnd() as u32 {
        let resends = !only_new && sender.rack().flight.has_lost();
        if !resends && sender.next >= limit || !sender.may_leave(moment) {
            break;
        }
        if resends && let Some(seq) = sender.rack().flight.first_lost() {
            sender.resend(moment, seq, false);
        } else {
            sender.transmit(moment, sender.next);
            sender.next += 1;
        }
    }
}

/// Processes an ACK of new data. At the end of recovery the window becomes the threshold, except
/// after a time-out.
fn advance<F>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if sender.phase == Phase::Recovery {
        sender.advance_in_recovery(ack);
        sender.restart_timer(moment);
    } else {
        sender.acknowledge(moment, ack);
    }
    let is_over = if goes_down_by_mark(sender, &moment.config.quirks) {
        sender.una > sender.recover
    } else {
        is_repairing(sender) && sender.una >= sender.recover
    };
    if is_over {
        if sender.phase != Phase::TimedOut {
            end_reduction(sender, moment.config);
        }
        sender.phase = Phase::Open;
        // what is found lost from now on is a new loss
        sender.recover = 0;
    }
}

fn is_repairing(sender: &Sender) -> bool {
    matches!(sender.phase, Phase::Recovery | Phase::TimedOut)
}

/// True while a mark reduces the window to the threshold gradually.
fn goes_down_by_mark(sender: &Sender, quirks: &Quirks) -> bool {
    sender.phase == Phase::Marked && quirks.marks_reduce_by_and_by
}

/// Processes an ECN echo that no reduction covers (`marks_reduce_by_and_by`).
pub(crate) fn on_echo(sender: &mut Sender, config: &Config) {
    if matches!(sender.phase, Phase::Marked | Phase::Recovery) {
        end_reduction(sender, config);
    }
    sender.phase = Phase::Marked;
    sender.recover = sender.max;
    sender.take_mark(config, true);
    sender.rack().probe = Probe::default();
}

fn end_reduction(sender: &mut Sender, config: &Config) {
    let in_flight = sender.rack().flight.flying();
    sender
        .congestion
        .on_event(config, Event::Recovered { in_flight });
}

/// Reacts to a loss that a probe has repaired.
fn repair(sender: &mut Sender, config: &Config) {
    let used = Some(sender.used(config));
    let begins = false;
    sender
        .congestion
        .on_event(config, Event::Loss { used, begins });
    sender.reduced = config.ecn;
}

/// The application has more packets to send; before, too few may have been there for the window.
pub(crate) fn on_more(sender: &mut Sender, config: &Config) {
    let (waited, limit) = (sender.next >= sender.end, sender.congestion.cwnd() as u32);
    if config.congestion_control.samples_delivery()
        && waited
        && let Some(rack) = &mut sender.rack
        && let Some(deliveries) = &mut rack.deliveries
        && rack.flight.flying() < limit
        && !rack.flight.has_lost()
    {
        deliveries.limit_by_application(rack.flight.flying());
    }
}

#[inline]
fn find_lost<F>(sender: &mut Sender, moment: &Moment<F>) -> Lost {
    let rack = sender.rack();
    rack.reorder_at = Deadline::NONE;
    let Some(latest) = rack.latest else {
        return Lost::default();
    };
    if !rack.flight.may_miss(latest) {
        return Lost::default();
    }
    let srtt_ns = sender.rto.srtt_ns(moment.config);
    let recovers = is_repairing(sender);
    let (config, now_ns) = (moment.config, moment.now_ns);
    let rack = sender.rack();
    let lost = rack.find_lost(config, now_ns, latest, (srtt_ns, recovers));
    if lost.packets > 0 {
        sender.report_losses();
    }
    lost
}

/// Begins recovery if packets are lost that no reduction covers; after a time-out these are
/// retransmissions, as in Linux. Otherwise the window would go on growing, and most packets that it
/// allows could be lost again and again.
///
/// Where a recovery ends while packets that were sent during it are missing, even if they were sent
/// again, the next one begins with the same ACK (Linux: `tcp_time_to_recover`).
#[inline]
fn begin_recovery<F>(sender: &mut Sender, moment: &Moment<F>, found: Lost) {
    if found.packets == 0 && !sender.rack().flight.has_missing() {
        return;
    }
    let went_down = goes_down_by_mark(sender, &moment.config.quirks);
    if sender.phase == Phase::TimedOut && found.again {
        sender.phase = Phase::Open;
        sender.recover = 0;
    }
    let missing = sender.rack().flight.has_missing();
    if missing && !is_repairing(sender) && sender.enter_recovery(moment.config, !went_down) {
        sender.restart_timer(moment);
    }
}

impl Sender {
    /// Reports each packet found lost to congestion control, if it asks for that.
    pub(crate) fn report_losses(&mut self) {
        let Some(rack) = &mut self.rack else { return };
        if let Some(deliveries) = &mut rack.deliveries {
            for lost in deliveries.take_losses() {
                self.congestion.on_lost(&lost);
            }
        }
    }

    /// Returns the state of a sender that recovers by times.
    #[inline]
    pub(crate) fn rack(&mut self) -> &mut Rack {
        self.rack.as_mut().expect("it recovers by times")
    }

    /// Sends a packet again; it cannot be timed any more (Karn's algorithm).
    pub(crate) fn resend<F: FnMut(Segment)>(
        &mut self,
        moment: &mut Moment<F>,
        seq: u32,
        probes: bool,
    ) {
        self.transmit_once(moment, seq, probes);
        if seq == self.timed_seq {
            self.timed_at = Deadline::NONE;
        }
        if seq == self.una && moment.config.quirks.restarts_timer_at_first {
            self.restart_timer(moment);
        }
    }
}
