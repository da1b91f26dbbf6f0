//! What is kept of packets in transit outside of them, since most packets have none of it.

use sluice_scream::Feedback;
use sluice_tcp::{Ack, Block};

use crate::packet::{Kind, Packet};

/// The options of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// SACK blocks; unused ones are empty.
    pub blocks: [Block; 3],
    /// Marked packets ([`Ack::marked`]).
    pub marked: Option<u32>,
}

impl Options {
    /// Returns those of an ACK, if it has any.
    #[inline]
    pub fn of(ack: &Ack) -> Option<Self> {
        let has_none = ack.sack[0].is_empty() && ack.marked.is_none();
        (!has_none).then_some(Self {
            blocks: ack.sack,
            marked: ack.marked,
        })
    }
}

/// Values by their place; place 0 stands for "none".
pub struct Slab<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy + Default> Default for Slab<T> {
    fn default() -> Self {
        Self {
            values: vec![T::default()],
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Slab<T> {
    /// Stores a value and returns its place.
    #[inline]
    pub fn keep(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.values[place as usize] = value;
                place
            }
            None => {
                self.values.push(value);
                self.values.len() as u32 - 1
            }
        }
    }

    /// Returns the value at a place.
    pub fn get(&self, place: u32) -> T {
        self.values[place as usize]
    }

    /// Returns the value at a place and frees it.
    #[inline]
    pub fn take(&mut self, place: u32) -> T {
        self.forget(place);
        self.values[place as usize]
    }

    /// Frees a place.
    #[inline]
    pub fn forget(&mut self, place: u32) {
        if place != 0 {
            self.free.push(place);
        }
    }
}

/// What is kept outside of packets, at the place `Packet::aside`: the options of ACKs, what
/// feedback says, and, where flows are counted by class, when data packets and datagrams were sent, ns.
#[derive(Default)]
pub struct Aside {
    pub options: Slab<Options>,
    pub feedback: Slab<Feedback>,
    pub sent_ns: Slab<u64>,
    /// SYNs of senders under way; right only where all data is acknowledged ahead of time.
    pub syns: u32,
}

impl Aside {
    /// Returns the options of a packet.
    pub fn options(&self, packet: &Packet) -> Options {
        match packet.kind {
            Kind::Ack => self.options.get(packet.aside),
            Kind::Data | Kind::Datagram | Kind::Feedback => Options::default(),
        }
    }

    /// Frees what is kept of a packet that is lost.
    #[inline]
    pub fn forget(&mut self, packet: &Packet) {
        match packet.kind {
            Kind::Ack => self.options.forget(packet.aside),
            Kind::Feedback => self.feedback.forget(packet.aside),
            Kind::Data | Kind::Datagram => {
                self.sent_ns.forget(packet.aside);
                self.syns = self.syns.wrapping_sub(u32::from(packet.is_syn()));
            }
        }
    }
}
