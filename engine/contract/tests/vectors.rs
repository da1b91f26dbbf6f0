//! The files of `aqm/vectors/` are what the engine writes today, and they contain every verdict.

use std::{
    collections::{BTreeSet, HashSet},
    fs,
    path::Path,
};

use sluice_aqm::{Aqm, Asked, Configured, all};
use sluice_contract::{Call, LEAST, Vector, judgements, vectors};

fn first_difference<'a>(file: &'a str, text: &'a str) -> String {
    let differ = |(_, (one, other)): &(usize, (&str, &str))| one != other;
    match file.lines().zip(text.lines()).enumerate().find(differ) {
        Some((number, (one, other))) => format!("line {}:\n{one}\n{other}", number + 1),
        None => "one is longer".into(),
    }
}

#[test]
fn the_files_are_what_the_engine_writes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../aqm/vectors");
    let mut names = BTreeSet::new();
    for vector in vectors() {
        let name = format!("{}.txt", vector.name);
        let file = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        let text = vector.text();
        assert!(
            file == text,
            "aqm/vectors/{name} is not what `make vectors` writes, {}",
            first_difference(&file, &text)
        );
        names.insert(name);
    }
    let files = fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|name| name.ends_with(".txt")).collect();
    assert_eq!(files, names);
}

#[test]
fn each_aqm_is_asked_all_that_it_can_answer() {
    let mut seen = HashSet::new();
    for vector in vectors() {
        let (calls, class) = (vector.calls(), vector.aqm.class());
        let found = judgements(&calls);
        // every verdict of a run of a hundred rounds
        for verdict in judgements(&vector.long()).keys() {
            let count = found.get(verdict).copied().unwrap_or(0);
            assert!(count >= LEAST, "{}: {verdict:?} {count} times", vector.name);
        }
        let count = |what: fn(&Call) -> bool| calls.iter().filter(|call| what(call)).count();
        let has = class.functions();
        let ticks = vector.aqm.start().tick_interval_ns().is_some();
        for (asked, has, count) in [
            (
                "depart",
                has.depart,
                count(|call| call.asked == Asked::Depart),
            ),
            ("tick", ticks, count(|call| call.asked == Asked::Tick)),
            (
                "join",
                has.occupancy,
                count(|call| call.asked == Asked::Join),
            ),
            (
                "leave",
                has.occupancy,
                count(|call| call.asked == Asked::Leave),
            ),
            ("idle", true, count(|call| call.view.idle == 1)),
            (
                "not capable",
                true,
                count(|call| call.view.ecn_capable == 0),
            ),
        ] {
            assert_eq!(
                count >= LEAST,
                has,
                "{}: {asked} {count} times",
                vector.name
            );
        }
        seen.extend(found.into_keys());
    }
    // six verdicts on arrivals; admissions, early and forced drops and marks on departures; tick, join, leave
    assert_eq!(seen.len(), 6 + 4 + 3, "{seen:?}");
}

#[test]
fn there_is_one_of_each_aqm_and_no_variant_is_like_another() {
    let plain: Vec<String> = vectors().map(|vector| vector.name).collect();
    for class in all() {
        assert!(plain.contains(&class.name), "{}", class.name);
    }
    let answers = |vector: &Vector| -> Vec<&'static str> {
        let calls = vector.calls();
        calls.iter().map(|call| call.verdict.name()).collect()
    };
    let all: Vec<(Configured, Vec<&str>)> = vectors()
        .map(|vector| (vector.aqm.clone(), answers(&vector)))
        .collect();
    for (place, (aqm, own)) in all.iter().enumerate() {
        for (other, answers) in &all[..place] {
            let same = aqm.class().name == other.class().name && own == answers;
            assert!(!same, "{aqm:?}, {other:?}");
        }
    }
}
