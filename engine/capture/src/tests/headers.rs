//! The IP packet in every link type, also behind tags, labels and sessions.

use sluice_ecn::Ecn;

use super::*;

#[test]
fn every_link_type_finds_the_ip_packet() {
    let mut cooked = vec![0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0x08, 0x00];
    let mut cooked2 = vec![0x08, 0x00];
    cooked2.resize(20, 0);
    let ethernet = [vec![0; 12], vec![0x08, 0x00]].concat();
    let vlan = [vec![0; 12], vec![0x81, 0x00, 0, 5, 0x08, 0x00]].concat();
    for (link_type, name, header) in [
        (1, "Ethernet", ethernet.clone()),
        (1, "Ethernet", vlan),
        (0, "loopback", vec![2, 0, 0, 0]),
        (108, "loopback", vec![0, 0, 0, 2]),
        (113, "Linux cooked", cooked.clone()),
        (113, "Linux cooked", cooked_of(772)),   // lo
        (113, "Linux cooked", cooked_of(512)),   // ppp0
        (113, "Linux cooked", cooked_of(65534)), // a tunnel
        (276, "Linux cooked v2", cooked2),
        (228, "raw IP", vec![]),
    ] {
        let frame = with_link_header(&header, udp(1, 72));
        let capture =
            read_bytes(&pcap(ByteOrder::Little, false, link_type, &[(0, frame)])).unwrap();
        assert_eq!(capture.bytes, [100], "{name}");
        assert_eq!(capture.link_types, [name]);
        assert_eq!(
            capture.flow,
            read_bytes(&pcap(ByteOrder::Big, false, 101, &[(0, udp(1, 72))]))
                .unwrap()
                .flow
        );
    }
    cooked[14..].copy_from_slice(&[0x08, 0x06]);
    let arp = with_link_header(&cooked, vec![0; 28]);
    let frames = [(0, arp), (1, with_link_header(&ethernet, vec![]))];
    assert_eq!(
        complaint_about(&pcap(ByteOrder::Little, false, 113, &frames)),
        "FILE holds no IP packet; other frames: ARP (1), unknown (1)"
    );
}

/// Builds the header of Linux cooked frames of IPv4 on a device of that ARPHRD type.
fn cooked_of(device: u16) -> Vec<u8> {
    let address = [0, 6, 0, 0, 0, 0, 0, 0, 0, 0];
    [&[0, 0], &device.to_be_bytes()[..], &address, &[0x08, 0x00]].concat()
}

#[test]
fn what_a_queue_would_not_see_is_told() {
    let packet = |from: [u8; 4], to: [u8; 4], ports: [u16; 2], payload| {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4(from, to, 64)
            .udp(ports[0], ports[1])
            .write(&mut bytes, &vec![0; payload])
            .unwrap();
        bytes
    };
    let (one, two) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let notes = |packets: Vec<Vec<u8>>| {
        let frames: Vec<_> = (0..).zip(packets).collect();
        notes_on(&pcap(ByteOrder::Little, true, 101, &frames))
    };
    let there = packet(one, two, [5, 6], 1472);
    assert!(notes(vec![there.clone(), packet(one, two, [6, 5], 0)]).is_empty());
    assert!(notes(vec![packet(one, one, [5, 5], 0)]).is_empty());
    let answer = packet(two, one, [6, 5], 1473);
    assert_eq!(
        notes(vec![
            there.clone(),
            there,
            answer,
            packet(one, two, [7, 6], 0)
        ]),
        [
            "3 of 4 packets belong to flows that were recorded in both directions, but a queue \
             sees only one: record that, as tcpdump -Q in does",
            "1 of 4 packets are longer than 1500 bytes (up to 1501): if the link has no jumbo frames, \
             offloading has merged them before they were recorded; ethtool -K DEVICE gro off lro \
             off before recording ends that"
        ]
    );
}

#[test]
fn padding_is_not_counted_and_offloaded_lengths_are() {
    let mut padded = with_link_header(&[vec![0; 12], vec![0x08, 0x00]].concat(), udp(1, 0));
    padded.resize(60, 0);
    let mut offloaded = udp(1, 5000);
    offloaded[2..4].copy_from_slice(&[0, 0]);
    let offloaded = with_link_header(&[vec![0; 12], vec![0x08, 0x00]].concat(), offloaded);
    let capture = read_bytes(&pcap(
        ByteOrder::Little,
        false,
        1,
        &[(0, padded), (1000, offloaded)],
    ));
    assert_eq!(capture.unwrap().bytes, [28, 5028]);
}

#[test]
fn syn_alone_opens_a_connection() {
    let tcp = |flags: u8, bytes: usize| {
        let mut packet = Vec::new();
        PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
            .tcp(1, 80, 7, 1000)
            .write(&mut packet, &[])
            .unwrap();
        packet[33] = flags;
        packet.truncate(bytes);
        packet
    };
    // SYN; SYN with ECN's flags; SYN-ACK; ACK; SYN-FIN; a SYN whose flags are cut off
    let packets = [
        (0, tcp(0x02, 40)),
        (1000, tcp(0xc2, 40)),
        (2000, tcp(0x12, 40)),
        (3000, tcp(0x10, 40)),
        (4000, tcp(0x03, 40)),
        (5000, tcp(0x02, 33)),
    ];
    let capture = read_bytes(&pcap(ByteOrder::Little, false, 101, &packets)).unwrap();
    assert_eq!(capture.opens, [true, true, false, false, true, false]);
}

#[test]
fn ipv6_ecn_and_double_vlan() {
    let mut marked = udp6(60);
    marked[1] |= 0x20; // ECT(0) in the low bits of the traffic class
    let mut tagged = Vec::new();
    PacketBuilder::ethernet2([0; 6], [1; 6])
        .double_vlan(VlanId::try_new(5).unwrap(), VlanId::try_new(6).unwrap())
        .ipv6([1; 16], [2; 16], 64)
        .udp(9, 53)
        .write(&mut tagged, &[0; 60])
        .unwrap();
    let raw = read_bytes(&pcap(
        ByteOrder::Little,
        false,
        101,
        &[(0, marked), (1000, udp6(60))],
    ))
    .unwrap();
    assert_eq!(raw.bytes, [108, 108]);
    assert_eq!(raw.ecn, [Ecn::Ect0, Ecn::NotEct]);
    let ethernet = read_bytes(&pcap(ByteOrder::Little, false, 1, &[(0, tagged)])).unwrap();
    assert_eq!((ethernet.bytes, ethernet.flow[0]), (vec![108], raw.flow[0]));
}

/// RFC 3168, section 5: a queue that would mark a packet with CE lets it pass.
#[test]
fn a_packet_with_ce_counts_as_ecn_capable() {
    let with = |ecn: u8| {
        let (mut v4, mut v6) = (udp(1, 72), udp6(60));
        v4[1] |= ecn;
        v6[1] |= ecn << 4;
        [v4, v6].map(|packet| {
            ip_packet(&packet, packet.len() as u32)
                .unwrap()
                .ecn
                .is_capable()
        })
    };
    assert_eq!(
        [0, 1, 2, 3].map(with),
        [[false; 2], [true; 2], [true; 2], [true; 2]]
    );
}

#[test]
fn ip_is_found_in_pppoe_sessions_and_below_mpls_labels() {
    let ethernet = |kind: u16, rest: &[u8]| [&[0; 12], &kind.to_be_bytes()[..], rest].concat();
    let pppoe = |protocol: u16, bytes: usize| {
        let length = (bytes as u16 + 2).to_be_bytes();
        [&[0x11, 0, 0, 7], &length[..], &protocol.to_be_bytes()].concat()
    };
    // two labels, the second at the bottom of the stack
    let labels = [0, 1, 0x20, 64, 0, 1, 0x31, 64];
    for packet in [udp(1, 72), udp6(72)] {
        let direct = pcap(ByteOrder::Little, false, 101, &[(0, packet.clone())]);
        let direct = read_bytes(&direct).unwrap();
        let ppp = if packet[0] >> 4 == 4 { 0x21 } else { 0x57 };
        for header in [
            ethernet(0x8864, &pppoe(ppp, packet.len())),
            ethernet(0x8847, &labels),
            ethernet(
                0x8864,
                &[&pppoe(0x281, packet.len() + 8)[..], &labels].concat(),
            ),
        ] {
            let frame = with_link_header(&header, packet.clone());
            let capture = read_bytes(&pcap(ByteOrder::Little, false, 1, &[(0, frame)])).unwrap();
            assert_eq!(
                (&capture.bytes, &capture.flow),
                (&direct.bytes, &direct.flow)
            );
        }
    }
}

#[test]
fn other_frames_are_named() {
    let other = |kind: u16| {
        with_link_header(
            &[[0; 12].as_slice(), &kind.to_be_bytes()].concat(),
            vec![0; 50],
        )
    };
    let ip = with_link_header(&[[0; 12].as_slice(), &[8, 0]].concat(), udp(1, 72));
    let kinds = [0x806, 0x806, 0x88cc, 0x888e, 38, 0x8847, 0x8863];
    let mut frames: Vec<_> = kinds.iter().map(|kind| (0, other(*kind))).collect();
    frames.push((0, ip));
    assert_eq!(
        notes_on(&pcap(ByteOrder::Little, false, 1, &frames)),
        [
            "frames without an IP packet are left out: ARP (2), EtherType 0x8847 (1), \
          EtherType 0x8863 (1), EtherType 0x888e (1), IEEE 802.3 (1), LLDP (1)"
        ]
    );
}
