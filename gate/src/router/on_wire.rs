//! The wire behind a link, with bounded room: bursts slower than the link would fill it without end.

use sluice_link::{Clock, Ticks};
use sluice_queue::Packet;
use sluice_wire::{Wire, WireTally};

use crate::settings::{LEAST_BYTES, LinkSettings};

/// Packets that a wire takes in any case: those that netem holds if nothing else is said.
const LEAST_PACKETS: u64 = 1000;
/// Their bytes.
const LEAST_ROOM_BYTES: u64 = LEAST_PACKETS * 1500;

/// Room for packets that have left the queue, both in number and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Greatest number of packets, should all have the least length.
    pub packets: u64,
    /// Greatest sum of their lengths.
    pub bytes: u64,
}

impl Room {
    /// Returns the room of the link's delay.
    pub fn on_link(link: &LinkSettings) -> Self {
        Self::sent_in(link, link.delay_ns)
    }

    /// Returns the room of its wire; none if it has no wire.
    pub fn on_wire(link: &LinkSettings) -> Self {
        let Some(plan) = &link.wire else {
            return Self::default();
        };
        let sent = Self::sent_in(link, plan.holds_ns());
        Self {
            packets: sent.packets.max(LEAST_PACKETS),
            bytes: sent.bytes.max(LEAST_ROOM_BYTES),
        }
    }

    /// Returns room for what the link sends at most in a time.
    fn sent_in(link: &LinkSettings, time_ns: u64) -> Self {
        let bits = match link.service() {
            Some(service) => u128::from(service.most_bits(time_ns, link.rate_bps)),
            None => u128::from(link.rate_bps) * u128::from(time_ns) / 1_000_000_000,
        };
        let bytes = bits.min(1 << 50) as u64 / 8;
        Self {
            packets: bytes / (LEAST_BYTES + u64::from(link.overhead_bytes)),
            bytes,
        }
    }
}

/// A wire and the room on it.
pub struct OnWire<P> {
    wire: Wire<P>,
    room: Room,
    /// Bytes of the packets on it.
    bytes: u64,
}

impl<P: Packet> OnWire<P> {
    /// Returns a wire with so much room.
    pub fn new(wire: Wire<P>, room: Room) -> Self {
        Self {
            wire,
            room,
            bytes: 0,
        }
    }

    /// Changes the room. What is on the wire stays.
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// Takes a packet; false if it is lost, also because there is no room.
    pub fn enter(&mut self, clock: Clock, now: Ticks, packet: P) -> bool {
        let bytes = u64::from(packet.bytes());
        let is_full = self.packets() >= self.room.packets || self.bytes + bytes > self.room.bytes;
        let out = if is_full {
            self.wire.lose()
        } else {
            self.wire.enter(clock, now, packet.bytes(), packet)
        };
        if out.is_some() {
            self.bytes += bytes;
        }
        out.is_some()
    }

    /// Returns when the next packet comes out; `None` if there is none.
    pub fn due(&self) -> Option<Ticks> {
        self.wire.due()
    }

    /// Takes the next packet out.
    ///
    /// # Panics
    /// If there is none.
    pub fn leave(&mut self) -> P {
        let packet = self.wire.leave();
        self.bytes -= u64::from(packet.bytes());
        packet
    }

    /// Returns the number of packets on it.
    pub fn packets(&self) -> u64 {
        self.wire.len() as u64
    }

    /// Returns its counts so far.
    pub fn tally(&self) -> WireTally {
        self.wire.tally()
    }
}
