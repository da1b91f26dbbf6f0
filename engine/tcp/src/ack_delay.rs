//! When a receiver acknowledges, as Linux has it.
//!
//! It holds back an ACK for as long as the next packet is expected to take (`tcp_event_data_recv`,
//! `tcp_send_delayed_ack`). At its start, and after a pause, it takes the sender to be in slow start,
//! and holds back none for a while (`tcp_incr_quickack`). Packets out of order are not counted among
//! those that come: so each loss of which the repair takes long is followed by quick ACKs. Neither does
//! it hold back one while the window grows that it announces (`receive_window`).

use crate::config::Config;
use crate::receive_window::ReceiveWindow;
use crate::segment::Segment;
use crate::timers::{JIFFY_NS, jiffies};

/// Quick ACKs at a time (`TCP_MAX_QUICKACKS`).
const AT_A_TIME: u8 = 16;

/// How many from a mark on, as the sender's window may be small (`tcp_ecn_check_ce`).
const AFTER_MARK: u8 = 2;

/// Longest time that an ACK is held back, jiffies: one less than the least time-out
/// (`tcp_delack_max`).
const LONGEST: u64 = 49;

/// What a receiver keeps of the packets' times. All are jiffies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckDelay {
    /// Quick ACKs left.
    quick: u8,
    /// A packet came that could be marked.
    capable: bool,
    /// When the last packet in order came.
    last: u64,
    /// How long the next one may take (`icsk_ack.ato`), and what that is at first.
    wait: u64,
    least: u64,
    handshake: Option<Handshake>,
    window: Option<ReceiveWindow>,
    /// When the SYN came, ns.
    opened_ns: u64,
}

/// What a receiver knows of the path: the handshake alone.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// Round-trip time, jiffies.
    rtt: u64,
    /// Time-out, jiffies: what is longer is a pause.
    pause: u64,
}

impl Handshake {
    /// The first sample by RFC 6298, section 2.2: four deviations are two round trips. One that took
    /// longer than the SYN's time-out tells nothing: something was lost (Karn's algorithm).
    fn of(config: &Config, rtt_ns: u64) -> Handshake {
        if rtt_ns >= config.initial_rto_ns {
            return Handshake {
                rtt: LONGEST,
                pause: jiffies(config.initial_rto_ns),
            };
        }
        Handshake {
            rtt: jiffies(rtt_ns),
            pause: jiffies(rtt_ns + (2 * rtt_ns).max(config.min_rto_ns)),
        }
    }
}

impl AckDelay {
    /// Takes a packet, which is `expected` or out of order.
    pub fn on_segment(&mut self, config: &Config, now_ns: u64, segment: &Segment, expected: bool) {
        if segment.syn {
            self.opened_ns = now_ns;
            return;
        }
        let now = jiffies(now_ns);
        if self.handshake.is_none() {
            self.handshake = Some(Handshake::of(config, now_ns - self.opened_ns));
            self.least = jiffies(config.delayed_ack_ns.unwrap_or(0));
            (self.quick, self.wait, self.last) = (AT_A_TIME, self.least, now);
            self.window = Some(ReceiveWindow::begin(now_ns, segment.seq));
        }
        if expected {
            self.expect_next(now - self.last);
            self.last = now;
        }
        if self.window.as_mut().is_some_and(ReceiveWindow::grows) {
            self.quick |= 1;
        }
    }

    /// All before packet `next` was read.
    pub fn on_read(&mut self, now_ns: u64, next: u32, gap: bool) {
        if let (Some(window), Some(known)) = (&mut self.window, &self.handshake) {
            window.on_read(now_ns, known.rtt, next, gap);
        }
    }

    /// Takes the time between two packets in order.
    fn expect_next(&mut self, apart: u64) {
        let pause = self.pause();
        if apart <= self.least / 2 {
            self.wait = self.wait / 2 + self.least / 2;
        } else if apart < self.wait {
            self.wait = (self.wait / 2 + apart).min(pause);
        } else if apart > pause {
            self.quick = AT_A_TIME;
        }
    }

    fn pause(&self) -> u64 {
        self.handshake.map_or(u64::MAX, |known| known.pause)
    }

    /// Takes the ECN codepoint of a packet, and whether it is a mark of which the sender does not
    /// know. A packet that cannot be marked, after others that could, was probably sent again.
    pub fn on_codepoint(&mut self, segment: &Segment, is_news: bool) {
        if is_news || self.capable && !segment.ect {
            self.quick = self.quick.max(AFTER_MARK);
        }
        self.capable |= segment.ect;
    }

    /// Whether the ACK of this packet goes at once.
    pub fn acks_at_once(&self) -> bool {
        self.quick > 0
    }

    /// How long the ACK is held back, ns: a round trip at most.
    pub fn wait_ns(&self) -> u64 {
        let rtt = self.handshake.map_or(0, |known| known.rtt);
        let most = rtt.max(self.least).min(LONGEST);
        self.wait.min(most) * JIFFY_NS
    }

    /// No other packet came in time (`tcp_delack_timer_handler`).
    pub fn on_timer(&mut self) {
        self.wait = (2 * self.wait).min(self.pause());
    }

    /// An ACK was sent. The last quick one leaves the shortest wait (`tcp_dec_quickack_mode`).
    pub fn on_ack(&mut self) {
        if self.quick == 1 {
            self.wait = self.least;
        }
        self.quick = self.quick.saturating_sub(1);
    }
}
