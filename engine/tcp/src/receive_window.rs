//! The window that a receiver announces, and how it grows in Linux.
//!
//! It limits no sender here. But as long as it grows, Linux delays no ACK (`tcp_grow_window`). So
//! most packets of a sender in slow start, whose window doubles, are acknowledged one by one.
//!
//! Sizes are in bytes, for packets of 1500 bytes; the memory that they need is a bit larger
//! (`scaling_ratio`).

use crate::timers::jiffies;

/// Payload of a packet: 1500 bytes less headers and time stamps.
const PAYLOAD: u64 = 1448;

/// First window announced (`tcp_select_initial_window`).
const FIRST: u64 = 65_535;

/// Payload that fits into the memory at first (131,072 bytes, `tcp_rmem`), and at most (6 MiB).
const LEAST: u64 = 81_920;
const MOST: u64 = 3_932_160;

/// Initial value for the bytes read in a round trip (`tcp_init_buffer_space`).
const FIRST_READ: u64 = 10 * PAYLOAD;

/// The announced window, and the memory that limits it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveWindow {
    /// Bytes that may be announced (`rcv_ssthresh`), and bytes that fit into the memory
    /// (`window_clamp`).
    announced: u64,
    holds: u64,
    /// Most bytes that were read in a round trip (`rcvq_space.space`).
    read: u64,
    /// The measured round trip: its start, jiffies, and its first packet.
    since: u64,
    from: u32,
    /// True if a packet was missing in that round trip.
    gap: bool,
}

impl ReceiveWindow {
    /// Returns the window of a receiver whose first data packet, `seq`, has just arrived.
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

    /// Counts a packet; returns true if it lets the window grow.
    pub fn grows(&mut self) -> bool {
        let grows = self.announced < self.holds;
        self.announced = (self.announced + 2 * PAYLOAD).min(self.holds);
        grows
    }

    /// The application has read all packets before `next`; `gap` is true if a packet is missing
    /// after them. After a round trip of `rtt` jiffies the memory grows to 2 R (1 + 2 (R - r) / r),
    /// where R bytes were read in this round trip and r is the largest number before
    /// (`tcp_rcv_space_adjust`).
    ///
    /// Round trips with a gap are left out. Linux counts them as well, but knows the present
    /// round-trip time, from time stamps. With the round-trip time of the handshake, too many bytes
    /// would seem to be read in one round trip.
    pub fn on_read(&mut self, now_ns: u64, rtt: u64, next: u32, gap: bool) {
        let now = jiffies(now_ns);
        self.gap |= gap;
        if now - self.since < rtt {
            return;
        }
        // the first packet may come before an earlier one, which is then missing
        let read = u64::from(next.saturating_sub(self.from)) * PAYLOAD;
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
