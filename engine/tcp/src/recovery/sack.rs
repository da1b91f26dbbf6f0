//! Recovery by selective acknowledgements (RFC 6675, without its rescue retransmission).

use super::DUPLICATE_THRESHOLD;
use crate::config::Config;
use crate::congestion::Event;
use crate::deadline::Deadline;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Phase, Sender};

pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if sender.phase == Phase::Recovery {
        on_ack_in_recovery(sender, moment, ack);
        return;
    }
    if ack.next > sender.una {
        sender.accept(moment, ack);
        renew_scoreboard(sender, moment.config, ack);
    } else if sender.is_duplicate(ack) {
        on_duplicate(sender, moment, ack);
    }
    if sender.duplicates == 0 {
        sender.send_window(moment, u32::MAX);
    }
}

/// Updates the scoreboard after an ACK of new data; ns-2 starts a new one.
fn renew_scoreboard(sender: &mut Sender, config: &Config, ack: &Ack) {
    sender.ignores_duplicates = false;
    if config.quirks.counts_pipe {
        sender.scoreboard.clear();
    } else {
        sender.learn(ack);
    }
}

/// Counts a duplicate ACK that reports new arrivals: limited transmit, then recovery.
fn on_duplicate<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if sender.ignores_duplicates || !sender.learn(ack) {
        return;
    }
    sender.duplicates += 1;
    let enough = sender.duplicates == DUPLICATE_THRESHOLD;
    let lost = sender.scoreboard.lost_below() > sender.una;
    if enough || (lost && !moment.config.quirks.counts_pipe) {
        begin_recovery(sender, moment);
    } else if sender.duplicates < DUPLICATE_THRESHOLD {
        sender.limited_transmit(moment);
    }
}

fn begin_recovery<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    if !sender.fast_retransmit(moment) {
        return;
    }
    sender.scoreboard.begin(sender.una);
    if moment.config.quirks.counts_pipe {
        sender.start_counting();
    } else {
        send_in_recovery(sender, moment);
    }
}

fn on_ack_in_recovery<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    sender.count_down(ack);
    if ack.next >= sender.recover {
        sender.phase = Phase::Open;
        // What is found lost from now on is a new loss.
        sender.recover = 0;
        let in_flight = sender.max - ack.next;
        sender
            .congestion
            .on_event(moment.config, Event::Recovered { in_flight });
        let acked = sender.acknowledge(moment, ack);
        sender.report_ack(moment, ack, acked, false);
        renew_scoreboard(sender, moment.config, ack);
        sender.send_window(moment, u32::MAX);
        return;
    }
    if ack.next > sender.una {
        let acked = ack.next - sender.una;
        sender.advance(ack);
        sender.restart_timer(moment);
        sender.rto.end_backoff();
        sender.report_ack(moment, ack, acked, false);
    }
    sender.learn(ack);
    send_in_recovery(sender, moment);
}

/// Sends while fewer packets than cwnd are thought to be in the network (RFC 6675, section 5,
/// step C).
pub(super) fn send_in_recovery<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    if !moment.config.quirks.counts_pipe {
        sender.scoreboard.pipe = sender.scoreboard.in_network(sender.una, sender.max) as i32;
    }
    while sender.scoreboard.pipe < sender.congestion.cwnd() as i32 {
        let Some(seq) = next_segment(sender, moment.config) else {
            return;
        };
        if !sender.may_leave(moment) {
            return;
        }
        sender.transmit(moment, seq);
        if seq == sender.next {
            sender.next += 1;
        } else {
            sender.scoreboard.mark_retransmitted(seq);
            // Karn's algorithm (RFC 6298, section 3); ns-2 goes on timing it.
            if seq == sender.timed_seq && !moment.config.quirks.counts_pipe {
                sender.timed_at = Deadline::NONE;
            }
        }
        sender.scoreboard.pipe += 1;
    }
}

/// Returns the packet to send next: a lost packet, new data, or a packet that may be lost (RFC
/// 6675, section 4, NextSeg). ns-2 considers all holes lost.
fn next_segment(sender: &Sender, config: &Config) -> Option<u32> {
    let hole = sender.scoreboard.next_hole(sender.una);
    let lost_below = if config.quirks.counts_pipe {
        u32::MAX
    } else {
        sender.scoreboard.lost_below()
    };
    let limit = sender
        .una
        .saturating_add(config.receiver_window)
        .min(sender.end);
    let new = Some(sender.next).filter(|next| *next < limit);
    hole.filter(|hole| *hole < lost_below).or(new).or(hole)
}
