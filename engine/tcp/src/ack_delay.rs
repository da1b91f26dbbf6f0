//! When a receiver acknowledges in Linux.
//!
//! It delays an ACK for as long as it expects to wait for the next packet (`tcp_event_data_recv`,
//! `tcp_send_delayed_ack`). At its start, and after a pause, it assumes that the sender is in slow
//! start, and delays no ACK for a while (`tcp_incr_quickack`). Packets out of order do not count as
//! arrivals, so that each loss whose repair takes long is followed by quick ACKs. It also delays no
//! ACK while the window that it announces grows (`receive_window`).

use crate::config::Config;
use crate::receive_window::ReceiveWindow;
use crate::sack_compression::{self, SackCompression};
use crate::segment::Segment;
use crate::timers::{JIFFY_NS, jiffies};

/// Quick ACKs in a row (`TCP_MAX_QUICKACKS`).
const AT_A_TIME: u8 = 16;

/// Quick ACKs from a mark on, because the sender's window may be small (`tcp_ecn_check_ce`).
const AFTER_MARK: u8 = 2;

/// Longest time that an ACK is delayed, jiffies: one less than the least time-out
/// (`tcp_delack_max`).
const LONGEST: u64 = 49;

/// What a receiver remembers about the times of packets. Times are in jiffies unless named
/// otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckDelay {
    /// Quick ACKs left.
    quick: u8,
    /// True if an ECN-capable packet has arrived.
    capable: bool,
    /// When the last packet in order arrived.
    last: u64,
    /// Expected time to the next packet (`icsk_ack.ato`), and its first and least value.
    wait: u64,
    least: u64,
    handshake: Option<Handshake>,
    window: Option<ReceiveWindow>,
    /// When the SYN arrived, ns.
    opened_ns: u64,
    pub sacks: SackCompression,
}

/// What a receiver knows about the path, from the handshake alone.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// Round-trip time, jiffies.
    rtt: u64,
    rtt_ns: u64,
    /// Time-out, jiffies; a longer gap between packets is a pause.
    pause: u64,
}

impl Handshake {
    /// Takes the first sample by RFC 6298, section 2.2: four deviations are two round trips. A
    /// handshake that took as long as the SYN's time-out gives no sample, because a packet was lost
    /// (Karn's algorithm).
    fn of(config: &Config, rtt_ns: u64) -> Handshake {
        if rtt_ns >= config.initial_rto_ns {
            return Handshake {
                rtt: LONGEST,
                rtt_ns: LONGEST * JIFFY_NS,
                pause: jiffies(config.initial_rto_ns),
            };
        }
        Handshake {
            rtt: jiffies(rtt_ns),
            rtt_ns,
            pause: jiffies(rtt_ns + (2 * rtt_ns).max(config.min_rto_ns)),
        }
    }
}

impl AckDelay {
    /// Takes a packet, before which `next` was expected. A packet that arrives again is acknowledged at
    /// once, as the sender may lack ACKs (`tcp_data_queue`).
    pub fn on_segment(&mut self, config: &Config, now_ns: u64, segment: &Segment, next: u32) {
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
        if segment.seq == next {
            self.expect_next(now - self.last);
            self.last = now;
        } else if segment.seq < next {
            self.quick = AT_A_TIME;
        }
        if self.window.as_mut().is_some_and(ReceiveWindow::grows) {
            self.quick |= 1;
        }
    }

    /// The application has read all packets before `next`; `gap` is true if a packet is missing
    /// after them.
    pub fn on_read(&mut self, now_ns: u64, next: u32, gap: bool) {
        if let (Some(window), Some(known)) = (&mut self.window, &self.handshake) {
            window.on_read(now_ns, known.rtt, next, gap);
        }
    }

    /// Takes the time between two packets in order, jiffies.
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

    /// Takes the ECN codepoint of a packet; `is_news` is true for a mark that the sender does not
    /// know of. A packet that is not ECN-capable, after others that were, is probably a
    /// retransmission.
    pub fn on_codepoint(&mut self, segment: &Segment, is_news: bool) {
        if is_news || self.capable && !segment.ecn.is_capable() {
            self.quick = self.quick.max(AFTER_MARK);
        }
        self.capable |= segment.ecn.is_capable();
    }

    /// True if the ACK of this packet is sent at once.
    pub fn acks_at_once(&self) -> bool {
        self.quick > 0
    }

    /// Returns how long the ACK is delayed, ns: at most a round trip, or the least delay if that is
    /// longer.
    pub fn wait_ns(&self) -> u64 {
        let rtt = self.handshake.map_or(0, |known| known.rtt);
        let most = rtt.max(self.least).min(LONGEST);
        self.wait.min(most) * JIFFY_NS
    }

    /// Returns how long the first compressed ACK waits, ns.
    pub fn sack_wait_ns(&self) -> u64 {
        sack_compression::wait_ns(self.handshake.map_or(0, |known| known.rtt_ns))
    }

    /// The delay ended before another packet came (`tcp_delack_timer_handler`).
    pub fn on_timer(&mut self) {
        self.wait = (2 * self.wait).min(self.pause());
    }

    /// An ACK was sent. After the last quick ACK the wait is the shortest one
    /// (`tcp_dec_quickack_mode`).
    pub fn on_ack(&mut self) {
        if self.quick == 1 {
            self.wait = self.least;
        }
        self.quick = self.quick.saturating_sub(1);
    }
}
