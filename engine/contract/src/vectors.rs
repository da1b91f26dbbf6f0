//! Test vectors: calls of an AQM with their results, as text for programs in any language.
//!
//! `aqm/README.md` describes the lines. `make vectors` writes the files of `aqm/vectors/`.

use std::{collections::HashMap, fmt::Write};

use rand::Rng;
use sluice_aqm::{
    Aqm, Asked, BufferPolicy, Configured, ONE, Running, Value, Verdict, Victim, all, find,
};
use sluice_ecn::Ecn;
use sluice_queue::datagram_flow_hash;
use sluice_random::{Stream, stream};

use crate::{
    calls::{Call, Calls},
    link::{Link, Plain},
};

const RATE_BPS: u64 = 1_000_000;
const LIMIT: u32 = 30;
const SIZES: [u32; 3] = [100, 500, 1500];
const MEAN_NS: u64 = 700 * 8_000_000_000 / RATE_BPS;
/// Number of packets, their load in per cent of the link's rate, and the silence after them, ms:
/// a light load, a long overload, one that fills the buffer, and one that ends in silence.
const PHASES: [(u64, u64, u64); 4] = [(15, 50, 0), (80, 130, 0), (50, 300, 0), (60, 150, 300)];
/// Calls from one `state` line to the next.
const STATE_AFTER: usize = 20;

/// Rounds of a long run.
const LONG: usize = 100;
/// Least number of times that each verdict is in a file.
pub const LEAST: usize = 8;

/// Parameters with which the AQMs act within a few hundred packets, with a buffer of 30.
const NEAR: [(&str, f64); 24] = [
    ("min_th", 5.0),
    ("max_th", 22.0),
    ("max_p", 0.25),
    ("w", 0.1),
    ("a1", 0.8),
    ("q_ref", 10.0),
    ("a", 0.01),
    ("b", 0.009),
    ("gamma", 0.5),
    ("phi", 1.02),
    ("beta", 0.01),
    ("t_m", 0.05),
    ("d1", 0.02),
    ("d2", 0.01),
    ("freeze_time", 0.005),
    ("increment", 0.02),
    ("sampling_interval", 0.02),
    ("virtual_buffer", 0.5),
    ("max_burst", 0.03),
    ("mark_ecnth", 0.6),
    ("overwrite", 0.5),
    ("interval", 0.1),
    ("p_inc", 0.1),
    ("p_dec", 0.02),
];

/// A further vector of an AQM: the file's name, the AQM's name, and other parameters.
type Variant = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);
const VARIANTS: [Variant; 12] = [
    ("red_ns2", "red", &[("spacing", "waiting"), ("like", "ns2")]),
    (
        "red_clock",
        "red",
        &[
            ("spacing", "independent"),
            ("idle_decay", "false"),
            ("sampling", "clock"),
        ],
    ),
    ("pi_bytes", "pi", &[("unit", "bytes")]),
    ("rem_rate", "rem", &[("congestion", "rate")]),
    (
        "pie_timestamps",
        "pie",
        &[
            ("delay", "timestamps"),
            ("spacing", "independent"),
            ("mark_ecnth", "0.3"),
        ],
    ),
    (
        "pie_linux",
        "pie",
        &[
            ("like", "linux"),
            ("delay", "timestamps"),
            ("mark_ecnth", "0.3"),
            // a queue of 30 small packets has to be worth a drop
            ("mtu_bytes", "1000"),
        ],
    ),
    ("codel_newton", "codel", &[("sqrt", "newton")]),
    ("codel_ce", "codel", &[("ce_threshold", "0.04")]),
    ("cobalt_ns3", "cobalt", &[("like", "ns3")]),
    (
        "step_bytes",
        "step",
        &[("of", "bytes"), ("not_ect", "pass")],
    ),
    (
        "fred_many_flows",
        "fred",
        &[("many_flows", "true"), ("max_th", "12")],
    ),
    ("sred_simple", "sred", &[("variant", "simple")]),
];

/// Parameters of an AQM that those of `NEAR` do not suit.
const OWN: [(&str, &[(&str, &str)]); 1] = [("pi2", &[("alpha", "4"), ("beta", "3.2")])];

/// An AQM whose calls are written to a file.
pub struct Vector {
    /// The file's name, without its extension.
    pub name: String,
    /// The AQM.
    pub aqm: Configured,
}

/// Returns one vector of each AQM, and the variants.
pub fn vectors() -> impl Iterator<Item = Vector> {
    let plain = all().iter().map(|class| Vector {
        name: class.name.clone(),
        aqm: configured(&class.name, own(&class.name)),
    });
    let variants = VARIANTS.iter().map(|(name, aqm, params)| Vector {
        name: (*name).to_owned(),
        aqm: configured(aqm, params),
    });
    plain.chain(variants)
}

fn own(name: &str) -> &'static [(&'static str, &'static str)] {
    OWN.iter()
        .find(|(aqm, _)| *aqm == name)
        .map_or(&[], |(_, params)| params)
}

/// Returns the AQM with those parameters of `NEAR` that it has and accepts, and with those of a
/// variant.
fn configured(name: &str, params: &[(&str, &str)]) -> Configured {
    let class = find(name).expect("an AQM's name");
    let mut given: Vec<(String, Value)> = Vec::new();
    for (name, value) in NEAR {
        given.push((name.to_owned(), Value::Number(value)));
        if Configured::new(class, &given).is_err() {
            given.pop();
        }
    }
    for (name, value) in params {
        let value = match (value.parse(), *value) {
            (Ok(number), _) => Value::Number(number),
            (_, "true" | "false") => Value::Switch(*value == "true"),
            (_, word) => Value::Word(word.to_owned()),
        };
        given.push(((*name).to_owned(), value));
    }
    Configured::new(class, &given).expect("parameters that suit each other")
}

/// Draws packets of ten flows, one of which sends two fifths of them, in `rounds` rounds of
/// `PHASES`; each with its arrival time, ns.
fn arrivals(rounds: usize, random: &mut Stream) -> Vec<(u64, Plain)> {
    let (mut now_ns, mut arrivals) = (0, Vec::new());
    let mut draw = |count: u64| random.next_u64() % count;
    for (packets, load, silence_ms) in PHASES.repeat(rounds) {
        for _ in 0..packets {
            now_ns += draw(2 * MEAN_NS * 100 / load);
            let packet = Plain {
                bytes: SIZES[draw(3) as usize],
                flow_hash: datagram_flow_hash(draw(15).saturating_sub(5) as u32),
                ecn: if draw(2) > 0 { Ecn::Ect0 } else { Ecn::NotEct },
                dscp: 0,
            };
            arrivals.push((now_ns, packet));
        }
        now_ns += silence_ms * 1_000_000;
    }
    arrivals
}

impl Vector {
    /// Returns the calls in the file: those of the least number of rounds with which each verdict
    /// of a long run is there [`LEAST`] times.
    pub fn calls(&self) -> Vec<Call> {
        let wanted = judgements(&self.long());
        let mut tried = (self.least_rounds()..LONG).map(|rounds| self.rounds(rounds));
        let enough = |calls: &Vec<Call>| {
            let found = judgements(calls);
            let least = |of| found.get(of).is_some_and(|count| *count >= LEAST);
            wanted.keys().all(least)
        };
        tried.find(enough).expect("no verdict is as rare")
    }

    /// Returns the least number of rounds; SRED has no estimate before its list of 1000 flows is
    /// full.
    fn least_rounds(&self) -> usize {
        if self.aqm.class().name == "sred" {
            8
        } else {
            2
        }
    }

    /// Returns the calls of a hundred rounds.
    pub fn long(&self) -> Vec<Call> {
        self.rounds(LONG)
    }

    fn rounds(&self, rounds: usize) -> Vec<Call> {
        let arrivals = arrivals(rounds, &mut stream(1, "vector arrivals", 0));
        let last_ns = arrivals.last().map_or(0, |(now_ns, _)| *now_ns);
        let link = Link {
            aqm: &self.aqm,
            discipline: BufferPolicy {
                limit: LIMIT,
                limit_bytes: None,
                victim: Victim::Tail,
                ecn: true,
            },
            scheduler: None,
            rate_bps: RATE_BPS,
            end_ns: last_ns + u64::from(LIMIT) * 2 * MEAN_NS,
        };
        let (mut calls, words) = (Calls::default(), stream(1, "vector words", 0));
        link.drive(arrivals.into_iter(), words, &mut calls);
        calls.0
    }

    /// Returns the text of the file.
    pub fn text(&self) -> String {
        let mut text = format!("aqm {}\n", self.aqm.class().name);
        let integers = self.aqm.integers().zip(self.aqm.values());
        for ((name, integer), (_, value)) in integers {
            let _ = writeln!(text, "param {name} {integer} {value}");
        }
        let _ = writeln!(text, "link {RATE_BPS} {LIMIT}");
        let (calls, mut running) = (self.calls(), self.aqm.start());
        for (done, call) in calls.iter().enumerate() {
            if done > 0 && done % STATE_AFTER == 0 {
                write_state(&mut text, &running);
            }
            assert_eq!(call.repeat(&mut running), call.verdict, "{}", self.name);
            write_call(&mut text, call);
        }
        write_state(&mut text, &running);
        let _ = writeln!(text, "end {}", calls.len());
        text
    }
}

/// Counts how often each function returned each verdict.
pub fn judgements(calls: &[Call]) -> HashMap<(Asked, Verdict), usize> {
    let mut counts = HashMap::new();
    for call in calls {
        *counts.entry((call.asked, call.verdict)).or_default() += 1;
    }
    counts
}

fn write_call(text: &mut String, call: &Call) {
    let view = &call.view;
    assert_eq!((view.rate_bps, view.limit_packets), (RATE_BPS, LIMIT));
    let name = match call.asked {
        Asked::Arrive => "arrive",
        Asked::Depart => "depart",
        Asked::Tick => "tick",
        Asked::Join => "join",
        Asked::Leave => "leave",
    };
    let _ = writeln!(
        text,
        "{name} {} {} {} {} {:x} {} {} {} {} {} {} {} {}",
        call.verdict as u32,
        view.now_ns,
        view.idle_since_ns,
        view.sojourn_ns,
        view.random,
        view.queue_bytes,
        view.queue_packets,
        view.packet_bytes,
        view.flow_hash,
        view.candidate_flow_hash,
        view.idle,
        view.ecn_capable,
        view.full
    );
}

fn write_state(text: &mut String, running: &Running) {
    // a double holds these numbers exactly below 2^20
    let fixed = |number: Option<f64>| (number.unwrap_or(0.0) * ONE as f64) as i64;
    let _ = writeln!(
        text,
        "state {:016x} {} {}",
        fnv1a(running.state()),
        fixed(running.average()),
        fixed(running.probability())
    );
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
