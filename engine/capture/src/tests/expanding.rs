//! Small compressed files that expand without end, and sound captures that expand far.

use std::io::Write;

use super::*;

const MIB: usize = 1 << 20;

/// Returns a pcap of `count` packets of raw IP, which differ in their times if `clock` goes on.
fn repeated(packet: &[u8], count: u64, clock: bool) -> Vec<u8> {
    let mut file = pcap(ByteOrder::Little, true, 101, &[]);
    for number in 0..count {
        let time = if clock { number * 12_345 } else { 0 };
        file.extend(pcap(ByteOrder::Little, true, 101, &[(time, packet.to_vec())]).split_off(24));
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    file.write_all(bytes).unwrap();
    file.finish().unwrap()
}

/// Returns a Zstandard file (RFC 8878) of pieces: bytes as they are, then so many zeros.
fn zstandard(pieces: impl IntoIterator<Item = (Vec<u8>, usize)>) -> Vec<u8> {
    const BLOCK: usize = 128 << 10;
    let header = |last: u32, kind: u32, size: usize| {
        (last | kind << 1 | (size as u32) << 3).to_le_bytes()[..3].to_vec()
    };
    // a window of 1 MiB
    let mut file = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3];
    for (bytes, zeros) in pieces {
        file.extend([header(0, 0, bytes.len()), bytes].concat());
        for from in (0..zeros).step_by(BLOCK) {
            file.extend(header(0, 1, BLOCK.min(zeros - from)));
            file.push(0);
        }
    }
    file.extend(header(1, 0, 0));
    file
}

/// Returns the pieces of a pcap whose records have that many bytes, zeros behind the headers.
fn with_zeros(record_bytes: usize, count: u64) -> Vec<(Vec<u8>, usize)> {
    let mut packet = udp(1, 0);
    let zeros = record_bytes - packet.len();
    packet.resize(record_bytes, 0);
    let mut pieces = vec![(pcap(ByteOrder::Little, true, 101, &[]), 0)];
    pieces.extend((0..count).map(|number| {
        let mut record = pcap(
            ByteOrder::Little,
            true,
            101,
            &[(number * 12_345, packet.clone())],
        );
        record.truncate(record.len() - zeros);
        (record.split_off(24), zeros)
    }));
    pieces
}

#[test]
fn a_file_with_more_records_than_compressed_bytes_is_refused() {
    let packets = repeated(&udp(1, 0), 500_000, false);
    let zeros = (pcap(ByteOrder::Little, true, 101, &[]), 32 * MIB);
    let zeros_gzip = gzip(&[zeros.0.clone(), vec![0; zeros.1]].concat());
    for file in [gzip(&packets), zeros_gzip, zstandard([zeros])] {
        assert!(file.len() < packets.len() / 100);
        let told = complaint_about(&file);
        assert!(
            told.starts_with("FILE expands too far to be a capture: its first "),
            "{told}"
        );
        let rule = " records, and a capture has at most 1 per compressed byte; if you trust it, \
                    decompress it and read the result";
        assert!(told.ends_with(rule), "{told}");
    }
    // the same packets, not compressed
    assert_eq!(read_bytes(&packets).unwrap().bytes.len(), 500_000);
}

#[test]
fn a_file_that_expands_further_than_any_packets_is_refused() {
    // 1 MB in some 60 bytes
    let told = complaint_about(&zstandard(with_zeros(1_000_000, 100)));
    assert!(
        told.contains(" bytes, and a capture has at most 4096 per compressed byte"),
        "{told}"
    );
}

#[test]
fn captures_that_expand_far_are_read() {
    // merged segments full of zeros, whole
    let merged = zstandard(with_zeros(65_000, 1000));
    let least = gzip(&repeated(&udp(1, 0), 500_000, true));
    // short, and the clock stands still
    let short = gzip(&repeated(&udp(1, 0), 50_000, false));
    for (file, packets) in [(merged, 1000), (least, 500_000), (short, 50_000)] {
        assert_eq!(read_bytes(&file).unwrap().bytes.len(), packets);
    }
}
