//! A packet in the queue of the gate: what decisions need, without its payload.

pub mod class;
pub mod ecn;
pub mod flows;

use std::net::IpAddr;

use sluice_capture::Packet as Read;
use sluice_ecn::Ecn;
use sluice_queue::{Packet, hash_of};

use self::class::Class;

/// A packet that the gate holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Its number at its origin: the kernel's id, or its index in a capture.
    pub id: u32,
    /// Length of the IP packet, bytes.
    pub bytes: u32,
    /// Hash of what identifies its flow.
    pub flow_hash: u32,
    /// Hashes of the hosts that send it and get it; 0 if its header cannot be read.
    pub hosts: [u32; 2],
    /// ECN codepoint, CE if the queue has marked it; Not-ECT if its header cannot be changed.
    pub ecn: Ecn,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// True if the queue has marked it.
    pub marked: bool,
    /// What it asked for as it arrived.
    pub class: Class,
}

impl Held {
    /// Returns a packet as it arrives; `read` is what its header says, if it can be read.
    pub fn arriving(id: u32, bytes: u32, read: Option<&Read>) -> Self {
        let arriving = Self {
            id,
            bytes,
            ..Self::default()
        };
        read.map_or(arriving, |packet| Self {
            flow_hash: packet.flow,
            hosts: packet.addresses.map(host_hash),
            ecn: packet.ecn,
            dscp: packet.dscp,
            class: Class::of(packet.dscp, packet.ecn),
            ..arriving
        })
    }
}

/// Returns the hash of a host.
pub fn host_hash(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => hash_of(address.to_bits().into()),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            hash_of((bits >> 64) as u64 ^ u64::from(hash_of(bits as u64)))
        }
    }
}

impl Packet for Held {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow_hash
    }

    fn hosts(&self) -> [u32; 2] {
        self.hosts
    }

    fn traffic_class(&self) -> u8 {
        self.dscp << 2 | self.ecn.bits()
    }

    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
        self.marked = true;
    }
}
