//! How long a receiver in Linux waits with ACKs for packets out of order (since 4.18;
//! `__tcp_ack_snd_check` and `tcp_compressed_ack_kick`, as in 6.18).
//!
//! The first three after the number expected has changed leave at once. Each one after them waits until
//! a timer, which the first of them starts, or until an ACK leaves for another reason. One of these is
//! a packet that moves a block of SACK to the third place (`tcp_sack_new_ofo_skb`).
//!
//! Three things are left out. The kernel may fire the timer up to 0.1 ms late, to save interrupts
//! (`tcp_comp_sack_slack_ns`). It takes the shorter of two round trips that it measures, here it is that of the
//! handshake. From 6.19 on the share of a round trip is a third
//! (`tcp_comp_sack_rtt_percent`), which makes a difference if it is below 20 ms.

use crate::config::MS;

/// ACKs that leave at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u8 = 3;

/// The most that wait for one (`tcp_comp_sack_nr`).
const MOST: u8 = 44;

/// The longest wait (`tcp_comp_sack_delay_ns`), and the part of a round trip that it is at most.
const LONGEST_NS: u64 = MS;
const RTT_SHARE: u64 = 20;

/// The state of a receiver that compresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackCompression {
    /// The number expected when duplicates were last counted from 0, and how many left since.
    next: u32,
    duplicates: u8,
    /// ACKs that wait.
    held: u8,
    /// The number expected in the last ACK.
    told: u32,
}

impl SackCompression {
    /// Takes a packet beside a gap, after which `next` is expected. Returns true if its ACK waits.
    pub fn waits(&mut self, next: u32) -> bool {
        if next > self.told + 1 || self.held >= MOST {
            return false;
        }
        if self.next != next {
            (self.next, self.duplicates) = (next, 0);
        }
        if self.duplicates < AT_ONCE {
            self.duplicates += 1;
            return false;
        }
        self.held += 1;
        true
    }

    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// An ACK leaves.
    pub fn on_ack(&mut self, next: u32) {
        (self.told, self.held) = (next, 0);
    }
}

/// Returns how long the first ACK waits, ns.
pub(crate) fn wait_ns(rtt_ns: u64) -> u64 {
    LONGEST_NS.min(rtt_ns / RTT_SHARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_leave_at_once_and_the_others_wait_for_a_timer_or_another_ack() {
        let mut sacks = SackCompression::default();
        sacks.on_ack(5);
        // 5 is missing: 6 to 12 arrive
        let waits: Vec<bool> = (6..13)
            .map(|_| {
                let waits = sacks.waits(5);
                if !waits {
                    sacks.on_ack(5);
                }
                waits
            })
            .collect();
        assert_eq!(waits, [false, false, false, true, true, true, true]);
        assert!(sacks.holds());
        sacks.on_ack(5);
        assert!(!sacks.holds());
        // the first hole is filled, and another one is behind it
        assert!(!sacks.waits(8));
    }

    #[test]
    fn at_most_44_wait_and_a_millisecond_at_most() {
        let mut sacks = SackCompression::default();
        let at_once = (0..50).filter(|_| !sacks.waits(1)).count();
        assert_eq!(at_once, 3 + 50 - 3 - 44);
        assert_eq!((wait_ns(40 * MS), wait_ns(10 * MS)), (MS, MS / 2));
    }
}
