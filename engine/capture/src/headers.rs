//! Reads from a captured frame what the simulators need of its IP header.

use std::net::IpAddr;

use etherparse::{
    EtherType, LaxIpPayloadSlice, LaxNetSlice, LaxSlicedPacket, ether_type, ip_number,
};
use sluice_ecn::Ecn;

use crate::ack::{ACK, Ack, SYN};

/// The link types in which the reader looks for IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    RawIp,
    LinuxCooked,
    LinuxCooked2,
    Loopback,
}

impl Link {
    /// Returns the link of a LINKTYPE number (<https://www.tcpdump.org/linktypes.html>).
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

    /// Returns the bytes from the IP header on. The error is the EtherType of a frame that holds
    /// something else, if it has one.
    fn ip_of(self, frame: &[u8]) -> Result<&[u8], Option<EtherType>> {
        match self {
            Self::RawIp => Ok(frame),
            // A 4-byte address family, which need not be read: the IP header has the version.
            Self::Loopback => frame.get(4..).ok_or(None),
            Self::Ethernet => {
                let packet = LaxSlicedPacket::from_ethernet(frame).map_err(|_| None)?;
                let payload = packet.ether_payload().ok_or(None)?;
                ip_within(payload.ether_type, payload.payload)
            }
            // The protocol is in the last two bytes of the header. On every device (PPP, a tunnel,
            // loopback), IP has its EtherType there, and everything else has other numbers.
            Self::LinuxCooked => {
                let (header, payload) = frame
                    .split_first_chunk::<LINUX_COOKED_BYTES>()
                    .ok_or(None)?;
                let kind = u16::from_be_bytes([header[14], header[15]]);
                ip_within(EtherType(kind), payload)
            }
            Self::LinuxCooked2 => {
                let kind = frame.first_chunk().ok_or(None)?;
                let kind = EtherType(u16::from_be_bytes(*kind));
                ip_within(kind, frame.get(LINUX_COOKED2_BYTES..).ok_or(None)?)
            }
        }
    }
}

const LINUX_COOKED_BYTES: usize = 16;
const LINUX_COOKED2_BYTES: usize = 20;
const PPPOE_BYTES: usize = 6;
const PPPOE_SESSION: EtherType = EtherType(0x8864);
const MPLS: [EtherType; 2] = [EtherType(0x8847), EtherType(0x8848)];
/// PPP's protocol numbers of IPv4, IPv6 and MPLS (RFC 1332, RFC 5072, RFC 3032).
const PPP_IP: [u16; 2] = [0x0021, 0x0057];
const PPP_MPLS: u16 = 0x0281;

/// Returns the IP packet in a payload of that EtherType: the payload itself, or what a PPPoE
/// session or a stack of MPLS labels carries.
fn ip_within(kind: EtherType, payload: &[u8]) -> Result<&[u8], Option<EtherType>> {
    let found = match kind {
        ether_type::IPV4 | ether_type::IPV6 => Some(payload),
        PPPOE_SESSION => in_pppoe(payload),
        kind if MPLS.contains(&kind) => in_mpls(payload),
        _ => None,
    };
    found.ok_or(Some(kind))
}

/// Returns the IP packet in a PPPoE session (RFC 2516, section 4).
fn in_pppoe(payload: &[u8]) -> Option<&[u8]> {
    let (protocol, inner) = payload.get(PPPOE_BYTES..)?.split_first_chunk()?;
    match u16::from_be_bytes(*protocol) {
        protocol if PPP_IP.contains(&protocol) => Some(inner),
        PPP_MPLS => in_mpls(inner),
        _ => None,
    }
}

/// Returns the IP packet below the last MPLS label (RFC 3032, section 2.1); its first four bits
/// show whether it is IP.
fn in_mpls(mut payload: &[u8]) -> Option<&[u8]> {
    loop {
        let (label, below) = payload.split_first_chunk::<4>()?;
        payload = below;
        if label[2] & 1 == 1 {
            return matches!(payload.first()? >> 4, 4 | 6).then_some(payload);
        }
    }
}

/// Returns the name of a kind of frames that hold no IP packet.
pub(crate) fn other_name(kind: Option<EtherType>) -> String {
    match kind {
        Some(ether_type::ARP) => "ARP".into(),
        Some(EtherType(0x88cc)) => "LLDP".into(),
        // smaller values are lengths
        Some(EtherType(length)) if length < 0x600 => "IEEE 802.3".into(),
        Some(EtherType(kind)) => format!("EtherType {kind:#06x}"),
        None => "unknown".into(),
    }
}

/// One IP packet: the fields of [`crate::Capture`]'s columns, and its addresses and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Length on the wire, bytes.
    pub bytes: u32,
    /// Hash of protocol, addresses and ports.
    pub flow: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Addresses of its sender and its receiver.
    pub addresses: [IpAddr; 2],
    /// Ports of its sender and its receiver, if it has them.
    pub ports: Option<[u16; 2]>,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Differentiated services codepoint.
    pub dscp: u8,
    /// True if it opens a TCP connection: SYN without ACK.
    pub opens: bool,
    /// What it acknowledges, if it is of TCP.
    pub ack: Option<Ack>,
}

impl Packet {
    /// Returns the hash of the flow in the other direction, which carries the answers.
    pub(crate) fn reverse_flow(&self) -> u32 {
        let [source, sink] = self.addresses;
        let ports = self.ports.map(|[from, to]| [to, from]);
        flow_hash(self.protocol, [sink, source], ports)
    }
}

/// Reads the IP header in `frame`, which had `original_bytes` on the wire. The error is the
/// EtherType of a frame without an IP header, if it has one.
pub(crate) fn parse(
    link: Link,
    frame: &[u8],
    original_bytes: u32,
) -> Result<Packet, Option<EtherType>> {
    let ip = link.ip_of(frame)?;
    let link_bytes = (frame.len() - ip.len()) as u32;
    packet_of(ip, original_bytes.saturating_sub(link_bytes)).ok_or(None)
}

/// Reads an IP packet, or its beginning; the whole packet had `on_wire` bytes on the wire.
fn packet_of(ip: &[u8], on_wire: u32) -> Option<Packet> {
    let packet = LaxSlicedPacket::from_ip(ip).ok()?;
    let net = packet.net.as_ref()?;
    let (stated_bytes, least_bytes, ecn, dscp) = match net {
        LaxNetSlice::Ipv4(v4) => {
            let header = v4.header();
            (
                header.total_len().into(),
                header.slice().len() as u32,
                header.ecn(),
                header.dcp(),
            )
        }
        LaxNetSlice::Ipv6(v6) => {
            let header = v6.header();
            let fixed = header.slice().len() as u32;
            // A payload length of 0 means a jumbogram or an offloaded segment.
            let stated = match header.payload_length() {
                0 => 0,
                payload => fixed + u32::from(payload),
            };
            (stated, fixed, header.ecn(), header.dscp())
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let stated_is_possible = (least_bytes..=on_wire).contains(&stated_bytes);
    let payload = net.ip_payload_ref()?;
    let protocol = payload.ip_number.0;
    let ports = ports(payload);
    let addresses = addresses(net)?;
    let bytes = if stated_is_possible {
        stated_bytes
    } else {
        on_wire
    };
    let headers_bytes = (payload.payload.as_ptr() as usize - ip.as_ptr() as usize) as u32;
    Some(Packet {
        bytes,
        flow: flow_hash(protocol, addresses, ports),
        protocol,
        addresses,
        ports,
        ecn: Ecn::from_bits(ecn.value()),
        dscp: dscp.value(),
        opens: opens(payload),
        ack: ack(payload, bytes.saturating_sub(headers_bytes)),
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

/// Returns both ports: the first four bytes behind the IP header. They are read from the bytes,
/// because a short snapshot often ends within the options of TCP.
fn ports(payload: &LaxIpPayloadSlice) -> Option<[u16; 2]> {
    let has_ports = [ip_number::TCP, ip_number::UDP].contains(&payload.ip_number);
    if !has_ports || payload.fragmented {
        return None;
    }
    let bytes: &[u8; 4] = payload.payload.first_chunk()?;
    let port = |at| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    Some([port(0), port(2)])
}

/// True if the payload begins with a TCP header whose flags are SYN without ACK (RFC 9293, section
/// 3.1).
fn opens(payload: &LaxIpPayloadSlice) -> bool {
    const FLAGS_AT: usize = 13;
    payload.ip_number == ip_number::TCP
        && !payload.fragmented
        && payload
            .payload
            .get(FLAGS_AT)
            .is_some_and(|flags| flags & (SYN | ACK) == SYN)
}

/// Returns what a TCP packet acknowledges, of which `bytes` follow the headers of IP.
fn ack(payload: &LaxIpPayloadSlice, bytes: u32) -> Option<Ack> {
    let is_whole = payload.ip_number == ip_number::TCP && !payload.fragmented;
    is_whole.then(|| Ack::of(payload.payload, bytes)).flatten()
}

fn flow_hash(protocol: u8, addresses: [IpAddr; 2], ports: Option<[u16; 2]>) -> u32 {
    let hash = addresses.iter().fold(
        fnv1a(FNV_OFFSET, &[protocol]),
        |hash, address| match address {
            IpAddr::V4(v4) => fnv1a(hash, &v4.octets()),
            IpAddr::V6(v6) => fnv1a(hash, &v6.octets()),
        },
    );
    ports
        .iter()
        .flatten()
        .fold(hash, |hash, port| fnv1a(hash, &port.to_be_bytes()))
}

const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// FNV-1a, 32 bits: the same on every machine and in every version, which `std`'s hasher is not.
fn fnv1a(hash: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(hash, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME)
    })
}
