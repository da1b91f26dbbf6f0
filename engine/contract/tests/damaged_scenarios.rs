//! Scenario files with random changes of their text: each is refused with a message, or its run
//! counts every packet correctly. None may end the process, or take longer than `BOUND_S`.
//!
//! `SLUICE_FUZZ=1000000 cargo test -p sluice-contract damaged_scenarios -- --nocapture`
//! tries a million cases; a case depends only on its number.

use std::{
    collections::BTreeMap,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    process,
    sync::Mutex,
    thread,
    time::Duration,
};

use rand::Rng;
use sluice_aqm::{Verdict, all};
use sluice_network::Source;
use sluice_random::{Stream, stream};
use sluice_scenario::{AnyScenario, Discipline, NetworkScenario, Scenario};

/// Longest time of one case, s.
const BOUND_S: u64 = 60;
/// Greatest number of slots in a run of the slotted queue.
const SLOTS: u64 = 2000;
/// Greatest number of packets that the fastest link of a network could send in a run.
const PACKETS: u64 = 4000;
const LONGEST_NS: u64 = 2_000_000_000;
/// Greatest number of flows in a group: a million senders would take too long.
const MOST_FLOWS: u32 = 200;
const NUMBERS: &str = "0 1 -1 2 3 0.5 1e-9 1e-3 0.1 10 1000 65535 65536 1e6 4294967295 4294967296 1e9 1e15 \
    9223372036854775807 1e300 -1e300 5e-324 nan inf -inf true '' [] {} \
    9999999999999999999999999";
const WORDS: &str = "tail front random fifo sfq drr fq ecn limit limit_bytes label scheduler victim seed \
    warm_up_s sample_s web short-tcp rack dctcp cubic parking-lot star fgn";

/// The original files, and what changes are made of.
struct Stock {
    files: Vec<String>,
    words: Vec<String>,
    numbers: Vec<&'static str>,
    aqms: Vec<String>,
}

impl Stock {
    fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut files = Vec::new();
        for folder in [folder.clone(), folder.join("network")] {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_file() {
                    files.push(fs::read_to_string(path).unwrap());
                }
            }
        }
        files.sort();
        let mut words: Vec<String> = files.iter().flat_map(|text| tokens(text)).collect();
        let aqms: Vec<String> = all().iter().map(|class| class.name.to_string()).collect();
        words.extend(aqms.iter().cloned());
        words.extend(WORDS.split(' ').map(str::to_owned));
        words.retain(|word| word.starts_with(|letter: char| letter.is_ascii_alphabetic()));
        words.sort();
        words.dedup();
        let numbers = NUMBERS.split(' ').collect();
        Self {
            files,
            words,
            numbers,
            aqms,
        }
    }
}

/// Returns the numbers and words of a text, without its comments.
fn tokens(text: &str) -> Vec<String> {
    spans(text)
        .into_iter()
        .map(|(from, to)| text[from..to].to_owned())
        .collect()
}

/// Returns the start and the end (bytes) of each number and word outside comments.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut comment = false;
    for (at, letter) in text.char_indices() {
        comment = letter == '#' || comment && letter != '\n';
        if comment || !(letter.is_ascii_alphanumeric() || "_.-".contains(letter)) {
            continue;
        }
        match found.last_mut() {
            Some(last) if last.1 == at => last.1 = at + 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}

fn below(random: &mut Stream, bound: usize) -> usize {
    (random.next_u64() % bound.max(1) as u64) as usize
}

fn one<'a, T>(random: &mut Stream, of: &'a [T]) -> &'a T {
    &of[below(random, of.len())]
}

/// Returns the text of one case: a file with one to four changes.
fn damaged(stock: &Stock, random: &mut Stream) -> String {
    let mut text = one(random, &stock.files).clone();
    for _ in 0..=below(random, 4) {
        text = match below(random, 16) {
            0..=11 => with_other_token(&text, stock, random),
            12 => with_line(&text, stock, random),
            13 => format!("{}\n{text}", field(stock, random)),
            14 => format!("{text}\n{}", field(stock, random)),
            _ => with_byte(&text, random),
        };
    }
    text
}

fn field(stock: &Stock, random: &mut Stream) -> String {
    format!(
        "{} = {}",
        one(random, &stock.words),
        one(random, &stock.numbers)
    )
}

/// Replaces a number, mostly by one close to it, or a word by another, which rarely fits.
fn with_other_token(text: &str, stock: &Stock, random: &mut Stream) -> String {
    let spans = spans(text);
    let Some(&(from, to)) = spans.get(below(random, spans.len())) else {
        return text.to_owned();
    };
    let new = match (text[from..to].parse::<f64>(), below(random, 8)) {
        (Ok(number), 0..=4) => format!("{:?}", number * one(random, &[0.1, 0.5, 0.9, 2.0, 7.0])),
        (Ok(_), 5 | 6) | (Err(_), 0) => (*one(random, &stock.numbers)).to_owned(),
        (Ok(_), _) | (Err(_), 1) => one(random, &stock.words).clone(),
        (Err(_), _) => {
            let (old, new) = (one(random, &stock.aqms), one(random, &stock.aqms));
            return text.replacen(old.as_str(), new, 1);
        }
    };
    format!("{}{new}{}", &text[..from], &text[to..])
}

/// Removes, repeats or moves a line, or inserts one from another file.
fn with_line(text: &str, stock: &Stock, random: &mut Stream) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let Some(&line) = lines.get(below(random, lines.len())) else {
        return text.to_owned();
    };
    let place = below(random, lines.len());
    match below(random, 4) {
        0 => drop(lines.remove(place)),
        1 => lines.insert(place, line),
        2 => lines.swap(place, 0),
        _ => {
            let others: Vec<&str> = one(random, &stock.files).lines().collect();
            lines.insert(place, others[below(random, others.len())]);
        }
    }
    lines.join("\n")
}

fn with_byte(text: &str, random: &mut Stream) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let place = below(random, bytes.len());
    match bytes.get_mut(place) {
        Some(byte) if below(random, 2) == 0 => *byte = random.next_u64() as u8,
        Some(_) => bytes.truncate(place),
        None => {}
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a case and returns its outcome.
fn outcome(text: &str) -> &'static str {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    match AnyScenario::parse(text, &folder) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            "refused by the reader"
        }
        Ok(AnyScenario::Slotted(scenario)) => slotted(&scenario, &scenario.disciplines[0]),
        Ok(AnyScenario::Network(scenario)) => network(&scenario, &scenario.disciplines[0]),
    }
}

fn losses(verdicts: &[u64]) -> u64 {
    let lost = [
        Verdict::DropEarly,
        Verdict::DropForced,
        Verdict::DropOverflow,
        Verdict::DropBoth,
    ];
    lost.iter().map(|verdict| verdicts[*verdict as usize]).sum()
}

/// Runs the slotted queue, shortened. Checks that the packets served, lost and waiting are those
/// that arrived.
fn slotted(scenario: &Scenario, discipline: &Discipline) -> &'static str {
    let Ok(mut plan) = sluice_slotted::Plan::of(scenario, discipline) else {
        return "refused by the plan";
    };
    plan.slots = plan.slots.min(SLOTS);
    plan.replications = plan.replications.min(2);
    let aqm = discipline.configured().unwrap().into();
    let monitor = sluice_slotted::Monitor::default();
    let run = || sluice_slotted::simulate(&plan, &aqm, Some(1), &monitor);
    let found = run();
    assert_eq!(found.slots, plan.slots * u64::from(plan.replications));
    let mut left = 0;
    for unit in &found.units {
        let tally = &unit.tally;
        left += tally.slots;
        assert_eq!(tally.queue.iter().sum::<u64>(), tally.slots);
        assert!(tally.idle_slots <= tally.slots);
        let longest = tally
            .queue
            .iter()
            .rposition(|slots| *slots > 0)
            .unwrap_or(0);
        assert!(longest as u64 <= u64::from(plan.discipline.limit));
        assert_eq!(tally.sojourn.count(), tally.delay.count());
        let gone = tally.delay.count() + losses(&tally.verdicts);
        let carried = u64::from(plan.discipline.limit) + 1;
        assert!(gone <= tally.arrivals + carried && tally.arrivals <= gone + carried);
    }
    let warm_up = found.warm_up_slots * u64::from(plan.replications);
    assert_eq!(left + warm_up, found.slots);
    let again = run();
    assert!(
        found
            .units
            .iter()
            .zip(&again.units)
            .all(|(one, other)| one.tally == other.tally)
    );
    "ran in the slotted queue"
}

/// Runs the network, shortened. Checks that the packets sent, lost and waiting are those that
/// arrived.
fn network(scenario: &NetworkScenario, discipline: &Discipline) -> &'static str {
    let Ok(mut plan) = sluice_network::Plan::of(scenario, discipline) else {
        return "refused by the plan";
    };
    let fastest = plan.topology.links.iter().map(|link| link.rate_bps).max();
    let packet_ns = 4000 * 1_000_000_000 / fastest.unwrap_or(1).max(1);
    let short_ns = (PACKETS * packet_ns.max(1))
        .min(LONGEST_NS)
        .min(plan.duration_ns);
    plan.warm_up_ns = (u128::from(plan.warm_up_ns) * u128::from(short_ns)
        / u128::from(plan.duration_ns.max(1))) as u64;
    plan.duration_ns = short_ns;
    plan.replications = 1;
    for group in &mut plan.groups {
        group.count = group.count.min(MOST_FLOWS);
    }
    let monitor = sluice_network::Monitor::default();
    let run = || sluice_network::simulate(&plan, Some(1), &monitor);
    let Ok(found) = run() else {
        return "refused by the run";
    };
    let [replication] = &found[..] else {
        panic!("{} replications", found.len());
    };
    let ports = replication.periods[0].ports.len();
    for port in 0..ports {
        let (mut arrivals, mut gone, mut longest) = (0, 0, 0);
        for period in &replication.periods {
            let tally = &period.ports[port];
            arrivals += tally.arrivals;
            gone += tally.sent + tally.lost();
            longest = longest.max(tally.queue_ns.iter().rposition(|ns| *ns > 0).unwrap_or(0));
            assert_eq!(tally.queue_ns.iter().sum::<u64>(), tally.duration_ns);
            assert!(tally.idle_ns <= tally.duration_ns);
            assert_eq!(tally.sojourn.count(), tally.sent);
            assert_eq!(tally.delay.count(), tally.sent);
        }
        assert!(arrivals >= gone && arrivals - gone <= longest as u64 + 1);
    }
    let whole: u64 = replication
        .periods
        .iter()
        .map(|period| period.ports[0].duration_ns)
        .sum();
    assert!(ports == 0 || whole == plan.duration_ns);
    assert!(
        run().unwrap() == found || has_nan(&plan),
        "the same run differs"
    );
    "ran in a network"
}

/// True if results may contain NaN, which differs from itself: windows of flows that have not
/// started.
fn has_nan(plan: &sluice_network::Plan) -> bool {
    plan.windows
        || plan
            .groups
            .iter()
            .any(|group| matches!(group.source, Source::Replay(_)))
}

/// Number and text of the case that runs.
static CASE: Mutex<Option<(u64, String)>> = Mutex::new(None);

/// Ends the process if a case takes too long; a case that hangs cannot be ended in another way.
fn watch() {
    thread::spawn(|| {
        loop {
            let before = CASE.lock().unwrap().clone();
            thread::sleep(Duration::from_secs(BOUND_S));
            if let Some((case, text)) = &before
                && *CASE.lock().unwrap() == before
            {
                eprintln!("case {case} takes more than {BOUND_S} s:\n{text}");
                process::abort();
            }
        }
    });
}

#[test]
fn damaged_scenarios_are_refused_or_keep_their_accounts() {
    let number = |name: &str, usual| env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (from, count) = (number("SLUICE_FUZZ_FROM", 0), number("SLUICE_FUZZ", 3000));
    let stock = Stock::read();
    watch();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for case in from..from + count {
        let text = damaged(&stock, &mut stream(1, "scenario", case));
        *CASE.lock().unwrap() = Some((case, text.clone()));
        match catch_unwind(AssertUnwindSafe(|| outcome(&text))) {
            Ok(became) => *seen.entry(became).or_default() += 1,
            Err(_) => panic!("case {case}:\n{text}"),
        }
        if case % 50_000 == 49_999 {
            eprintln!("{} cases: {seen:?}", case + 1);
        }
    }
    *CASE.lock().unwrap() = None;
    println!("{count} cases: {seen:?}");
    // the test is worthless if nearly all cases are refused
    let ran: u64 = ["ran in the slotted queue", "ran in a network"]
        .iter()
        .map(|each| seen[each])
        .sum();
    assert!(ran > count / 10 && seen["refused by the reader"] > count / 5);
}
