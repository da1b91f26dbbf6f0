//! Which packets carry PSH in Linux: the last one of each write of the application (`tcp_push`,
//! `tcp_mark_push`). A receiver acknowledges it at once: the application has then read all that came
//! (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`).
//!
//! How much an application writes at a time is up to the socket. It takes data until its memory is
//! full, and asks for more when a third of that is free (`sk_stream_wait_memory`,
//! `sk_stream_write_space`). The memory grows with the window (`tcp_sndbuf_expand`). The applications
//! here keep 64 KiB unsent at most (`TCP_NOTSENT_LOWAT`), as those of the gate and the laboratory do,
//! so that no write is longer than half of the window that the receiver offers (`forced_push`).
//!
//! Sizes are in bytes, for packets of 1500 bytes. Retransmissions keep the flag (`tcp_fragment`), but
//! the end of a write is forgotten too early where packets were SACKed or lost.
//!
//! This is the rule of a host whose packets leave one by one. With segmentation offload Linux sets PSH
//! on the last packet of each burst (`__tcp_transmit_skb`); here bursts carry it where writes end.
//! BBR's socket has half as much memory again in Linux (`bbr_sndbuf_expand`); here it has not.

use std::collections::VecDeque;

use crate::config::Config;
use crate::sender::Sender;

/// Payload of a packet: 1500 bytes less headers and time stamps.
const PAYLOAD: u32 = 1448;

/// Memory for each packet of the window (twice the `per_mss` of `tcp_sndbuf_expand`), and what a packet
/// takes of it (`truesize`): as `ss -m` shows them in the gate, Linux 6.18. They depend on the drivers
/// for which a kernel is built (`LL_MAX_HEADER`).
const FOR_PACKET: u32 = 2 * 2304;
const TAKEN: u32 = PAYLOAD + 832;

/// Window for which there is memory at first (`TCP_INIT_CWND`), and the largest (`tcp_wmem`, 4 MiB),
/// packets.
const FIRST_WINDOW: u32 = 10;
const LARGEST_WINDOW: u32 = (4 << 20) / FOR_PACKET;

/// Data that may wait unsent.
const UNSENT: u32 = 64 << 10;

/// What an application has written to its socket.
#[derive(Clone, Debug)]
pub(crate) struct Writes {
    /// One past the last packet written.
    written: u32,
    /// Window, packets, for which the socket has memory.
    window: u32,
    /// The last packet of each write, of those that may be sent still.
    ends: VecDeque<u32>,
}

impl Writes {
    pub fn new(config: &Config) -> Writes {
        Writes {
            written: u32::from(config.syn),
            window: FIRST_WINDOW,
            ends: VecDeque::new(),
        }
    }

    fn memory(&self) -> u32 {
        self.window * FOR_PACKET
    }

    /// Writes as much as the socket takes of what there is before `end`. Packets before `una` are
    /// acknowledged; `next` is the next one to send.
    fn write(&mut self, una: u32, next: u32, end: u32) {
        let in_memory = una.saturating_add(self.memory().div_ceil(TAKEN));
        let unsent = next.saturating_add(UNSENT.div_ceil(PAYLOAD));
        let written = in_memory.min(unsent).min(end);
        if written > self.written {
            self.written = written;
            while self.ends.front().is_some_and(|last| *last < una) {
                self.ends.pop_front();
            }
            self.ends.push_back(written - 1);
        }
    }

    /// True if the socket asks for more.
    fn asks(&self, una: u32, next: u32) -> bool {
        let kept = u64::from(self.written - una);
        let unsent = u64::from(self.written - next);
        3 * kept * u64::from(TAKEN) <= 2 * u64::from(self.memory())
            && 2 * unsent * u64::from(PAYLOAD) < u64::from(UNSENT)
    }

    /// The window was not filled: memory for the data limited it.
    fn expand(&mut self, window: u32) {
        self.window = self.window.max(window).min(LARGEST_WINDOW);
    }

    /// True if a packet carries PSH.
    fn pushes(&self, seq: u32) -> bool {
        let later = self.ends.iter().rev().take_while(|last| **last >= seq);
        later.last() == Some(&seq)
    }
}

impl Sender {
    /// Returns whether a data packet that is sent now carries PSH.
    #[inline]
    pub(crate) fn pushes(&mut self, seq: u32) -> bool {
        let Some(rack) = &mut self.rack else {
            return false;
        };
        let Some(writes) = &mut rack.writes else {
            return false;
        };
        if seq >= writes.written {
            // the window is open and all that was written is sent
            writes.expand(self.congestion.cwnd() as u32);
            // of packets that arrived out of order only some memory is in use (`tcp_shifted_skb`)
            let in_use = rack.flight.flying().min(writes.window);
            writes.write(seq.saturating_sub(in_use), seq, self.end);
        }
        writes.pushes(seq)
    }

    /// The application has new data. Before the connection is open it writes none.
    pub(crate) fn write_new(&mut self, config: &Config) {
        if self.una >= u32::from(config.syn)
            && let Some(rack) = &mut self.rack
            && let Some(writes) = &mut rack.writes
        {
            writes.write(self.una, self.next, self.end);
        }
    }

    /// After an ACK the application writes more if it has more and the socket asks for it
    /// (`tcp_check_space`).
    #[inline]
    pub(crate) fn write_more(&mut self) {
        let Some(rack) = &mut self.rack else { return };
        let Some(writes) = &mut rack.writes else {
            return;
        };
        if writes.written >= self.end {
            return;
        }
        let window = self.congestion.cwnd() as u32;
        if rack.flight.flying() < window {
            writes.expand(window);
        }
        if writes.asks(self.una, self.next) {
            writes.write(self.una, self.next, self.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Variant;

    /// Sizes of the first write and of the later ones, while a window of packets is in flight that is
    /// acknowledged one by one.
    fn sizes(window: u32) -> (u32, Vec<u32>) {
        let mut writes = Writes::new(&Config::linux(Variant::Rack));
        writes.expand(window);
        writes.write(1, 1, u32::MAX);
        let (first, mut found) = (writes.written - 1, vec![]);
        for una in 1..200 {
            let before = writes.written;
            let next = (una + window).min(before);
            if writes.asks(una, next) {
                writes.write(una, next, u32::MAX);
                assert!(writes.pushes(writes.written - 1) && !writes.pushes(writes.written - 2));
                found.push(writes.written - before);
            }
        }
        (first, found)
    }

    #[test]
    fn a_write_fills_a_third_of_the_memory_or_half_of_what_may_be_unsent() {
        // Linux 6.18, packets from one PSH to the next: mostly 8 where windows were small from the
        // start, 11 where slow start took them to 14 or 15, 24 with those of a single flow
        for (window, first, later) in [(10, 21, 8), (14, 29, 11), (15, 31, 11), (80, 46, 24)] {
            let (found, rest) = sizes(window);
            assert_eq!(found, first, "{window}");
            assert!(rest.len() > 4, "{window}: {rest:?}");
            // the first two writes may be to fill the window
            let settled = rest[2..].iter().all(|size| *size == later);
            assert!(settled, "{window}: {rest:?}");
        }
    }

    #[test]
    fn an_application_that_has_no_more_ends_its_write() {
        let mut writes = Writes::new(&Config::linux(Variant::Rack));
        writes.write(1, 1, 6);
        writes.write(4, 6, 9);
        let pushed: Vec<u32> = (1..12).filter(|seq| writes.pushes(*seq)).collect();
        assert_eq!(pushed, [5, 8]);
        // what is acknowledged is forgotten
        writes.write(9, 9, 12);
        assert_eq!(writes.ends, [11]);
    }
}
