//! Captures with random damage: the reader refuses them with a message, or returns columns of one
//! length, ordered by time.
//!
//! `SLUICE_FUZZ=1000000 cargo test -p sluice-capture damaged -- --nocapture` tries that many cases;
//! a case depends only on its number.

use std::{
    env, fs,
    io::Write,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use rand::Rng;
use sluice_random::{Stream, stream};

use super::*;

/// Longest time of one case.
const BOUND: Duration = Duration::from_secs(5);
const INTERESTING: [u8; 10] = [0, 1, 2, 4, 6, 8, 0x45, 0x7f, 0x80, 0xff];

fn below(random: &mut Stream, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

/// Returns files of every format, with every link type, tag and header that the reader knows.
fn files() -> Vec<Vec<u8>> {
    let ethernet = [vec![0; 12], vec![0x08, 0x00]].concat();
    let vlan = [vec![0; 12], vec![0x81, 0x00, 0, 5, 0x08, 0x00]].concat();
    let pppoe = [vec![0; 12], vec![0x88, 0x64, 0x11, 0, 0, 1, 0, 30, 0, 0x21]].concat();
    let mpls = [vec![0; 12], vec![0x88, 0x47, 0, 1, 0x01, 64]].concat();
    let arp = [vec![0; 12], vec![0x08, 0x06], vec![0; 14]].concat();
    let mut cooked = vec![0; 16];
    cooked[14..].copy_from_slice(&[0x08, 0x00]);
    let mut cooked2 = vec![0x08, 0x00];
    cooked2.resize(20, 0);
    let frames = |headers: &[&[u8]]| -> Vec<(u64, Vec<u8>)> {
        let frame = |k: usize| {
            let packet = if k % 3 == 2 {
                udp6(9)
            } else {
                udp(k as u16, k)
            };
            with_link_header(headers[k % headers.len()], packet)
        };
        (0..12)
            .map(|k| (1_000_000_000 + 7001 * k as u64, frame(k)))
            .collect()
    };
    let on_ethernet = frames(&[&ethernet, &vlan, &pppoe, &mpls, &arp]);
    let mut files = vec![
        pcap(ByteOrder::Little, false, 1, &on_ethernet),
        pcap(ByteOrder::Big, true, 1, &on_ethernet),
        pcapng(ByteOrder::Little, 1, 9, &on_ethernet),
        pcapng(ByteOrder::Big, 1, 0x94, &on_ethernet),
    ];
    for (kind, header) in [
        (0, vec![2, 0, 0, 0]),
        (113, cooked),
        (276, cooked2),
        (101, vec![]),
    ] {
        let frames = frames(&[&header]);
        files.push(pcap(ByteOrder::Little, false, kind, &frames));
        files.push(pcapng(ByteOrder::Little, kind as u16, 6, &frames));
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&files[0]).unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    files.push(ruzstd::encoding::compress_to_vec(&files[2][..], level));
    files.push(gzip.finish().unwrap());
    files
}

/// Changes one to eight bytes, and perhaps cuts off the end, cuts out a part or repeats the
/// beginning.
fn damaged(files: &[Vec<u8>], random: &mut Stream) -> Vec<u8> {
    let whole = &files[below(random, files.len())];
    let mut made = whole.clone();
    for _ in 0..=below(random, 8) {
        let place = below(random, made.len());
        made[place] = match below(random, 3) {
            0 => random.next_u64() as u8,
            1 => INTERESTING[below(random, INTERESTING.len())],
            _ => made[place] ^ 1 << below(random, 8),
        };
    }
    let from = below(random, made.len());
    let to = from + below(random, (made.len() - from).min(64));
    match below(random, 8) {
        0 => made.truncate(from),
        1 => drop(made.drain(from..to)),
        2 => drop(made.splice(to..to, whole[..from].iter().copied())),
        _ => {}
    }
    made
}

/// True if a file is read; checks then that the result is complete.
fn is_read(bytes: &[u8], path: &std::path::Path) -> bool {
    fs::write(path, bytes).unwrap();
    match read(path) {
        Ok(capture) => {
            let packets = capture.time_ns.len();
            assert!(packets > 0 && capture.time_ns[0] == 0 && capture.time_ns.is_sorted());
            let lengths = [
                capture.bytes.len(),
                capture.flow.len(),
                capture.protocol.len(),
                capture.ecn.len(),
                capture.opens.len(),
            ];
            assert_eq!(lengths, [packets; 5]);
            // 12 frames of a file, and 12 of the repeated part
            assert!(packets as u64 + capture.not_ip <= 24 || bytes.len() > 2400);
            assert!(capture.bytes.iter().all(|bytes| *bytes >= 20));
            assert!(
                capture
                    .flow_numbers()
                    .iter()
                    .all(|flow| (*flow as usize) < packets)
            );
            true
        }
        Err(error) => {
            assert!(error.to_string().contains(&path.display().to_string()));
            false
        }
    }
}

#[test]
fn damaged_captures_are_refused_or_whole() {
    let count = env::var("SLUICE_FUZZ").map_or(2000, |text| text.parse().unwrap());
    let files = files();
    let file = TempFile::new(&[]);
    let mut taken: u64 = 0;
    for case in 0..count {
        let bytes = damaged(&files, &mut stream(1, "capture", case));
        let start = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| is_read(&bytes, &file.0))) {
            Ok(was_read) => taken += u64::from(was_read),
            Err(_) => panic!("case {case}: {bytes:02x?}"),
        }
        assert!(
            start.elapsed() < BOUND,
            "case {case}: {:?}",
            start.elapsed()
        );
    }
    println!("{count} captures: {taken} read, {} refused", count - taken);
    // a test that refuses everything, or nothing, proves nothing
    assert!(taken > count / 5 && count - taken > count / 5);
}
