//! The window that a receiver announces, as Linux lets it grow.
//!
//! No sender here is held back by it: but as long as it grows, Linux holds back no ACK
//! (`tcp_grow_window`). So most packets of a sender in slow start, whose window doubles, are
//! acknowledged one by one.
//!
//! Sizes are bytes, for packets of 1500 bytes; memory for them is a bit larger (`scaling_ratio`).

use crate::timers::jiffies;

/// What a packet carries: 1500 bytes less headers and time stamps.
const PAYLOAD: u64 = 1448;

/// Announced at first (`tcp_select_initial_window`).
const FIRST: u64 = 65_535;

/// What the memory at first holds (131,072 bytes, `tcp_rmem`), and at most (6 MiB).
const LEAST: u64 = 81_920;
const MOST: u64 = 3_932_160;

/// What is read in a round trip at first (`tcp_init_buffer_space`).
const FIRST_READ: u64 = 10 * PAYLOAD;

/// The window, and what it may grow to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    /// What may be announced (`rcv_ssthresh`), and what the memory holds (`window_clamp`).
    announced: u64,
    holds: u64,
    /// The most that was read in a round trip (`rcvq_space.space`).
    read: u64,
    /// The round trip that is measured: when it began, jiffies, and with which packet.
    since: u64,
    from: u32,
    /// Whether a packet was missing in it.
    gap: bool,
}

impl ReceiveWindow {
    /// One whose first packet came.
    pub fn begin(now_ns: u64, seq: u32) -> ReceiveWindow {
        ReceiveWindow {
            announced: FIRST,
            holds: LEAST,
            read: FIRST_READ,
            since: jiffies(now_ns),
            from: seq,
            gap: false,
        }
    }

    /// Takes a packet; returns whether the window grows by it.
    pub fn grows(&mut self) -> bool {
        let grows = self.announced < self.holds;
        self.announced = (self.announced + 2 * PAYLOAD).min(self.holds);
        grows
    }

    /// All before packet `next` was read; there is a `gap` behind it or none. After a round trip, of
    /// `rtt` jiffies, the memory grows to twice what was read in it, and by twice as much again as the
    /// sender seems to gain (`tcp_rcv_space_adjust`).
    ///
    /// Round trips with a gap are left out. Linux counts them as well, but knows the round trip of the
    /// moment, from time stamps; with that of the handshake too much would seem to be read.
    pub fn on_read(&mut self, now_ns: u64, rtt: u64, next: u32, gap: bool) {
        let now = jiffies(now_ns);
        self.gap |= gap;
        if now - self.since < rtt {
            return;
        }
        let read = u64::from(next - self.from) * PAYLOAD;
        if read > self.read && !self.gap {
            let window = 2 * read;
            let gain = window.saturating_mul(read - self.read) / self.read;
            let holds = window.saturating_add(gain).saturating_add(gain);
            self.holds = self.holds.max(holds.min(MOST));
            self.read = read;
        }
        (self.since, self.from, self.gap) = (now, next, gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_with_a_sender_in_slow_start() {
        // Linux 7.3: of flights of 10, 20, 40, and 80 packets, 6, 0, 25 and 68 let the window grow
        let mut window = ReceiveWindow::begin(0, 1);
        let mut next = 1;
        let grown = [10, 20, 40, 80].map(|flight| {
            let start_ns = 100_000_000 * (flight / 10_u64).ilog2() as u64;
            let mut grown = 0;
            for _ in 0..flight {
                grown += u32::from(window.grows());
                next += 1;
                window.on_read(start_ns, 25, next, false);
            }
            grown
        });
        assert_eq!(grown, [6, 0, 25, 68]);
    }
}
