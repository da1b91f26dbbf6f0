//! Quick ACKs, as Linux has them: at its start, and after a pause, a receiver takes the sender to
//! be in slow start, and holds back no ACK for a while (`tcp_event_data_recv`, `tcp_incr_quickack`).
//!
//! Packets out of order do not end a pause: so each loss of which the repair takes long is followed
//! by them.

use crate::config::Config;
use crate::segment::Segment;

/// How many at a time (`TCP_MAX_QUICKACKS`).
const AT_A_TIME: u8 = 16;

/// How many from a mark on, as the sender's window may be small (`tcp_ecn_check_ce`).
const AFTER_MARK: u8 = 2;

/// What a receiver keeps for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickAcks {
    /// How many are left.
    left: u8,
    /// When the SYN came, and when the last packet in order, ns.
    opened_ns: u64,
    last_ns: u64,
    /// The receiver's time-out, known from the handshake alone, ns: what is longer is a pause.
    pause_ns: Option<u64>,
    /// A packet came that could be marked.
    capable: bool,
}

impl QuickAcks {
    /// Takes a packet, which is `expected` or out of order.
    pub fn on_segment(&mut self, config: &Config, now_ns: u64, segment: &Segment, expected: bool) {
        if segment.syn {
            self.opened_ns = now_ns;
            return;
        }
        let pause_ns = *self.pause_ns.get_or_insert_with(|| {
            self.left = AT_A_TIME;
            // the first sample by RFC 6298, section 2.2: four deviations are two round trips
            let rtt_ns = now_ns - self.opened_ns;
            rtt_ns + (2 * rtt_ns).max(config.min_rto_ns)
        });
        if expected {
            if now_ns - self.last_ns > pause_ns {
                self.left = AT_A_TIME;
            }
            self.last_ns = now_ns;
        }
    }

    /// Takes the ECN codepoint of a packet, and whether it is a mark of which the sender does not
    /// know. A packet that cannot be marked, after others that could, was probably sent again.
    pub fn on_codepoint(&mut self, segment: &Segment, is_news: bool) {
        if is_news || self.capable && !segment.ect {
            self.left = self.left.max(AFTER_MARK);
        }
        self.capable |= segment.ect;
    }

    /// Whether the ACK of this packet goes at once.
    pub fn are_left(&self) -> bool {
        self.left > 0
    }

    /// An ACK was sent.
    pub fn on_ack(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}
