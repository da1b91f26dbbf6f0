//! A packet in the queue of the gate: what decisions need, without its payload.

mod acks;
pub mod class;
pub mod ecn;
pub mod flows;

use std::net::IpAddr;

use sluice_capture::Packet as Read;
use sluice_ecn::Ecn;
use sluice_queue::{AckFacts, Packet, hash_of};

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
    /// What it acknowledges, if it is of TCP.
    pub ack: Option<AckFacts>,
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
            ack: acks::facts(packet),
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

#[cfg(test)]
mod tests {
    use sluice_capture::ip_packet;

    use super::*;

    /// DSCP and ECN codepoint are where each version of IP has them.
    #[test]
    fn the_traffic_class_of_ipv6_is_read_as_the_type_of_service_of_ipv4() {
        for class in 0..=u8::MAX {
            let mut four = vec![0x45, class, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
            four.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            let mut six = vec![0x60 | class >> 4, class << 4, 0, 0, 0, 8, 17, 64];
            six.extend([0xfd; 32]);
            for mut packet in [four, six] {
                packet.extend([0x20, 0, 0x20, 1, 0, 8, 0, 0]);
                let bytes = packet.len() as u32;
                let held = Held::arriving(1, bytes, ip_packet(&packet, bytes).as_ref());
                assert_eq!(held.traffic_class(), class);
                assert_eq!((held.dscp, held.ecn.bits()), (class >> 2, class & 3));
            }
        }
    }
}
