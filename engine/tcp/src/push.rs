//! Which packets carry PSH in Linux: the last one of each write of the application (`tcp_push`,
//! `tcp_mark_push`). A receiver acknowledges it at once: the application has then read all that came
//! (`tcp_measure_rcv_mss`, `tcp_cleanup_rbuf`). Where packets leave in bursts that the network card
//! cuts, the last one of each burst carries it (`__tcp_transmit_skb`), and the last that the
//! application has: a write that ends with data unsent is continued by the next one
//! (`tcp_sendmsg_locked`).
//!
//! How much an application writes at a time is up to the socket. It takes data until its memory is
//! full, and asks for more when a third of that is free (`sk_stream_wait_memory`,
//! `sk_stream_write_space`). The memory grows with the window (`tcp_sndbuf_expand`). The applications
//! here keep 64 KiB unsent at most (`TCP_NOTSENT_LOWAT`), as those of the gate and the laboratory do.
//! In a long write a packet carries PSH, too, when half of the receiver's window was written since the
//! last one (`forced_push`).
//!
//! In Linux a full memory also holds packets back that the window allows. Here it does not. What else
//! is not as there: an application of limited rate writes as soon as there is room, where one that
//! waits for memory would wait for a third of it; the first ten packets of a connection that paces are
//! no bursts; and the receiver's window ends none.
//!
//! Sizes are in bytes, for packets of 1500 bytes with time stamps, whatever the size is that the network
//! world gives them; those of accurate feedback have 12 bytes less in Linux. Retransmissions keep the flag
//! (`tcp_fragment`), but for the last packets of bursts.

use std::collections::VecDeque;

use crate::config::Config;
use crate::sender::Sender;

/// Payload of a packet: 1500 bytes less headers and time stamps.
const PAYLOAD: u32 = 1448;

/// Memory for a packet of the window, times a factor of the congestion control (`per_mss` of
/// `tcp_sndbuf_expand`), and what a packet takes of it besides its payload (`truesize`): as `ss -m`
/// shows them in the gate, Linux 6.18. They depend on the drivers for which a kernel is built
/// (`LL_MAX_HEADER`): in the laboratory's 7.3 the latter is 896.
const FOR_PACKET: u32 = 2304;
const OVERHEAD: u32 = 832;
const TAKEN: u32 = PAYLOAD + OVERHEAD;

/// The most memory (`tcp_wmem`).
const MOST_MEMORY: u32 = 4 << 20;

/// Window for which there is memory at first (`TCP_INIT_CWND`), packets.
const FIRST_WINDOW: u32 = 10;

/// Data that may wait unsent.
const UNSENT: u32 = 64 << 10;

/// What an application has written to its socket.
#[derive(Clone, Debug)]
pub(crate) struct Writes {
    /// One past the last packet written.
    written: u32,
    /// Window, packets, for which the socket has memory.
    window: u32,
    /// Memory for each packet of the window.
    for_packet: u32,
    /// Most packets from one PSH to the next.
    longest: u32,
    /// The packets with PSH, of those that may be sent still, in order.
    ends: VecDeque<u32>,
}

/// How far a sender is.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// First packet not acknowledged, and how many after it have arrived (SACK).
    una: u32,
    sacked: u32,
    /// Next packet to send.
    next: u32,
    /// One past the last packet that the application has.
    end: u32,
}

impl Writes {
    pub fn new(config: &Config) -> Writes {
        Writes {
            written: u32::from(config.syn),
            window: FIRST_WINDOW,
            for_packet: FOR_PACKET * config.congestion_control.memory_factor(),
            longest: config.receiver_window / 2 + 1,
            ends: VecDeque::new(),
        }
    }

    fn memory(&self) -> u32 {
        let memory = self.window.saturating_mul(self.for_packet);
        memory.min(MOST_MEMORY)
    }

    /// Returns the memory in use. Packets keep theirs until they are acknowledged. The payload of those
    /// that arrived out of order is kept in fewer buffers (`tcp_shift_skb_data`).
    fn kept(&self, at: Progress) -> u64 {
        u64::from(self.written - at.una) * u64::from(TAKEN)
            - u64::from(at.sacked) * u64::from(OVERHEAD)
    }

    /// Writes as much of what the application has as the socket takes, with `room` in its memory.
    fn write(&mut self, at: Progress, room: u64) {
        let packets = room.div_ceil(u64::from(TAKEN)) as u32;
        let in_memory = self.written.saturating_add(packets);
        let unsent = at.next.saturating_add(UNSENT.div_ceil(PAYLOAD));
        let end = in_memory.min(unsent).min(at.end);
        if end > self.written {
            let acknowledged = self.ends.partition_point(|last| *last < at.una);
            self.ends.drain(..acknowledged);
        }
        while self.written < end {
            self.written = self.written.saturating_add(self.longest).min(end);
            self.ends.push_back(self.written - 1);
        }
    }

    /// Writes what the socket has memory for.
    fn fill(&mut self, at: Progress) {
        let room = u64::from(self.memory()).saturating_sub(self.kept(at));
        self.write(at, room);
    }

    /// The next packet leaves and was not written. If the memory is full, it would wait in Linux until a
    /// third is free: this third is written.
    fn write_next(&mut self, at: Progress) {
        let memory = u64::from(self.memory());
        let room = memory.saturating_sub(self.kept(at));
        self.write(at, room.max(memory / 3));
    }

    /// True if the socket asks for more.
    fn asks(&self, at: Progress) -> bool {
        let unsent = u64::from(self.written - at.next);
        3 * self.kept(at) <= 2 * u64::from(self.memory())
            && 2 * unsent * u64::from(PAYLOAD) < u64::from(UNSENT)
    }

    /// The window was not filled: memory for the data limited it.
    fn expand(&mut self, window: u32) {
        self.window = self.window.max(window);
    }

    /// True if a packet ends a write. Most are of the last two writes: a search from the back takes
    /// fewer instructions than a binary one.
    fn ends_write(&self, seq: u32) -> bool {
        let mut ends = self.ends.iter().rev();
        ends.find(|last| **last <= seq) == Some(&seq)
    }

    /// The application takes back what is not sent.
    fn take_back(&mut self, max: u32) {
        self.written = self.written.min(max);
        let sent = self.ends.partition_point(|last| *last < max);
        self.ends.truncate(sent);
    }
}

impl Sender {
    fn progress(&self, sacked: u32) -> Progress {
        Progress {
            una: self.una,
            sacked,
            next: self.next,
            end: self.end,
        }
    }

    fn writes(&mut self) -> Option<&mut Writes> {
        self.rack.as_mut()?.writes.as_mut()
    }

    /// Returns whether a data packet that is sent now carries PSH.
    #[inline]
    pub(crate) fn pushes(&mut self, config: &Config, now_ns: u64, seq: u32) -> bool {
        let Some(writes) = self.writes() else {
            return false;
        };
        if seq >= writes.written {
            self.write_next();
        }
        if self.burst(config) > 1 {
            // no write continues the packet that ends all data
            return seq + 1 == self.end || self.ends_burst(now_ns);
        }
        self.writes().is_some_and(|writes| writes.ends_write(seq))
    }

    /// All that was written is sent, and the window is open.
    #[inline(never)]
    fn write_next(&mut self) {
        let Some(rack) = &self.rack else { return };
        let (window, at) = (
            self.congestion.cwnd() as u32,
            self.progress(rack.flight.sacked()),
        );
        if let Some(writes) = self.writes() {
            writes.expand(window);
            writes.write_next(at);
        }
    }

    /// The application has new data. Before the connection is open it writes none.
    pub(crate) fn write_new(&mut self, config: &Config) {
        if self.una < u32::from(config.syn) {
            return;
        }
        let Some(rack) = &self.rack else { return };
        let at = self.progress(rack.flight.sacked());
        if let Some(writes) = self.writes() {
            writes.fill(at);
        }
    }

    /// After an ACK the application writes more if it has more and the socket asks for it
    /// (`tcp_check_space`).
    #[inline]
    pub(crate) fn write_more(&mut self) {
        let (window, end) = (self.congestion.cwnd() as u32, self.end);
        let Some(rack) = &self.rack else { return };
        let (flying, at) = (rack.flight.flying(), self.progress(rack.flight.sacked()));
        let Some(writes) = self.writes() else { return };
        if writes.written >= end {
            return;
        }
        if flying < window {
            writes.expand(window);
        }
        if writes.asks(at) {
            writes.fill(at);
        }
    }

    /// The application ends: what was written and not sent is no longer there.
    pub(crate) fn ends_writing(&mut self) {
        let max = self.max;
        if let Some(writes) = self.writes() {
            writes.take_back(max);
        }
    }
}

#[cfg(test)]
#[path = "push_tests.rs"]
mod tests;
