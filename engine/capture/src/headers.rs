//! From a captured frame to what the simulators need of its IP header.

use std::net::IpAddr;

use etherparse::{
    EtherType, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, LinuxSllProtocolType,
    LinuxSllSlice, ether_type, ip_number,
};

/// The link types in which IP is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    RawIp,
    LinuxCooked,
    LinuxCooked2,
    Loopback,
}

impl Link {
    /// The link of a LINKTYPE number (<https://www.tcpdump.org/linktypes.html>).
    pub(crate) fn from_number(link_type: i32) -> Option<Self> {
        match link_type {
            0 | 108 => Some(Self::Loopback),
            1 => Some(Self::Ethernet),
            12 | 101 | 228 | 229 => Some(Self::RawIp),
            113 => Some(Self::LinuxCooked),
            276 => Some(Self::LinuxCooked2),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::RawIp => "raw IP",
            Self::LinuxCooked => "Linux cooked",
            Self::LinuxCooked2 => "Linux cooked v2",
            Self::Loopback => "loopback",
        }
    }

    /// The bytes from the IP header on, or `None` if the frame holds something else.
    fn ip_of(self, frame: &[u8]) -> Option<&[u8]> {
        match self {
            Self::RawIp => Some(frame),
            // A 4-byte address family; the IP version that follows says the same.
            Self::Loopback => frame.get(4..),
            Self::Ethernet => {
                let payload = LaxSlicedPacket::from_ethernet(frame)
                    .ok()?
                    .ether_payload()?;
                is_ip(payload.ether_type).then_some(payload.payload)
            }
            Self::LinuxCooked => {
                let sll = LinuxSllSlice::from_slice(frame).ok()?;
                match sll.protocol_type() {
                    LinuxSllProtocolType::EtherType(kind) if is_ip(kind) => {
                        frame.get(LINUX_COOKED_BYTES..)
                    }
                    _ => None,
                }
            }
            Self::LinuxCooked2 => {
                let kind = EtherType(u16::from_be_bytes([*frame.first()?, *frame.get(1)?]));
                is_ip(kind).then_some(())?;
                frame.get(LINUX_COOKED2_BYTES..)
            }
        }
    }
}

const LINUX_COOKED_BYTES: usize = 16;
const LINUX_COOKED2_BYTES: usize = 20;

fn is_ip(kind: EtherType) -> bool {
    kind == ether_type::IPV4 || kind == ether_type::IPV6
}

/// One IP packet: the fields of [`crate::Capture`]'s columns, and between whom it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length on the wire.
    pub bytes: u32,
    /// Hash of protocol, addresses and ports.
    pub flow: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Address of its sender and of its receiver.
    pub addresses: [IpAddr; 2],
    /// Their ports, where it has them.
    pub ports: Option<[u16; 2]>,
    /// Whether it carries ECT(0) or ECT(1).
    pub ecn_capable: bool,
}

/// Reads the IP header in `frame`, of which `original_bytes` were on the wire.
pub(crate) fn parse(link: Link, frame: &[u8], original_bytes: u32) -> Option<Packet> {
    let ip = link.ip_of(frame)?;
    let packet = LaxSlicedPacket::from_ip(ip).ok()?;
    let net = packet.net.as_ref()?;
    let (stated_bytes, least_bytes, ecn) = match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            (
                header.total_len().into(),
                header.slice().len() as u32,
                header.ecn(),
            )
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            let fixed = header.slice().len() as u32;
            // A payload length of 0 stands for a jumbogram or an offloaded segment.
            let stated = match header.payload_length() {
                0 => 0,
                payload => fixed + u32::from(payload),
            };
            (stated, fixed, header.ecn())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let link_bytes = (frame.len() - ip.len()) as u32;
    let on_wire = original_bytes.saturating_sub(link_bytes);
    let stated_is_possible = (least_bytes..=on_wire).contains(&stated_bytes);
    let payload = net.ip_payload_ref()?;
    let protocol = payload.ip_number.0;
    let ports = ports(payload);
    Some(Packet {
        bytes: if stated_is_possible {
            stated_bytes
        } else {
            on_wire
        },
        flow: flow_hash(net, protocol, ports),
        protocol,
        addresses: addresses(net)?,
        ports: ports.map(|bytes| {
            let port = |at| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            [port(0), port(2)]
        }),
        ecn_capable: matches!(ecn.value(), 1 | 2),
    })
}

fn addresses(net: &LaxNetSlice) -> Option<[IpAddr; 2]> {
    match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            Some([
                header.source_addr().into(),
                header.destination_addr().into(),
            ])
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            Some([
                header.source_addr().into(),
                header.destination_addr().into(),
            ])
        }
        LaxNetSlice::Arp(_) => None,
    }
}

/// The first four bytes behind the IP header, which hold both ports. Taken from the bytes, as
/// a short snapshot often ends within the options of TCP.
fn ports<'a>(payload: &LaxIpPayloadSlice<'a>) -> Option<&'a [u8]> {
    let has_ports = [ip_number::TCP, ip_number::UDP].contains(&payload.ip_number);
    if has_ports && !payload.fragmented {
        payload.payload.get(..4)
    } else {
        None
    }
}

fn flow_hash(net: &LaxNetSlice, protocol: u8, ports: Option<&[u8]>) -> u32 {
    let hash = fnv1a(FNV_OFFSET, &[protocol]);
    let hash = match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            fnv1a(fnv1a(hash, &header.source()), &header.destination())
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            fnv1a(fnv1a(hash, &header.source()), &header.destination())
        }
        LaxNetSlice::Arp(_) => hash,
    };
    ports.map_or(hash, |ports| fnv1a(hash, ports))
}

const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// FNV-1a, 32 bits: the same on every machine and in every version, which `std`'s hasher is not.
fn fnv1a(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME)
    })
}
