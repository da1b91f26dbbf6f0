//! The wrapper that `aqm/aqm.rs` has for other programs gives the answers of `aqm/vectors/`.

use std::{fs, path::Path};

use crate::{
    ffi::{Aqm, View},
    find,
};

/// Room for the greatest state and config of the AQMs here.
const WORDS: usize = 1 << 14;

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(word: &str) -> T {
    word.parse().unwrap()
}

/// Returns the view of a call, from the words after its verdict.
fn view(words: &[&str], (rate_bps, limit_packets): (u64, u32)) -> View {
    View {
        rate_bps,
        limit_packets,
        now_ns: number(words[0]),
        idle_since_ns: number(words[1]),
        sojourn_ns: number(words[2]),
        random: u64::from_str_radix(words[3], 16).unwrap(),
        queue_bytes: number(words[4]),
        buffer_bytes: number(words[4]),
        queue_packets: number(words[5]),
        packet_bytes: number(words[6]),
        flow_hash: number(words[7]),
        candidate_flow_hash: number(words[8]),
        idle: number(words[9]),
        ecn_capable: number(words[10]),
        full: number(words[11]),
        traffic_class: if words[10] == "1" { 2 } else { 0 },
        ..View::default()
    }
}

fn repeat(text: &str) {
    let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let (mut name, mut params, mut link) = ("", Vec::new(), (0, 0));
    let (mut aqm, mut ticks) = (None, 0);
    for words in lines {
        match words[..] {
            ["aqm", aqm] => name = aqm,
            ["param", _, integer, _] => params.push(number(integer)),
            ["link", rate_bps, limit] => {
                link = (number(rate_bps), number(limit));
                let class = find(name).unwrap().code;
                // SAFETY: the class is one of C's, and the file has its parameters in its order.
                aqm = unsafe { Aqm::<WORDS>::new(class, &params) };
            }
            ["state", ..] | ["end", _] => {}
            [call, verdict, ref rest @ ..] => {
                let (aqm, view) = (aqm.as_mut().unwrap(), view(rest, link));
                let found = match call {
                    "arrive" => aqm.arrive(&view) as u32,
                    "depart" => aqm.depart(&view) as u32,
                    "tick" => {
                        ticks += 1;
                        aqm.tick(&view);
                        0
                    }
                    "join" => {
                        aqm.occupancy(&view, 1);
                        0
                    }
                    "leave" => {
                        aqm.occupancy(&view, -1);
                        0
                    }
                    _ => panic!("{call} is no call"),
                };
                assert_eq!(found, number(verdict), "{name}: {words:?}");
            }
            _ => panic!("{words:?}"),
        }
    }
    let interval_ns = aqm.unwrap().tick_interval_ns();
    assert_eq!(interval_ns.is_some(), ticks > 0, "{name}");
}

#[test]
fn the_wrapper_answers_as_the_vectors_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../aqm/vectors");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let vectors: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .collect();
    assert!(vectors.len() > 20);
    for path in vectors {
        repeat(&fs::read_to_string(path).unwrap());
    }
}
