//! NewReno: fast recovery until all packets that were in flight at the loss are acknowledged (RFC
//! 6582).

use super::{DUPLICATE_THRESHOLD, reno};
use crate::congestion::Event;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Phase, Sender};

/// Most packets that one ACK releases during recovery (ns-2; RFC 6582, section 3.2, step 3, asks
/// for a limit of that kind).
const RECOVERY_BURST: u32 = 2;

pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if ack.next > sender.una {
        if sender.phase != Phase::Recovery {
            sender.accept(moment, ack);
        } else if ack.next >= sender.recover {
            sender.end_recovery(moment, ack);
        } else {
            on_partial_ack(sender, moment, ack);
        }
    } else if sender.is_duplicate(ack) {
        reno::on_duplicate(sender, moment);
    }
    if sender.duplicates == 0 {
        sender.send_window(moment, u32::MAX);
    } else if sender.duplicates >= DUPLICATE_THRESHOLD {
        sender.send_window(moment, RECOVERY_BURST);
    }
}

/// Retransmits the next hole and deflates the window by what was acknowledged, less one (RFC 6582,
/// section 3.2, step 3, partial acknowledgements).
fn on_partial_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if !sender.partial_seen {
        // The "impatient" variant: only the first partial ACK restarts the timer.
        sender.partial_seen = true;
        sender.restart_timer(moment);
    }
    let acknowledged = ack.next - sender.una;
    if sender.inflation > acknowledged {
        sender.inflation -= acknowledged - 1;
    } else {
        let packets = acknowledged - sender.inflation;
        sender
            .congestion
            .on_event(moment.config, Event::PartialAck { packets });
        sender.inflation = 1;
    }
    sender.advance_in_recovery(ack);
    sender.report_ack(moment, ack, acknowledged, false);
    sender.transmit(moment, sender.una);
}
