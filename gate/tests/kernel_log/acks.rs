//! What a qdisc reads of an ACK, and what the engine reads.

use std::{fs, path::Path};

use sluice_aqm::View;
use sluice_capture::{Ack, ip_packet};
use sluice_queue::AckFacts;

use super::Line;

/// Reads what `log_ack()` of `acks.bpf.h` has written.
pub fn of(view: &View) -> AckFacts {
    let halves = |word: u64| ((word >> 32) as u32, word as u32);
    let blocks = [
        view.idle_since_ns,
        view.sojourn_ns,
        view.rate_bps,
        view.queue_bytes,
    ];
    let (value, echo) = halves(view.buffer_bytes);
    AckFacts {
        connection: view.random,
        acked: view.queue_packets,
        sacks: blocks.map(halves),
        timestamps: (view.idle == 1).then_some([value, echo]),
        ecn_flags: view.traffic_class,
        is_pure: view.ecn_capable == 1,
    }
}

/// Checks that the qdisc read of each packet what the engine reads, if the bytes of those that were sent
/// are in a file beside the log. Returns how many ACKs there were, and how many of them are pure.
pub fn check(path: &Path, lines: &[Line]) -> Option<(usize, usize)> {
    let text = fs::read_to_string(path.with_extension("sent")).ok()?;
    let sent = text.lines().filter_map(|line| {
        let digits = |place: usize| u8::from_str_radix(&line[place..place + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..line.len()).step_by(2).map(digits).collect();
        ip_packet(&bytes, bytes.len() as u32)?.ack
    });
    let expected: Vec<_> = sent.collect();
    let acks = lines.iter().filter(|line| line.event == "ack");
    let read: Vec<_> = acks
        .map(|line| {
            let ack = of(&line.view);
            Ack {
                acked: ack.acked,
                sacks: ack.sacks,
                timestamps: ack.timestamps,
                ecn_flags: ack.ecn_flags,
                is_pure: ack.is_pure,
            }
        })
        .collect();
    assert_eq!(read, expected);
    let pure = read.iter().filter(|ack| ack.is_pure).count();
    Some((read.len(), pure))
}
