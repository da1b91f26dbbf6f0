//! Classes of service: the queues of a scheduler that puts each class into one, with an AQM each.

use sluice_aqm::{Class, Configured, Value as Setting, schedulers};

use crate::{
    aqm_name::AqmName,
    discipline::Params,
    limits::at_least,
    reader::Reader,
    table::{table, words},
};

words! {
    /// An ECN codepoint.
    pub enum EcnCodepoint {
        /// The sender knows no ECN.
        NotEct = "not-ect",
        /// That of L4S.
        Ect1 = "ect1",
        /// That of classic ECN.
        Ect0 = "ect0",
        /// Congestion experienced.
        Ce = "ce",
    }
}

table! {
    /// A class of service: which packets it has, and the AQM of its queue.
    ///
    /// A packet is of the first class that takes both its codepoints. The last class takes all that no
    /// other does.
    pub struct ServiceClass {
        /// Differentiated services codepoints of its packets; empty: any. 46 is EF; 10, 12 and 14 are
        /// AF11 to AF13. Groups of flows are told apart by their `dscp`.
        dscp: Vec<u16> = Vec::new(), at_least(0.0).at_most(63.0);
        /// ECN codepoints of its packets; empty: any.
        ecn: Vec<EcnCodepoint> = Vec::new();
        /// AQM of its queue, by its name or the path of its C header; not given: that of the
        /// discipline.
        aqm: Option<AqmName>;
        /// The AQM's parameters that are not its defaults. If neither these nor `aqm` are given, they
        /// are the discipline's.
        params: Params = Params::default();
        /// Its share, with a scheduler whose classes have turns: what it may send in one. Classes
        /// without it are strict, and come first.
        quantum_bytes: Option<u32>, at_least(64.0).at_most(1e9).unit("bytes");
    }
}

/// As `CLASS_MAP_MOST` in `aqm/class_map.h`.
const MOST: usize = 16;

/// Greatest common divisor of the intervals of the classes' AQMs may not be less: the queue ticks so
/// often, ns.
const LEAST_INTERVAL_NS: u64 = 100_000;

/// Marks the parameters of a scheduler that a table of classes makes.
pub(crate) const BY_CLASSES: &str = "classes";

/// True if a scheduler has a queue for each class of service.
pub fn takes_classes(scheduler: &Class) -> bool {
    (scheduler.params.iter()).any(|param| param.when == BY_CLASSES)
}

/// Returns a set of codepoints, a bit each; all of `count` if none is given.
fn set(codepoints: impl Iterator<Item = u32>, count: u32) -> u64 {
    let given = codepoints.fold(0, |set, codepoint| set | 1 << codepoint);
    match given {
        0 => u64::MAX >> (64 - count),
        given => given,
    }
}

/// Returns the scheduler with queues for these classes.
///
/// # Panics
/// If they were not checked.
pub(crate) fn configured(scheduler: &'static Class, classes: &[ServiceClass]) -> Configured {
    let mut given = vec![("classes".to_owned(), classes.len() as f64)];
    for (number, class) in classes.iter().enumerate() {
        let dscps = set(class.dscp.iter().map(|dscp| u32::from(*dscp)), 64);
        let ecns = set(class.ecn.iter().map(|ecn| *ecn as u32), 4);
        let (low, high) = (dscps & u64::from(u32::MAX), dscps >> 32);
        given.push((format!("dscp_low_{number}"), low as f64));
        given.push((format!("dscp_high_{number}"), high as f64));
        given.push((format!("ecn_{number}"), ecns as f64));
        let quantum = class.quantum_bytes.map(f64::from);
        given.extend(quantum.map(|bytes| (format!("quantum_{number}"), bytes)));
    }
    if has_turns(scheduler) {
        given.push(("strict".to_owned(), strict(classes) as f64));
    }
    let given = given.into_iter();
    let given: Vec<_> = given
        .map(|(name, number)| (name, Setting::Number(number)))
        .collect();
    Configured::new(scheduler, &given).expect("classes are checked when they are read")
}

/// True if classes can have quanta.
fn has_turns(scheduler: &Class) -> bool {
    (scheduler.params.iter()).any(|param| param.name == "strict")
}

/// Returns the names of the schedulers of which this holds, as `prio or ets`.
fn named(holds: fn(&Class) -> bool) -> String {
    let names: Vec<_> = (schedulers().iter())
        .filter(|class| holds(class))
        .map(|class| &*class.name)
        .collect();
    names.join(" or ")
}

/// Returns the number of classes before the first that has a quantum.
fn strict(classes: &[ServiceClass]) -> usize {
    let first = classes
        .iter()
        .position(|class| class.quantum_bytes.is_some());
    first.unwrap_or(classes.len())
}

/// Reports what is wrong with the classes of a discipline under a scheduler; `kind` is its name.
pub(crate) fn check(
    classes: &[ServiceClass],
    scheduler: Option<&Class>,
    kind: &str,
    reader: &mut Reader,
) {
    let Some(scheduler) = scheduler.filter(|class| takes_classes(class)) else {
        if !classes.is_empty() {
            reader.say(format!(
                "classes must be left out: scheduler.kind = {kind} has no queues for classes; it must \
                 be {}",
                named(takes_classes)
            ));
        }
        return;
    };
    if classes.is_empty() {
        reader.say(format!(
            "classes is missing: scheduler.kind = {kind} has a queue for each of them"
        ));
    }
    if classes.len() > MOST {
        reader.say(format!(
            "classes has {}: at most {MOST} (classes)",
            classes.len()
        ));
    }
    let strict = strict(classes);
    for (number, class) in classes.iter().enumerate() {
        let is_last = number + 1 == classes.len();
        let takes_all = class.dscp.is_empty() && class.ecn.is_empty();
        if takes_all && !is_last {
            reader.say(format!(
                "classes.{number} takes all packets, so that none come to the classes behind it: give \
                 its dscp or ecn, or put it last"
            ));
        }
        if !takes_all && is_last {
            reader.say(format!(
                "classes.{number}, the last one, takes all packets that no other class does: leave \
                 out its dscp and ecn"
            ));
        }
        if class.quantum_bytes.is_some() && !has_turns(scheduler) {
            reader.say(format!(
                "classes.{number}.quantum_bytes must be left out: classes of {kind} have no turns; \
                 those of {} do",
                named(has_turns)
            ));
        }
        if class.quantum_bytes.is_none() && number > strict {
            reader.say(format!(
                "classes.{number} is strict, as it has no quantum_bytes: it must come before \
                 classes.{strict}, which has one"
            ));
        }
    }
}

/// Returns what is wrong with the intervals of the AQMs of classes.
pub(crate) fn check_intervals(aqms: &[Configured]) -> Option<String> {
    use sluice_aqm::Aqm;
    let of = |aqm: &Configured| {
        let interval_ns = aqm.start().tick_interval_ns()?;
        Some((aqm.class().name.clone(), interval_ns))
    };
    let told: Vec<(String, u64)> = aqms.iter().filter_map(of).collect();
    let mut common = 0;
    for (_, interval_ns) in &told {
        common = sluice_aqm::greatest_divisor(common, *interval_ns);
    }
    let differ = told.iter().any(|(_, interval_ns)| *interval_ns != common);
    (differ && common < LEAST_INTERVAL_NS).then(|| {
        let each: Vec<String> = (told.iter())
            .map(|(name, interval_ns)| format!("{name} {} s", *interval_ns as f64 / 1e9))
            .collect();
        format!(
            "the AQMs of classes have these times between two updates: {}; where they differ, each \
             must be a multiple of 0.1 ms",
            each.join(", ")
        )
    })
}
