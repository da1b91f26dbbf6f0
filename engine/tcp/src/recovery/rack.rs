//! Recovery by times: RACK-TLP (RFC 8985) with proportional rate reduction (RFC 9937), as the TCP of
//! today's systems recovers.
//!
//! A packet is lost when one that was sent later has arrived and a little time for reordering is
//! over. So also retransmissions are found lost, and the last packets of a window, for which three
//! duplicate ACKs never come.

use super::DUPLICATE_THRESHOLD;
use super::flight::{Flight, Lost, Packet};
use super::frto::Frto;
use super::probe::Probe;
use super::prr::Prr;
use crate::config::Config;
use crate::congestion::Cause;
use crate::deadline::Deadline;
use crate::quirks::Quirks;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Phase, Sender};

/// Share of the shortest round trip that packets may be reordered by (RFC 8985, section 6.2, step 4).
const REORDERING_SHARE: u64 = 4;

/// What the sender knows of the packets on their way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    pub flight: Flight,
    pub probe: Probe,
    pub prr: Prr,
    pub frto: Frto,
    /// When the packet was sent that was sent last of all that arrived, its number, and its
    /// round-trip time (RACK.xmit_ts, RACK.end_seq, RACK.rtt).
    latest: Option<(u64, u32)>,
    pub rtt_ns: u64,
    pub min_rtt_ns: Option<u64>,
    /// The highest packet that arrived (RACK.fack).
    highest: u32,
    reordering_seen: bool,
    /// When packets are lost that may as yet be reordered.
    reorder_at: Deadline,
}

/// What an ACK told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    /// Packets that arrived and of which nobody knew.
    packets: u32,
    /// Whether the first packet not acknowledged is another.
    pub advances: bool,
    /// Whether one is news that arrived out of order.
    pub out_of_order: bool,
    /// Whether one was sent once only, and before the last reduction.
    pub original: bool,
    /// A round-trip time, ns: of the first packet, in the order in which they are looked at; that of
    /// one sent again only where its ACK advances, whose time stamp tells which transmission came.
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
    /// When it wants to be called, but for the retransmission timer.
    pub fn deadline(&self) -> Deadline {
        self.reorder_at.min(self.probe.at)
    }

    /// Takes what an ACK tells of packets from `una` on (RFC 8985, section 6.2, steps 1 to 3).
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
        if quirks.looks_at_sack_first {
            self.learn_out_of_order(ack, &mut take);
            self.learn_in_order(ack, &mut take);
        } else {
            self.learn_in_order(ack, &mut take);
            self.learn_out_of_order(ack, &mut take);
        }
        found
    }

    fn learn_in_order(&mut self, ack: &Ack, take: &mut impl FnMut(&mut Rack, Packet)) {
        while let Some((packet, is_news)) = self.flight.take_before(ack.next) {
            if is_news {
                take(self, packet);
            }
        }
    }

    fn learn_out_of_order(&mut self, ack: &Ack, take: &mut impl FnMut(&mut Rack, Packet)) {
        let mut blocks = ack.sack;
        blocks.sort_unstable_by_key(|block| block.start);
        for seq in blocks.into_iter().flat_map(|block| block.start..block.end) {
            if let Some(packet) = self.flight.sack(seq) {
                take(self, packet);
            }
        }
    }

    /// Takes a packet that arrived; `highest` arrived before this ACK.
    fn on_arrival(&mut self, quirks: &Quirks, now_ns: u64, highest: u32, packet: Packet) {
        let rtt_ns = now_ns - packet.sent_ns;
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

    /// Takes for lost what was sent before a packet that arrived, and had its time (RFC 8985, section
    /// 6.2, steps 4 and 5).
    fn find_lost(&mut self, config: &Config, now_ns: u64, srtt_ns: u64, recovers: bool) -> Lost {
        self.reorder_at = Deadline::NONE;
        let Some(latest) = self.latest.filter(|at| self.flight.may_miss(*at)) else {
            return Lost::default();
        };
        let enough = recovers || self.flight.sacked() >= DUPLICATE_THRESHOLD;
        let window_ns = if enough && !self.reordering_seen {
            0
        } else {
            let known_ns = if srtt_ns > 0 { srtt_ns } else { u64::MAX };
            (self.min_rtt_ns.unwrap_or(0) / REORDERING_SHARE).min(known_ns)
        };
        let mut last_due_ns = None;
        let (rtt_ns, flight) = (self.rtt_ns, &mut self.flight);
        let lost = flight.lose(|packet| {
            if (packet.sent_ns, packet.seq) >= latest {
                return false;
            }
            let due_ns = packet.sent_ns + rtt_ns + window_ns;
            if due_ns > now_ns {
                last_due_ns = last_due_ns.max(Some(due_ns));
            }
            due_ns <= now_ns
        });
        self.reorder_at = last_due_ns.map_or(Deadline::NONE, |due_ns| {
            config.timer(now_ns, due_ns - now_ns)
        });
        lost
    }

    /// Takes for lost, after a time-out, the first packet and all that had their time (RFC 8985,
    /// section 6.3).
    pub fn on_time_out(&mut self, now_ns: u64, una: u32) {
        let had_time_ns = self.rtt_ns + self.min_rtt_ns.unwrap_or(0) / REORDERING_SHARE;
        self.flight
            .lose(|packet| packet.seq == una || packet.sent_ns + had_time_ns <= now_ns);
        self.reorder_at = Deadline::NONE;
        self.probe = Probe::default();
    }
}

pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if ack.next < sender.una {
        return;
    }
    let (una, recover) = (sender.una, sender.recover);
    let arrivals = sender
        .rack()
        .learn(&moment.config.quirks, moment.now_ns, una, recover, ack);
    let repaired = sender.rack().probe.on_ack(ack, arrivals.advances);
    let recovered = sender.phase == Phase::Recovery;
    if moment.config.quirks.times_every_ack {
        time(sender, moment, ack, &arrivals);
    }
    if sender.phase == Phase::TimedOut && moment.config.quirks.questions_time_outs {
        sender.answer_time_out(ack, &arrivals, moment.config.ecn && ack.ece);
    }
    if arrivals.advances {
        advance(sender, moment, ack);
    }
    if repaired {
        sender.reduce_window(moment.config, Cause::Loss);
    }
    let lost = find_lost(sender, moment);
    begin_recovery(sender, moment, lost);
    if moment.config.quirks.restarts_timer_by_sack && is_older(sender.rack(), moment, &arrivals) {
        sender.restart_timer(moment);
    }
    let goes_by_mark = goes_down_by_mark(sender, &moment.config.quirks);
    if goes_by_mark && arrivals.packets == 0 {
        // it tells nothing (`tcp_cwnd_reduction`)
    } else if sender.phase == Phase::Recovery || goes_by_mark {
        let well = arrivals.advances && lost.packets == 0;
        reduce_by_and_by(sender, arrivals.packets, well);
    } else if arrivals.advances && (!recovered || moment.config.quirks.grows_after_recovery) {
        sender.grow(moment, ack, arrivals.packets);
    }
    send(sender, moment);
}

/// Takes the round-trip time of an ACK with a time stamp, in place of that of the packet timed.
fn time<F>(sender: &mut Sender, moment: &Moment<F>, ack: &Ack, arrivals: &Arrivals) {
    sender.timed_at = Deadline::NONE;
    if let Some(rtt_ns) = arrivals.rtt_ns {
        sender.end_backoff(ack);
        let ticks = rtt_ns / moment.config.tick_ns;
        sender.rto.sample(moment.config, ticks);
    }
}

/// Whether an ACK that does not advance tells of a packet that was sent before the first one not
/// acknowledged was sent last, and nothing waits to be taken for lost.
fn is_older<F>(rack: &Rack, moment: &Moment<F>, arrivals: &Arrivals) -> bool {
    let first_ns = rack.flight.first_sent_ns();
    !arrivals.advances
        && rack.reorder_at.is_none()
        && arrivals
            .rtt_ns
            .is_some_and(|rtt_ns| first_ns.is_some_and(|sent_ns| moment.now_ns - rtt_ns < sent_ns))
}

/// The timer ran out. Returns whether it was that of reordering or that of the probe, and all is
/// done.
pub(crate) fn on_timer<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) -> bool {
    let rack = sender.rack();
    if rack.reorder_at.is_due(moment.now_ns) {
        // a reduction that goes on takes it for an ACK of one packet (`tcp_rack_reo_timeout`)
        let went_down = goes_down_by_mark(sender, &moment.config.quirks);
        let lost = find_lost(sender, moment);
        begin_recovery(sender, moment, lost);
        if sender.phase == Phase::Recovery {
            reduce_by_and_by(sender, u32::from(went_down), false);
        }
        send(sender, moment);
    } else if rack.probe.at.is_due(moment.now_ns) {
        sender.send_probe(moment);
    } else {
        return false;
    }
    true
}

/// Sends what the window allows: lost packets first, then new ones; new ones alone while a time-out
/// is in question.
pub(crate) fn send<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    let only_new = sender.sends_new_first();
    send_allowed(sender, moment, only_new);
    if only_new && sender.max <= sender.recover {
        // none could go
        sender.ends_question();
        send_allowed(sender, moment, false);
    }
    sender.schedule_probe(moment);
}

fn send_allowed<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, only_new: bool) {
    let limit = sender.limit(moment.config);
    while sender.rack().flight.flying() < sender.window.cwnd as u32 {
        let lost = sender.rack().flight.first_lost().filter(|_| !only_new);
        if let Some(seq) = lost {
            sender.resend(moment, seq);
        } else if sender.next < limit {
            sender.transmit(moment, sender.next);
            sender.next += 1;
        } else {
            break;
        }
        sender.rack().prr.on_sent();
    }
}

/// Takes note of an ACK of new data; the end of recovery leaves the threshold as the window.
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
            sender.window.cwnd = sender.window.ssthresh;
        }
        sender.phase = Phase::Open;
        // what is found lost from now on is a new loss
        sender.recover = 0;
    }
}

fn is_repairing(sender: &Sender) -> bool {
    matches!(sender.phase, Phase::Recovery | Phase::TimedOut)
}

/// Whether a mark brings the window down to the threshold by and by.
fn goes_down_by_mark(sender: &Sender, quirks: &Quirks) -> bool {
    sender.phase == Phase::Marked && quirks.marks_reduce_by_and_by
}

/// Takes an ECN echo that no reduction covers (`marks_reduce_by_and_by`).
pub(crate) fn on_echo(sender: &mut Sender, config: &Config) {
    if matches!(sender.phase, Phase::Marked | Phase::Recovery) {
        // the reduction before is over
        sender.window.cwnd = sender.window.ssthresh;
    }
    let window = sender.window.cwnd;
    sender.phase = Phase::Marked;
    sender.recover = sender.max;
    sender.reduce_window(config, Cause::Mark);
    sender.window.cwnd = window;
    let rack = sender.rack();
    rack.prr = Prr::begin(window);
    rack.probe = Probe::default();
}

fn find_lost<F>(sender: &mut Sender, moment: &Moment<F>) -> Lost {
    let srtt_ns = sender.rto.srtt_ns(moment.config);
    let recovers = is_repairing(sender);
    let (config, now_ns) = (moment.config, moment.now_ns);
    sender.rack().find_lost(config, now_ns, srtt_ns, recovers)
}

/// Begins recovery if packets are lost of which no reduction knows: after a time-out these are
/// retransmissions, as in Linux. Else the window would go on growing, and most of what it lets go
/// could be lost again and again.
fn begin_recovery<F>(sender: &mut Sender, moment: &Moment<F>, found: Lost) {
    let window = sender.window.cwnd;
    let went_down = goes_down_by_mark(sender, &moment.config.quirks);
    if sender.phase == Phase::TimedOut && found.again {
        sender.phase = Phase::Open;
        sender.recover = 0;
    }
    let lost = sender.rack().flight.has_lost();
    if lost && !is_repairing(sender) && sender.enter_recovery(moment.config) {
        if !went_down {
            sender.rack().prr = Prr::begin(window);
        }
        sender.restart_timer(moment);
    }
}

fn reduce_by_and_by(sender: &mut Sender, delivered: u32, well: bool) {
    let threshold = sender.window.ssthresh;
    let rack = sender.rack();
    let flying = rack.flight.flying();
    let allowed = rack.prr.allowed(flying, threshold, delivered, well);
    sender.window.cwnd = f64::from(flying + allowed);
}

impl Sender {
    /// What a sender keeps that recovers by times.
    pub(crate) fn rack(&mut self) -> &mut Rack {
        self.rack.as_mut().expect("it recovers by times")
    }

    /// Sends a packet again, of which nothing can be timed (Karn's algorithm).
    pub(crate) fn resend<F: FnMut(Segment)>(&mut self, moment: &mut Moment<F>, seq: u32) {
        self.transmit(moment, seq);
        if seq == self.timed_seq {
            self.timed_at = Deadline::NONE;
        }
        if seq == self.una && moment.config.quirks.restarts_timer_at_first {
            self.restart_timer(moment);
        }
    }
}
