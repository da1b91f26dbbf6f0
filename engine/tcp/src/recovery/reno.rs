//! Reno: fast recovery that the first new ACK ends (RFC 5681, section 3.2).

use super::DUPLICATE_THRESHOLD;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Phase, Sender};

pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if ack.next > sender.una {
        if sender.phase == Phase::Recovery {
            sender.end_recovery(moment, ack);
        } else {
            sender.accept(moment, ack);
        }
    } else if sender.is_duplicate(ack) {
        on_duplicate(sender, moment);
    }
    if sender.duplicates == 0 || sender.duplicates >= DUPLICATE_THRESHOLD {
        sender.send_window(moment, u32::MAX);
    }
}

/// Counts a duplicate ACK: limited transmit, fast retransmit or inflation, in this order.
pub(crate) fn on_duplicate<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    sender.duplicates += 1;
    if sender.duplicates < DUPLICATE_THRESHOLD {
        sender.limited_transmit(moment);
    } else if sender.duplicates == DUPLICATE_THRESHOLD {
        if sender.fast_retransmit(moment) {
            sender.inflation = DUPLICATE_THRESHOLD;
        }
    } else if sender.phase == Phase::Recovery {
        sender.inflation += 1;
    }
}
