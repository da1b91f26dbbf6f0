//! Damaged input: netlink messages, packets, captures and settings, mutated from a seed. No input
//! may end the process, hang it, or be counted wrongly. Each test prints how many inputs it tried.

use std::io::Write;

use rand::Rng;
use sluice_random::{Stream, stream};

use crate::{
    backends::nfqueue::incoming,
    cli::LinkOptions,
    machine::netlink::{Message, attribute, attributes, messages, write},
    packet::ecn::set_ce,
    replay::{Watch, replay},
    settings::Settings,
};

const INTERESTING: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, 0xfe, 4, 0x45];

fn below(random: &mut Stream, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

/// Changes up to eight bytes, and perhaps cuts off the end, cuts out a part or repeats the
/// beginning.
fn mutated(random: &mut Stream, bytes: &[u8]) -> Vec<u8> {
    let mut made = bytes.to_vec();
    for _ in 0..below(random, 9) {
        let at = below(random, made.len());
        let value = match below(random, 2) {
            0 => INTERESTING[below(random, INTERESTING.len())],
            _ => random.next_u64() as u8,
        };
        if let Some(byte) = made.get_mut(at) {
            *byte = value;
        }
    }
    let from = below(random, made.len() + 1);
    let to = from + below(random, (made.len() - from + 1).min(32));
    match below(random, 6) {
        0 => made.truncate(from),
        1 => drop(made.drain(from..to)),
        2 => made
            .splice(to..to, bytes[..to.min(bytes.len())].to_vec())
            .for_each(drop),
        _ => {}
    }
    made
}

/// Returns packets with all kinds of headers that the reader distinguishes.
fn packets() -> Vec<Vec<u8>> {
    let udp = [0x23, 0x28, 0x23, 0x29, 0, 20, 0, 0];
    let mut found = Vec::new();
    for protocol in [1, 6, 17, 47, 51, 132] {
        for fragment in [0_u16, 0x2000, 0x2001] {
            let mut packet = vec![0x45, 2, 0, 60, 0, 7];
            packet.extend(fragment.to_be_bytes());
            packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend(udp.iter().cycle().take(40));
            found.push(packet);
        }
    }
    // hop-by-hop, routing, fragment, AH, destination options, and the headers after them
    for chain in [
        &[17][..],
        &[0, 6],
        &[43, 17],
        &[44, 17],
        &[51, 6],
        &[60, 44, 17],
        &[0, 60, 43, 58],
    ] {
        let mut packet = vec![0x60, 0x20, 0, 0, 0, 60, chain[0], 64];
        packet.extend([0xfd; 32]);
        for next in &chain[1..] {
            packet.extend([*next, 0, 1, 4, 0, 0, 0, 0]);
        }
        packet.extend(udp.iter().cycle().take(60));
        found.push(packet);
    }
    found
}

#[test]
fn damaged_messages_of_netlink() {
    let random = &mut stream(1, "netlink", 0);
    let packets = packets();
    let (mut tried, mut taken, mut answers) = (0, 0, 0);
    while tried < 300_000 {
        let mut bytes = Vec::new();
        for packet in &packets[below(random, packets.len())..][..1] {
            write(&mut bytes, libc::NFQNL_MSG_PACKET, 3, false, |out| {
                attribute(out, libc::NFQA_PACKET_HDR, &[0, 0, 0, 9, 8, 0, 1]);
                attribute(out, libc::NFQA_CAP_LEN, &1500_u32.to_be_bytes());
                attribute(out, libc::NFQA_PAYLOAD, packet);
            });
        }
        // a refused message comes back after the number of the error
        let mut refused = 36_u32.to_ne_bytes().to_vec();
        refused.extend([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]);
        refused.extend(&bytes[..20]);
        bytes.extend(refused);
        let bytes = mutated(random, &bytes);
        for message in messages(&bytes) {
            match message {
                Message::Answer(..) => answers += 1,
                Message::Queue(_, queue, rest) => {
                    assert!(
                        attributes(rest)
                            .map(|(_, value)| value.len())
                            .sum::<usize>()
                            <= rest.len()
                    );
                    taken += usize::from(incoming(3, queue, rest).is_some());
                }
            }
        }
        tried += 1;
    }
    println!("{tried} messages: {taken} packets, {answers} answers");
    assert!(taken > tried / 2 && answers > tried / 4);
}

#[test]
fn damaged_packets() {
    let random = &mut stream(1, "packets", 0);
    let packets = packets();
    let (mut read, mut marked, tried) = (0, 0, 500_000);
    for _ in 0..tried {
        let place = below(random, packets.len());
        let mut packet = mutated(random, &packets[place]);
        let bytes = match below(random, 3) {
            0 => random.next_u64() as u32,
            _ => packet.len() as u32,
        };
        let found = sluice_capture::ip_packet(&packet, bytes);
        read += usize::from(found.is_some());
        assert!(found.is_none_or(|found| found.bytes <= bytes));
        let before = packet.clone();
        let is_marked = set_ce(&mut packet);
        marked += usize::from(is_marked);
        assert_eq!(packet.len(), before.len());
        if is_marked {
            let found = sluice_capture::ip_packet(&packet, bytes);
            // CE: the next queue lets it pass, too
            assert!(found.is_none_or(|found| found.ecn.is_marked()));
        } else {
            assert_eq!(packet, before);
        }
    }
    println!("{tried} packets: {read} readable, {marked} marked");
    assert!(read > tried / 2 && marked > tried / 2 && read < tried && marked < tried);
}

/// Returns a pcap of raw IP.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (number, packet) in packets.iter().enumerate() {
        let length = packet.len() as u32;
        for word in [0, 1000 * number as u32, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

#[test]
fn damaged_captures() {
    let random = &mut stream(1, "captures", 0);
    let whole = capture(&packets());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.pcap");
    let (mut replayed, mut too_slow, tried) = (0, 0, 20_000);
    let links: Vec<Settings> = [
        ("1", "drop_tail"),
        ("1e6", "codel:scheduler=fq"),
        ("1e11", "red"),
    ]
    .iter()
    .map(|(rate, aqm)| Settings::read(&options(aqm, rate)).unwrap())
    .collect();
    for _ in 0..tried {
        std::fs::write(&path, mutated(random, &whole)).unwrap();
        let Ok(capture) = sluice_capture::read(&path) else {
            continue;
        };
        for settings in &links {
            let (measures, _) = match replay(&capture, settings, &mut Watch(())) {
                Ok(measures) => measures,
                Err(failure) => {
                    // a length of 4 GB at 1 bit/s, or a time in the year 2106
                    let said = failure.to_string();
                    assert!(
                        said.contains("too few") || said.contains("too long"),
                        "{said}"
                    );
                    too_slow += 1;
                    continue;
                }
            };
            replayed += 1;
            assert_eq!(measures.arrivals, capture.bytes.len() as u64);
            assert_eq!(measures.arrivals, measures.sent + measures.lost());
        }
    }
    println!("{tried} captures, {replayed} replays, {too_slow} too long");
    assert!(replayed > tried / 2 && too_slow > tried / 10);
}

fn options(aqm: &str, rate: &str) -> LinkOptions {
    LinkOptions {
        aqm: Some(aqm.into()),
        rate: Some(rate.into()),
        overhead: 38,
        ..LinkOptions::default()
    }
}

const SCENARIO: &str = r#"
duration_s = 10
topology = { kind = "graph", links = [
    { source = "near", sink = "far", rate_bps = 1e6, delay_s = 0.01, queue = true } ] }
flows = [{ kind = "tcp", source = "near", sink = "far" }]
queue = { limit = 50, limit_bytes = 90000 }
disciplines = [{ aqm = "red", params = { min_th = 4, max_th = 49 }, victim = "front", ecn = true,
    scheduler = { kind = "fq", queues = 64 } }]
"#;

#[test]
fn damaged_settings() {
    let random = &mut stream(1, "settings", 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.toml");
    let (mut taken, tried) = (0, 40_000);
    for number in 0..tried {
        let read = if number % 4 == 0 {
            let mut file = std::fs::File::create(&path).unwrap();
            file.write_all(&mutated(random, SCENARIO.as_bytes()))
                .unwrap();
            let scenario = Some(path.clone());
            Settings::read(&LinkOptions {
                scenario,
                ..LinkOptions::default()
            })
        } else {
            let mut text = |given: &str| {
                String::from_utf8_lossy(&mutated(random, given.as_bytes())).into_owned()
            };
            let mut given = options(
                &text("red:min_th=5,max_th=1_0,ecn=true,scheduler=sfq"),
                "1e6",
            );
            given.rate = Some(text("10e6"));
            given.limit = Some(text("100"));
            given.delay = Some(text("0.01"));
            given.seed = Some(text("17"));
            // a name that ends in .h is a file of code
            if given.aqm.as_ref().is_some_and(|aqm| aqm.contains(".h")) {
                continue;
            }
            Settings::read(&given)
        };
        match read {
            Ok(settings) => {
                taken += 1;
                settings.forward.queue::<crate::packet::Held>();
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    println!("{tried} settings, {taken} taken");
    assert!(taken > tried / 100 && taken < tried);
}
