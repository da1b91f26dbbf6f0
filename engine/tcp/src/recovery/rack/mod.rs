//! Recovery by times, as in today's systems: RACK-TLP (RFC 8985) with proportional rate reduction
//! (RFC 9937).
//!
//! A packet is lost when one that was sent later has arrived and a short time for reordering has
//! passed. Lost retransmissions are found as well, and losses at the end of a window, for which
//! three duplicate ACKs never come.

mod arrivals;
mod losses;

use super::delivery::Deliveries;
use super::flight::Flight;
use super::frto::Frto;
use super::probe::Probe;
use crate::config::Config;
use crate::congestion::{Delivery, Event, InFlight};
use crate::deadline::Deadline;
use crate::push::Writes;
use crate::quirks::Quirks;
use crate::segment::{Ack, Block, Segment};
use crate::sender::{Moment, Phase, Sender};
pub(crate) use arrivals::Arrivals;
use losses::{begin_recovery, find_lost};

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
    let is_over = if sender.sends_new_first() {
        send_new_first(sender, moment)
    } else {
        send_allowed(sender, moment, false);
        true
    };
    if is_over {
        sender.schedule_probe(moment);
    }
}

/// Sends new packets, or others if no new one could be sent. Returns false if one waits for its time.
#[cold]
fn send_new_first<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) -> bool {
    send_allowed(sender, moment, true);
    if sender.max > sender.recover {
        return true;
    }
    if !sender.may_leave(moment) {
        sender.keeps_sending_new();
        return false;
    }
    sender.ends_question();
    send_allowed(sender, moment, false);
    true
}

#[inline(always)]
fn send_allowed<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, only_new: bool) {
    let limit = sender.limit(moment.config);
    loop {
        let allowed = sender.congestion.cwnd() as u32;
        let flight = &sender.rack().flight;
        if flight.flying() >= allowed {
            break;
        }
        let resends = !only_new && flight.has_lost();
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

impl Sender {
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
