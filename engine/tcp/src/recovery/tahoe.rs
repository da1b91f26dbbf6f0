//! Tahoe: fast retransmit, then slow start from the lost packet (Jacobson 1988).

use super::DUPLICATE_THRESHOLD;
use crate::segment::{Ack, Segment};
use crate::sender::{Moment, Sender};

pub(crate) fn on_ack<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>, ack: &Ack) {
    if ack.next > sender.una {
        sender.accept(moment, ack);
    } else if sender.is_duplicate(ack) {
        sender.duplicates += 1;
        if sender.duplicates == DUPLICATE_THRESHOLD {
            restart(sender, moment);
        } else if sender.duplicates < DUPLICATE_THRESHOLD {
            sender.limited_transmit(moment);
        }
    }
    sender.send_window(moment, u32::MAX);
}

/// Goes back to the first packet not acknowledged, with a window of one.
fn restart<F: FnMut(Segment)>(sender: &mut Sender, moment: &mut Moment<F>) {
    if sender.enter_recovery(moment.config, false) {
        sender.reduced = moment.config.ecn;
        sender.go_back(moment);
    }
}
