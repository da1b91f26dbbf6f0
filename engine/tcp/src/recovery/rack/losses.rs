//! Which packets are lost, and the recovery that begins with them (RFC 8985, section 6.2, steps 4
//! and 5).

use super::{Rack, goes_down_by_mark, is_repairing};
use crate::config::Config;
use crate::deadline::Deadline;
use crate::recovery::DUPLICATE_THRESHOLD;
use crate::recovery::flight::Lost;
use crate::recovery::probe::Probe;
use crate::sender::{Moment, Phase, Sender};

/// Packets may be reordered by the shortest round-trip time divided by this number (RFC 8985,
/// section 6.2, step 4).
const REORDERING_SHARE: u64 = 4;

impl Rack {
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

#[inline]
pub(super) fn find_lost<F>(sender: &mut Sender, moment: &Moment<F>) -> Lost {
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
pub(super) fn begin_recovery<F>(sender: &mut Sender, moment: &Moment<F>, found: Lost) {
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
}
