//! Every file format; damage by random bytes and random cuts.

use sluice_ecn::Ecn;

use super::*;

#[test]
fn every_pcap_variant_gives_the_same_columns() {
    let frames = [
        (5_000_001_000, udp(1, 72)),
        (5_000_003_000, udp(2, 10)),
        (6_000_001_000, udp(1, 0)),
    ];
    for order in [ByteOrder::Little, ByteOrder::Big] {
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
            assert_eq!(capture.ecn, [Ecn::NotEct; 3]);
            assert_eq!(capture.flow[0], capture.flow[2]);
            assert_ne!(capture.flow[0], capture.flow[1]);
            assert_eq!((capture.not_ip, capture.link_types), (0, vec!["raw IP"]));
        }
    }
}

#[test]
fn clocks_that_tick_in_powers_of_two() {
    let capture = read_bytes(&pcapng(
        ByteOrder::Little,
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
    let capture = read_bytes(&pcap(ByteOrder::Little, true, 101, &frames)).unwrap();
    assert_eq!(capture.time_ns, [0, 3_000, 8_000, 8_000]);
    assert_eq!(capture.bytes, [32, 30, 29, 31]);
}

#[test]
fn damage_is_named() {
    let frames = [
        (0, udp(1, 72)),
        (1_000_000, udp(1, 72)),
        (2_000_000, udp(1, 72)),
    ];
    let good = pcap(ByteOrder::Little, false, 101, &frames);
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let second = 24 + 16 + 100;
    let ng = pcapng(ByteOrder::Big, 101, 9, &frames);
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
            "FILE holds no IP packet; other frames: none",
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
            pcapng(ByteOrder::Little, 101, 99, &frames),
            "FILE: packet 1 is corrupt: its interface has time resolution 0x63",
        ),
        (
            [&ng[..], &block(ByteOrder::Big, 6, &[0xff; 20])].concat(),
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

#[test]
fn a_last_record_that_is_cut_off_is_left_out_with_a_note() {
    let frames: Vec<_> = (0..3).map(|k| (k * 1_000_000, udp(1, 72))).collect();
    let good = pcap(ByteOrder::Little, false, 101, &frames);
    let ng = pcapng(ByteOrder::Big, 101, 9, &frames);
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
fn a_first_time_of_zero_makes_no_capture_of_fifty_years() {
    let since = 1_700_000_000 * 1_000_000_000;
    let frames = [
        (0, udp(1, 72)),
        (since, udp(2, 72)),
        (since + 5_000_000, udp(3, 72)),
    ];
    let capture = read_bytes(&pcap(ByteOrder::Little, false, 101, &frames)).unwrap();
    assert_eq!(capture.time_ns, [0, 5_000_000]);
    assert_eq!(
        capture.notes,
        ["1 packet with a time of 0 is left out: all others came after 1970"]
    );
    // a clock that starts at 0 is accepted
    let early = [(0, udp(1, 72)), (1_000_000_000, udp(2, 72))];
    assert!(notes_on(&pcap(ByteOrder::Little, false, 101, &early)).is_empty());
}

#[test]
fn the_shipped_capture() {
    let capture = read(SHIPPED).unwrap();
    assert_eq!(capture.link_types, ["Ethernet"]);
    assert!(capture.time_ns.is_sorted());
    assert!(capture.protocol.contains(&6) && capture.protocol.contains(&17));
    assert!(capture.ecn.iter().any(|ecn| ecn.is_capable()) && capture.ecn.contains(&Ecn::NotEct));
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
        order in prop::sample::select(vec![ByteOrder::Little, ByteOrder::Big]),
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
