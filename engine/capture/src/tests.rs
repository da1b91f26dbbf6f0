//! Every format and link type, by files built here; damage, by random bytes and random cuts.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use etherparse::{PacketBuilder, VlanId};
use proptest::prelude::*;

use super::*;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/gateway.pcap");

/// A file that is removed with its name.
struct TempFile(PathBuf);

impl TempFile {
    fn new(bytes: &[u8]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluice-capture-{}-{number}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn read_bytes(bytes: &[u8]) -> Result<Capture, CaptureError> {
    read(&TempFile::new(bytes).0)
}

/// The message for a damaged file, without the file's name.
fn complaint_about(bytes: &[u8]) -> String {
    let file = TempFile::new(bytes);
    let message = read(&file.0).unwrap_err().to_string();
    message.replace(&file.0.display().to_string(), "FILE")
}

/// Byte order of the files built here.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }
}

/// A pcap of (time in ns, frame); with `nano`, times are kept to the ns, else to the µs.
fn pcap(order: Order, nano: bool, link_type: u32, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let magic = if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend([order.u16(2), order.u16(4)].concat());
    [0, 0, 65535, link_type]
        .iter()
        .for_each(|&field| file.extend(order.u32(field)));
    for (time, frame) in frames {
        let fraction = time % 1_000_000_000 / if nano { 1 } else { 1000 };
        let length = frame.len() as u32;
        for field in [
            (time / 1_000_000_000) as u32,
            fraction as u32,
            length,
            length,
        ] {
            file.extend(order.u32(field));
        }
        file.extend(frame);
    }
    file
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut block = [order.u32(kind), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

/// A pcapng with one interface whose clock ticks as `resolution` says.
fn pcapng(order: Order, link_type: u16, resolution: u8, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut section = order.u32(0x1a2b_3c4d).to_vec();
    section.extend([order.u16(1), order.u16(0)].concat());
    section.extend([0xff; 8]);
    let mut interface = [order.u16(link_type), order.u16(0)].concat();
    interface.extend(order.u32(65535));
    interface.extend([order.u16(9), order.u16(1)].concat());
    interface.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    let mut file = block(order, 0x0a0d_0d0a, &section);
    file.extend(block(order, 1, &interface));
    for (ticks, frame) in frames {
        let mut packet = Vec::new();
        let length = frame.len() as u32;
        for field in [0, (ticks >> 32) as u32, *ticks as u32, length, length] {
            packet.extend(order.u32(field));
        }
        packet.extend(frame);
        file.extend(block(order, 6, &packet));
    }
    file
}

/// A raw IPv4 UDP packet: 28 bytes of headers and the payload.
fn udp(source_port: u16, payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(source_port, 53);
    builder.write(&mut packet, &vec![0; payload]).unwrap();
    packet
}

fn udp6(payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .udp(9, 53)
        .write(&mut packet, &vec![0; payload])
        .unwrap();
    packet
}

fn with_link_header(header: &[u8], packet: Vec<u8>) -> Vec<u8> {
    [header.to_vec(), packet].concat()
}

#[test]
fn every_pcap_variant_gives_the_same_columns() {
    let frames = [
        (5_000_001_000, udp(1, 72)),
        (5_000_003_000, udp(2, 10)),
        (6_000_001_000, udp(1, 0)),
    ];
    for order in [Order::Little, Order::Big] {
        let ticks = frames.clone().map(|(time, frame)| (time / 1000, frame));
        let files = [
            pcap(order, false, 101, &frames),
            pcap(order, true, 101, &frames),
            pcapng(order, 101, 9, &frames),
            pcapng(order, 101, 6, &ticks),
        ];
        for file in files {
            let capture = read_bytes(&file).unwrap();
            assert_eq!(capture.time_ns, [0, 2000, 1_000_000_000]);
            assert_eq!(capture.bytes, [100, 38, 28]);
            assert_eq!(capture.protocol, [17, 17, 17]);
            assert_eq!(capture.ecn_capable, [false; 3]);
            assert_eq!(capture.flow[0], capture.flow[2]);
            assert_ne!(capture.flow[0], capture.flow[1]);
            assert_eq!((capture.not_ip, capture.link_types), (0, vec!["raw IP"]));
        }
    }
}

#[test]
fn clocks_that_tick_in_powers_of_two() {
    let capture = read_bytes(&pcapng(
        Order::Little,
        101,
        0x80 | 10,
        &[(1024, udp(1, 0)), (1536, udp(1, 0))],
    ));
    assert_eq!(capture.unwrap().time_ns, [0, 500_000_000]);
}

#[test]
fn packets_out_of_order_are_sorted_stably() {
    let frames = [
        (9_000, udp(1, 1)),
        (4_000, udp(1, 2)),
        (9_000, udp(1, 3)),
        (1_000, udp(1, 4)),
    ];
    let capture = read_bytes(&pcap(Order::Little, true, 101, &frames)).unwrap();
    assert_eq!(capture.time_ns, [0, 3_000, 8_000, 8_000]);
    assert_eq!(capture.bytes, [32, 30, 29, 31]);
}

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
        (276, "Linux cooked v2", cooked2),
        (228, "raw IP", vec![]),
    ] {
        let frame = with_link_header(&header, udp(1, 72));
        let capture = read_bytes(&pcap(Order::Little, false, link_type, &[(0, frame)])).unwrap();
        assert_eq!(capture.bytes, [100], "{name}");
        assert_eq!(capture.link_types, [name]);
        assert_eq!(
            capture.flow,
            read_bytes(&pcap(Order::Big, false, 101, &[(0, udp(1, 72))]))
                .unwrap()
                .flow
        );
    }
    cooked[14..].copy_from_slice(&[0x08, 0x06]);
    let arp = with_link_header(&cooked, vec![0; 28]);
    let frames = [(0, arp), (1, with_link_header(&ethernet, vec![]))];
    assert_eq!(
        complaint_about(&pcap(Order::Little, false, 113, &frames)),
        "FILE holds no IP packet (2 other frames)"
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
        Order::Little,
        false,
        1,
        &[(0, padded), (1000, offloaded)],
    ));
    assert_eq!(capture.unwrap().bytes, [28, 5028]);
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
        Order::Little,
        false,
        101,
        &[(0, marked), (1000, udp6(60))],
    ))
    .unwrap();
    assert_eq!(raw.bytes, [108, 108]);
    assert_eq!(raw.ecn_capable, [true, false]);
    let ethernet = read_bytes(&pcap(Order::Little, false, 1, &[(0, tagged)])).unwrap();
    assert_eq!((ethernet.bytes, ethernet.flow[0]), (vec![108], raw.flow[0]));
}

#[test]
fn damage_is_named() {
    let frames = [
        (0, udp(1, 72)),
        (1_000_000, udp(1, 72)),
        (2_000_000, udp(1, 72)),
    ];
    let good = pcap(Order::Little, false, 101, &frames);
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let second = 24 + 16 + 100;
    let ng = pcapng(Order::Big, 101, 9, &frames);
    let cases: [(Vec<u8>, &str); 12] = [
        (vec![], "FILE is empty, not a capture"),
        (
            b"hello, world, this is no capture".to_vec(),
            "FILE is not a capture: it starts with 68 65 6c 6c, not with the mark of pcap or pcapng",
        ),
        (
            good[..10].to_vec(),
            "FILE: the file header is cut off or corrupt",
        ),
        (
            good[..24].to_vec(),
            "FILE holds no IP packet (0 other frames)",
        ),
        (
            good[..24 + 12].to_vec(),
            "FILE: packet 1 is cut off (the file ends 12 bytes into its record)",
        ),
        (
            changed(second + 8, &[0xff; 4]),
            "FILE: packet 2 is corrupt: its record claims 4294967311 bytes; no packet has over 1048576",
        ),
        (
            changed(second + 12, &[0xff; 4]),
            "FILE: packet 2 is corrupt: it claims 4294967295 bytes; no packet has over 1048576",
        ),
        (
            changed(second + 12, &[99, 0, 0, 0]),
            "FILE: packet 2 is corrupt: 100 bytes captured of 99",
        ),
        (
            changed(second + 4, &[0xff; 4]),
            "FILE: packet 2 is corrupt: its time has 4294967295 µs in a second",
        ),
        (
            changed(20, &[127, 0, 0, 0]),
            "FILE: packet 1 has link type 127; supported are Ethernet (1), raw IP (12, 101, 228, 229), Linux cooked (113, 276) and loopback (0, 108)",
        ),
        (
            pcapng(Order::Little, 101, 99, &frames),
            "FILE: packet 1 is corrupt: its interface has time resolution 0x63",
        ),
        (
            [&ng[..], &block(Order::Big, 6, &[0xff; 20])].concat(),
            "FILE: packet 4 is corrupt: the lengths in its record contradict each other",
        ),
    ];
    for (file, message) in cases {
        assert_eq!(complaint_about(&file), message);
    }
    let directory = std::env::temp_dir();
    assert!(
        read(&directory)
            .unwrap_err()
            .to_string()
            .starts_with("cannot read ")
    );
}

/// The notes on a file that is read.
fn notes_on(bytes: &[u8]) -> Vec<String> {
    read_bytes(bytes).unwrap().notes
}

#[test]
fn a_last_record_that_is_cut_off_is_left_out_with_a_note() {
    let frames: Vec<_> = (0..3).map(|k| (k * 1_000_000, udp(1, 72))).collect();
    let good = pcap(Order::Little, false, 101, &frames);
    let ng = pcapng(Order::Big, 101, 9, &frames);
    assert!(notes_on(&good).is_empty() && notes_on(&ng).is_empty());
    let second = 24 + 16 + 100;
    for (file, packets) in [
        (&good[..second + 12], 1),
        (&good[..second + 80], 1),
        (&ng[..ng.len() - 3], 2),
    ] {
        let capture = read_bytes(file).unwrap();
        assert_eq!(capture.time_ns.len(), packets);
        let number = packets + 1;
        let note = format!("the file ends within packet {number}, which is left out");
        assert_eq!(capture.notes, [note]);
    }
}

#[test]
fn compressed_captures_are_read() {
    use std::io::Write;
    let shipped = std::fs::read(SHIPPED).unwrap();
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstandard = |bytes: &[u8]| {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(bytes, level)
    };
    let whole = read(SHIPPED).unwrap();
    let (first, rest) = shipped.split_at(shipped.len() / 3);
    for compressed in [
        gzip(&shipped),
        zstandard(&shipped),
        // a file may have several parts
        [gzip(first), gzip(rest)].concat(),
        [zstandard(first), zstandard(rest)].concat(),
    ] {
        assert!(compressed.len() < shipped.len());
        assert_eq!(read_bytes(&compressed).unwrap(), whole);
        let error = read_bytes(&compressed[..compressed.len() / 2]).unwrap_err();
        assert!(error.to_string().contains("could not be read to its end"));
    }
    assert_eq!(
        complaint_about(&gzip(b"hello")),
        "FILE is not a capture: it starts with 68 65 6c 6c, not with the mark of pcap or pcapng"
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
        let direct = pcap(Order::Little, false, 101, &[(0, packet.clone())]);
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
            let capture = read_bytes(&pcap(Order::Little, false, 1, &[(0, frame)])).unwrap();
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
        notes_on(&pcap(Order::Little, false, 1, &frames)),
        [
            "frames without an IP packet are left out: ARP (2), EtherType 0x8847 (1), \
          EtherType 0x8863 (1), EtherType 0x888e (1), IEEE 802.3 (1), LLDP (1)"
        ]
    );
}

#[test]
fn a_first_time_of_zero_makes_no_capture_of_fifty_years() {
    let since = 1_700_000_000 * 1_000_000_000;
    let frames = [
        (0, udp(1, 72)),
        (since, udp(2, 72)),
        (since + 5_000_000, udp(3, 72)),
    ];
    let capture = read_bytes(&pcap(Order::Little, false, 101, &frames)).unwrap();
    assert_eq!(capture.time_ns, [0, 5_000_000]);
    assert_eq!(
        capture.notes,
        ["1 packet with a time of 0 is left out: all others came after 1970"]
    );
    // a clock that starts at 0 is as good as any
    let early = [(0, udp(1, 72)), (1_000_000_000, udp(2, 72))];
    assert!(notes_on(&pcap(Order::Little, false, 101, &early)).is_empty());
}

#[test]
fn the_shipped_capture() {
    let capture = read(SHIPPED).unwrap();
    assert_eq!(capture.link_types, ["Ethernet"]);
    assert!(capture.time_ns.is_sorted());
    assert!(capture.protocol.contains(&6) && capture.protocol.contains(&17));
    assert!(capture.ecn_capable.contains(&true) && capture.ecn_capable.contains(&false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_bytes_never_panic(
        magic in prop::sample::select(vec![0xa1b2_c3d4_u32, 0xd4c3_b2a1, 0x0a0d_0d0a, 0]),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = read_bytes(&[&magic.to_be_bytes()[..], &bytes].concat());
    }

    #[test]
    fn corruption_never_panics(
        cut in 0usize..3000,
        damage in prop::collection::vec((0usize..3000, any::<u8>()), 0..8),
        ng in any::<bool>(),
        order in prop::sample::select(vec![Order::Little, Order::Big]),
    ) {
        let frames: Vec<_> = (0..20).map(|i| (i * 1000, udp(i as u16, 40))).collect();
        let mut file = if ng { pcapng(order, 101, 9, &frames) } else { pcap(order, true, 101, &frames) };
        for (at, value) in damage {
            let at = at % file.len();
            file[at] = value;
        }
        file.truncate(cut);
        let _ = read_bytes(&file);
    }

    #[test]
    fn a_cut_shipped_capture_gives_its_whole_packets_or_says_where(cut in 0usize..100_000) {
        let whole = std::fs::read(SHIPPED).unwrap();
        match read_bytes(&whole[..cut]) {
            Ok(capture) => prop_assert!(capture.time_ns.len() as u64 + capture.not_ip > 0),
            Err(CaptureError::CutOff { packet, bytes, .. }) => {
                prop_assert!(packet > 0 && bytes > 0 && bytes < 70);
            }
            Err(other) => prop_assert!(cut <= 24, "{other} at {cut}"),
        }
    }
}
