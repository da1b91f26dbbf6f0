//! Compiles an AQM's header to a BPF object.

use std::{borrow::Cow, fs, io, path::Path, process::Command};

use sluice_aqm::{Class, Functions, HEADERS};
use tempfile::tempdir;

use crate::{
    KernelError,
    classes::{check_texts, functions, kinds, kinds_header},
    made_of::MadeOf,
    shared,
};

/// A program that is compiled from an AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// Answers questions: `judge.bpf.c`.
    Judge,
    /// A queue discipline.
    Qdisc {
        /// Name of its scheduler; `None`: one queue, first in, first out.
        scheduler: Option<&'static str>,
        /// True: the scheduler's queues are classes of service, each with an AQM of its own.
        has_classes: bool,
        /// True: it keeps a log of all decisions.
        log: bool,
    },
}

/// Headers that the programs include: names and texts.
const SHARED: [(&str, &str); 17] = [
    ("qdisc.bpf.h", include_str!("qdisc.bpf.h")),
    ("classes.bpf.h", include_str!("classes.bpf.h")),
    ("instance.bpf.h", include_str!("instance.bpf.h")),
    ("marks.bpf.h", include_str!("marks.bpf.h")),
    ("stats.bpf.h", include_str!("stats.bpf.h")),
    ("acks.bpf.h", include_str!("acks.bpf.h")),
    ("logging.bpf.h", include_str!("logging.bpf.h")),
    ("loop.bpf.h", include_str!("loop.bpf.h")),
    ("reload.bpf.h", include_str!("reload.bpf.h")),
    ("fifo.bpf.h", include_str!("fifo.bpf.h")),
    ("lanes.bpf.h", include_str!("lanes.bpf.h")),
    ("lane_packets.bpf.h", include_str!("lane_packets.bpf.h")),
    ("waiting.bpf.h", include_str!("waiting.bpf.h")),
    ("sending.bpf.h", include_str!("sending.bpf.h")),
    ("judging.bpf.h", include_str!("judging.bpf.h")),
    ("arriving.bpf.h", include_str!("arriving.bpf.h")),
    ("leaving.bpf.h", include_str!("leaving.bpf.h")),
];

impl Program {
    /// True if it has the AQMs of classes of service.
    pub(crate) fn has_classes(self) -> bool {
        matches!(
            self,
            Self::Qdisc {
                has_classes: true,
                ..
            }
        )
    }

    fn source(self) -> (&'static str, &'static str) {
        match self {
            Self::Judge => ("judge.bpf.c", include_str!("judge.bpf.c")),
            Self::Qdisc { .. } => ("qdisc.bpf.c", include_str!("qdisc.bpf.c")),
        }
    }
}

/// clang has BPF as a target; gcc needs a separate cross compiler. `clang` is last, because it may
/// be an old version.
const COMPILERS: [&str; 4] = ["clang-21", "clang-20", "clang-19", "clang"];
/// libbpf cannot read a qdisc compiled by clang 14 to 16; 17 and 18 were not tried.
const OLDEST: u32 = 19;
// -fdebug-compilation-dir keeps the temporary folder's name out of the object, so that the same
// text gives the same bytes
pub(crate) const FLAGS: [&str; 10] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-O2",
    "-Wall",
    "-Werror",
    "-Wno-unused",
    "-fdebug-compilation-dir=.",
    "-I.",
];

/// A qdisc is inlined into one function, because a call of an AQM would first write the whole view
/// to memory, and one queue's functions would take more stack than there is. Not for an AQM with an
/// `occupancy` function (FRED) in flow queues: inlined, it would be larger than the verifier accepts.
/// AQMs of classes are in functions that are never inlined.
const INLINED: [&str; 2] = ["-mllvm", "-inline-threshold=100000"];

/// An AQM compiled for BPF, not yet seen by a kernel.
pub struct Object {
    /// An ELF file.
    pub bytes: Vec<u8>,
    /// File name of the AQM's header.
    pub name: String,
    /// The program that it must be.
    pub program: Program,
}

/// Returns the name of a qdisc's scheduler: a coupled discipline is its own.
pub(crate) fn scheduler_of<'a>(program: Program, aqms: &[&'a Class]) -> Option<&'a str> {
    match program {
        Program::Judge => None,
        Program::Qdisc { .. } if aqms[0].is_coupled() => Some(functions(aqms[0])),
        Program::Qdisc { scheduler, .. } => scheduler,
    }
}

/// Returns the files that the compiler gets whatever it compiles: names and texts.
pub(crate) fn common_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    HEADERS.iter().copied().chain(SHARED)
}

/// Returns the other files that the compiler gets: names and texts.
pub(crate) fn own_files<'a>(
    program: Program,
    aqms: &[&'a Class],
) -> impl Iterator<Item = (String, Cow<'a, str>)> {
    let (source, text) = program.source();
    let own = kinds(aqms).into_iter().filter_map(|class| {
        let text = class.header.as_deref()?;
        Some((format!("{}.h", class.name), Cow::from(text)))
    });
    let kinds = (program.has_classes()).then(|| ("kinds.h".into(), kinds_header(aqms).into()));
    let agreement = (shared::FILE.into(), shared::agreement(program).into());
    std::iter::once((source.to_owned(), Cow::from(text)))
        .chain(own)
        .chain(kinds)
        .chain([agreement])
}

/// Returns all files that the compiler gets: names and texts.
pub(crate) fn files<'a>(program: Program, aqms: &[&'a Class]) -> Vec<(String, Cow<'a, str>)> {
    common_files()
        .map(|(name, text)| (name.to_owned(), Cow::from(text)))
        .chain(own_files(program, aqms))
        .collect()
}

/// Compiles an AQM for BPF, or the AQMs of classes of service as one.
///
/// # Panics
/// If there is no AQM, or if there are several without classes.
///
/// # Errors
/// If classes have different AQMs of one name, if clang is missing or too old, or if it refuses the
/// header: the error then has clang's message.
pub fn compile(program: Program, aqms: &[&Class]) -> Result<Object, KernelError> {
    assert!(
        program.has_classes() || aqms.len() == 1,
        "one AQM, or classes"
    );
    check_texts(aqms)?;
    let folder = tempdir().map_err(|error| missing(&error))?;
    for (file, text) in files(program, aqms) {
        fs::write(folder.path().join(file), &*text).map_err(|error| missing(&error))?;
    }
    let name = source_name(program, aqms);
    let mut flags = flags(program, aqms);
    flags.extend(["-c", "-o", "program.o"].map(str::to_owned));
    run(folder.path(), &flags, &name)?;
    Ok(Object {
        bytes: fs::read(folder.path().join("program.o")).map_err(|error| missing(&error))?,
        name,
        program,
    })
}

/// Returns what errors name: the header, or those of classes.
fn source_name(program: Program, aqms: &[&Class]) -> String {
    if !program.has_classes() {
        return format!("{}.h", aqms[0].name);
    }
    let names = kinds(aqms)
        .into_iter()
        .map(|class| format!("{}.h", class.name));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the program's file, and the flags with which it is compiled.
pub(crate) fn flags(program: Program, aqms: &[&Class]) -> Vec<String> {
    let name = source_name(program, aqms);
    let (header, functions) = match program.has_classes() {
        true => ("classes.bpf.h", "classes"),
        false => (&*name, functions(aqms[0])),
    };
    let made_of = MadeOf::new(program, aqms);
    let mut flags = FLAGS.map(str::to_owned).to_vec();
    flags.push(format!("-DHEADER=\"{header}\""));
    flags.push(format!("-DAQM={functions}"));
    flags.push(format!("-DMADE_OF=\"{}\"", made_of.name));
    flags.push(format!("-DSHA256=\"{}\"", made_of.sha256));
    flags.extend(features(program, aqms));
    flags.push(program.source().0.to_owned());
    flags
}

/// Returns the flags that say what a program has, and what it wants of packets.
fn features(program: Program, aqms: &[&Class]) -> Vec<String> {
    let has = |of: fn(&Functions) -> bool| aqms.iter().any(|class| of(&class.functions()));
    let scheduler = scheduler_of(program, aqms);
    let is_users = aqms.iter().any(|class| class.header.is_some());
    let any_mentions = |text: &str| aqms.iter().any(|class| mentions(functions(class), text));
    let mut flags = Vec::new();
    let is_inlined = scheduler.is_none() || program.has_classes() || !has(|of| of.occupancy);
    if program != Program::Judge && is_inlined {
        flags.extend(INLINED.map(str::to_owned));
    }
    let has_log = matches!(program, Program::Qdisc { log: true, .. });
    if let Some(scheduler) = scheduler {
        flags.push(format!("-DSCHEDULER={scheduler}"));
        flags.push(format!("-DSCHEDULER_HEADER=\"{scheduler}.h\""));
    }
    for (flag, given) in [
        ("-DLOGS", has_log),
        ("-DCLASSES", program.has_classes()),
        ("-DCOUPLED", aqms[0].is_coupled()),
        ("-DHAS_DEPART", has(|of| of.depart)),
        ("-DHAS_TICK", has(|of| of.tick)),
        ("-DHAS_OCCUPANCY", has(|of| of.occupancy)),
        ("-DHAS_READY", has(|of| of.ready)),
        ("-DHAS_LOST", has(|of| of.lost)),
        ("-DHAS_ACK_FILTER", has(|of| of.ack_filter)),
        ("-DWANTS_HOSTS", any_mentions("source_hash")),
        ("-DWANTS_CANDIDATE", has(|of| of.candidate)),
        (
            "-DWANTS_FLOW",
            is_users
                || any_mentions("flow_hash")
                || scheduler.is_some_and(|name| mentions(name, "flow_hash")),
        ),
        (
            "-DWANTS_TRAFFIC_CLASS",
            is_users
                || ["aqm_ecn(", "aqm_dscp("]
                    .iter()
                    .any(|at| any_mentions(at) || scheduler.is_some_and(|name| mentions(name, at))),
        ),
    ] {
        flags.extend(given.then(|| flag.to_owned()));
    }
    flags
}

/// True if one of our headers, or one that it includes, has this text. Computing the hash of a
/// packet's flow costs more than most AQMs, and its header need not be read, so a qdisc does so only
/// for headers that use them. (It also does it for every user's header, which can use them under
/// another name.)
fn mentions(name: &str, text: &str) -> bool {
    // they define all fields, and use none
    if ["aqm", "scheduler"].contains(&name) {
        return false;
    }
    let header = format!("{name}.h");
    let given = HEADERS.iter().find(|(known, _)| *known == header);
    given.is_some_and(|(_, header)| {
        let mut included = header
            .lines()
            .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix(".h\""));
        header.contains(text) || included.any(|name| mentions(name, text))
    })
}

/// Returns the name of the compiler for BPF on this machine.
///
/// # Errors
/// If there is none, or only a version that is too old.
pub fn compiler() -> Result<&'static str, KernelError> {
    let mut found = "clang compiles for BPF, and is not here".to_owned();
    for compiler in COMPILERS {
        let asked = Command::new(compiler).arg("-dumpversion").output();
        let Ok(answer) = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).into_owned())
        else {
            continue;
        };
        let version = answer.trim();
        let major = version.split('.').next().unwrap_or_default().parse();
        if major.is_ok_and(|major: u32| major >= OLDEST) {
            return Ok(compiler);
        }
        found = format!("{compiler} {version} is too old for BPF: it must be {OLDEST} or newer");
    }
    Err(KernelError::Missing(format!(
        "{found} (Debian: apt install clang-{OLDEST})"
    )))
}

/// Runs the compiler in a folder; `source` is what errors name.
pub(crate) fn run(folder: &Path, flags: &[String], source: &str) -> Result<(), KernelError> {
    let compiler = compiler()?;
    let done = Command::new(compiler)
        .current_dir(folder)
        .args(flags)
        .output()
        .map_err(|error| missing(&error))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(KernelError::Refused(format!(
        "{source}: {compiler} refuses it for BPF:\n{}",
        said.trim_end()
    )))
}

pub(crate) fn missing(error: &io::Error) -> KernelError {
    KernelError::Missing(format!("the compiler for BPF cannot run: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aqms_that_look_at_flows_are_known_by_their_headers_and_what_those_include() {
        let looking: Vec<&str> = sluice_aqm::all()
            .iter()
            .map(functions)
            .filter(|functions| mentions(functions, "flow_hash"))
            .collect();
        assert_eq!(looking, ["choke", "fred", "sred", "sfb"]);
        // registry.h has no `flow_hash` itself, but its includes have
        assert!(mentions("registry", "flow_hash"));
    }
}
