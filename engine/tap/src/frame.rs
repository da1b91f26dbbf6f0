//! A packet as it would be on the wire: IPv4 with TCP or UDP, and a payload of zeros.
//!
//! Sequence numbers count bytes: a SYN has 0, the first byte of data 1. If a connection is open
//! from the start, the capture begins after the SYN. A packet that is too short for its headers
//! gets the length of its headers.

use std::iter::repeat_n;

use etherparse::{
    IpDscp, IpEcn, IpHeaders, Ipv4Extensions, Ipv4Header, PacketBuilder, TcpHeader,
    TcpOptionElement,
};
use sluice_ecn::Ecn;
use sluice_network::{Event, Kind, TcpKind};
use sluice_tcp::Block;

use crate::flows::{End, FIRST_PORT, Flows};

const IP_BYTES: usize = Ipv4Header::MIN_LEN;
const TCP_BYTES: usize = TcpHeader::MIN_LEN;
const UDP_BYTES: usize = 8;
const HOPS_TO_LIVE: u8 = 64;
/// The largest shift of a window (RFC 7323, section 2.3).
const MOST_SHIFT: u8 = 14;
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// Returns all bytes from the IP header on.
pub fn of(flows: &Flows, event: &Event) -> Vec<u8> {
    let packet = &event.packet;
    let (flow, from, to) = flows.of(packet);
    let mut ip = Ipv4Header {
        identification: event.id as u16,
        dont_fragment: true,
        time_to_live: HOPS_TO_LIVE,
        source: address(from),
        destination: address(to),
        ..Ipv4Header::default()
    };
    ip.dscp = IpDscp::try_new(packet.traffic_class >> 2).expect("six bits");
    ip.ecn = match packet.ecn() {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ce => IpEcn::CongestionExperienced,
    };
    let builder = PacketBuilder::ip(IpHeaders::Ipv4(ip, Ipv4Extensions::default()));
    let payload = |headers: usize| &ZEROS[..usize::from(packet.bytes).saturating_sub(headers)];
    let mut frame = Vec::with_capacity(packet.bytes.into());
    let written = match flows.tcp(flow) {
        Some(kind) => {
            let tcp = TcpHeader {
                source_port: port(from),
                destination_port: port(to),
                ..tcp(kind, event)
            };
            let headers = IP_BYTES + tcp.header_len();
            let builder = builder.tcp_header(tcp);
            builder.write(&mut frame, payload(headers))
        }
        None => {
            let builder = builder.udp(port(from), port(to));
            builder.write(&mut frame, payload(IP_BYTES + UDP_BYTES))
        }
    };
    written.expect("a vector takes all, and a packet has at most 65535 bytes");
    frame
}

/// Nodes are numbered from 10.0.0.1 on.
fn address(end: End) -> [u8; 4] {
    (0x0a00_0001 + (end.node & 0x00ff_ffff)).to_be_bytes()
}

fn port(end: End) -> u16 {
    FIRST_PORT + end.port
}

/// Returns the TCP header without its ports.
fn tcp(kind: &TcpKind, event: &Event) -> TcpHeader {
    let packet = &event.packet;
    let numbers = Numbers::new(kind);
    let syn = packet.is_syn();
    let (sequence_number, acknowledgment_number, ack) = match packet.kind {
        Kind::Ack => (u32::from(!syn), numbers.byte(packet.number), true),
        // the other end sends only ACKs after its SYN, no data
        _ => (numbers.byte(packet.number), u32::from(!syn), !syn),
    };
    let (window, shift) = window(kind);
    // also of a handshake, and of classic feedback (RFC 9768, section 3.1)
    let ace = packet.ace();
    let mut header = TcpHeader {
        sequence_number,
        acknowledgment_number,
        ack,
        syn,
        psh: packet.is_pushed(),
        ns: ace & 4 != 0,
        cwr: packet.says_reduced() || ace & 2 != 0,
        ece: ace & 1 != 0,
        window_size: if syn {
            u16::try_from(window).unwrap_or(u16::MAX)
        } else {
            (window >> shift).try_into().unwrap_or(u16::MAX)
        },
        ..TcpHeader::default()
    };
    let mut options = if syn {
        setup_options(kind, shift)
    } else {
        sack_option(&numbers, &event.blocks)
    };
    let mut set = |options: &[TcpOptionElement]| {
        header
            .set_options(options)
            .expect("they take 40 bytes at most");
        header.header_len()
    };
    let bytes = IP_BYTES + set(&options);
    if packet.kind == Kind::Ack {
        // an ACK has no data: in the place of time stamps and counters of marks are NOPs
        let room = IP_BYTES + TcpHeader::MAX_LEN - bytes;
        let others = usize::from(packet.bytes).saturating_sub(bytes).min(room);
        options.extend(repeat_n(TcpOptionElement::Noop, others - others % 4));
        set(&options);
    }
    header
}

/// Converts packet numbers to byte numbers.
struct Numbers {
    /// Number of the first packet with data.
    first: u32,
    payload_bytes: u32,
}

impl Numbers {
    fn new(kind: &TcpKind) -> Self {
        Self {
            first: kind.config.syn.into(),
            payload_bytes: payload_bytes(kind),
        }
    }

    /// Returns the number of a packet's first byte; these numbers wrap around.
    fn byte(&self, packet: u32) -> u32 {
        match packet.checked_sub(self.first) {
            Some(before) => before.wrapping_mul(self.payload_bytes).wrapping_add(1),
            None => 0,
        }
    }
}

fn payload_bytes(kind: &TcpKind) -> u32 {
    u32::from(kind.packet_bytes).saturating_sub((IP_BYTES + TCP_BYTES) as u32)
}

/// Returns the receiver's window, bytes, and the shift that makes it fit into its field.
fn window(kind: &TcpKind) -> (u64, u8) {
    let bytes = u64::from(kind.config.receiver_window) * u64::from(payload_bytes(kind));
    let shift = (0..MOST_SHIFT).find(|shift| bytes >> shift <= u16::MAX.into());
    (bytes, shift.unwrap_or(MOST_SHIFT))
}

fn setup_options(kind: &TcpKind, shift: u8) -> Vec<TcpOptionElement> {
    let mut options = vec![
        TcpOptionElement::MaximumSegmentSize(payload_bytes(kind) as u16),
        TcpOptionElement::WindowScale(shift),
        TcpOptionElement::Noop,
    ];
    if kind.config.variant.uses_sack() {
        options.push(TcpOptionElement::SelectiveAcknowledgementPermitted);
    }
    options
}

fn sack_option(numbers: &Numbers, blocks: &[Block; 3]) -> Vec<TcpOptionElement> {
    let mut ranges = blocks
        .iter()
        .filter(|block| !block.is_empty())
        .map(|block| (numbers.byte(block.start), numbers.byte(block.end)));
    let Some(first) = ranges.next() else {
        return Vec::new();
    };
    let others = [ranges.next(), ranges.next(), None];
    vec![
        TcpOptionElement::Noop,
        TcpOptionElement::Noop,
        TcpOptionElement::SelectiveAcknowledgement(first, others),
    ]
}

#[cfg(test)]
mod tests {
    use sluice_network::TrafficClass;
    use sluice_tcp::{Config, Variant};

    use super::*;

    fn kind(packet_bytes: u16, receiver_window: u32) -> TcpKind {
        TcpKind {
            config: Config::ns2(Variant::Sack, receiver_window),
            packet_bytes,
            ack_bytes: 40,
            traffic_class: TrafficClass::default(),
        }
    }

    #[test]
    fn bytes_are_counted_from_the_syn_on_and_wrap_around() {
        let numbers = Numbers::new(&kind(1040, 20));
        assert_eq!(
            [0, 1, 2, 5].map(|packet| numbers.byte(packet)),
            [0, 1, 1001, 4001]
        );
        // 2^32 = 4294967296
        assert_eq!(numbers.byte(4_294_968), 4_294_967_001);
        assert_eq!(numbers.byte(4_294_969), 705);
        let open = Numbers {
            first: 0,
            ..numbers
        };
        assert_eq!([0, 1].map(|packet| open.byte(packet)), [1, 1001]);
    }

    #[test]
    fn a_window_is_shifted_no_more_than_it_must() {
        for (packets, wanted) in [
            (65, (65_000, 0)),
            (66, (66_000, 1)),
            (10_000, (10_000_000, 8)),
            (u32::MAX, (4_294_967_295_000, 14)),
        ] {
            assert_eq!(window(&kind(1040, packets)), wanted);
        }
    }

    #[test]
    fn all_blocks_stand_in_the_option() {
        let numbers = Numbers::new(&kind(1040, 20));
        let block = |start, end| Block { start, end };
        let none = Block::default();
        assert_eq!(sack_option(&numbers, &[none; 3]), []);
        let options = sack_option(&numbers, &[block(5, 7), block(2, 3), none]);
        assert_eq!(
            options[2],
            TcpOptionElement::SelectiveAcknowledgement(
                (4001, 6001),
                [Some((1001, 2001)), None, None]
            )
        );
    }
}
