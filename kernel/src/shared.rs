//! What Rust and BPF share: structs and numbers that are written in both languages. Each program that is
//! compiled for BPF includes [`agreement`], with which it does not compile where they differ.

use std::{fmt::Write as _, ptr};

use crate::{
    classes,
    compile::Program,
    counts,
    installed::{self, CMarked, CSample},
    judge::{self, COrder, Question},
    logged::{EVENTS, Happened},
    settings::{CFixed, CSettings, VICTIMS},
};

/// Name of the file with [`agreement`].
pub(crate) const FILE: &str = "agreement.h";

/// A struct as Rust has it: its name in C, its bytes, and name, offset and bytes of each field.
pub(crate) struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub fields: Vec<(&'static str, usize, usize)>,
}

/// Returns the [`Layout`] of a struct whose name in C is before `=`; all of its fields must be given.
macro_rules! layout {
    ($name:ident = $type:ident { $($field:ident),+ $(,)? }) => {{
        let _ = |every: $type| {
            let $type { $($field: _),+ } = every;
        };
        $crate::shared::Layout {
            name: stringify!($name),
            size: size_of::<$type>(),
            fields: vec![$((
                stringify!($field),
                std::mem::offset_of!($type, $field),
                $crate::shared::size_of_field(|of: &$type| &of.$field),
            )),+],
        }
    }};
}
pub(crate) use layout;

/// Returns the bytes of a field.
pub(crate) fn size_of_field<T, F>(_: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

impl Layout {
    /// True if there are no bytes between the fields, nor after them.
    #[cfg(test)]
    fn is_dense(&self) -> bool {
        self.fields.iter().map(|(_, _, size)| size).sum::<usize>() == self.size
    }

    /// Checks of each field and of the whole.
    fn checks(&self) -> Checks {
        let of = format!("struct {}", self.name);
        let mut checks = Checks::default();
        checks.equal(&format!("sizeof({of})"), self.size);
        for (field, offset, size) in &self.fields {
            checks.equal(&format!("__builtin_offsetof({of}, {field})"), *offset);
            checks.equal(&format!("sizeof((({of} *)0)->{field})"), *size);
        }
        checks
    }
}

/// Lines of C that do not compile if a number is another than in Rust.
#[derive(Default)]
pub(crate) struct Checks(String);

impl Checks {
    /// Adds a number: how C computes it, and what it is in Rust.
    pub fn equal(&mut self, in_c: &str, in_rust: usize) {
        writeln!(
            self.0,
            "_Static_assert({in_c} == {in_rust}, \"Rust and BPF differ: {in_c}\");"
        )
        .expect("a text grows");
    }

    /// Adds the constants of an enum: each begins with the same letters, and the last one, `end`, is
    /// their number.
    pub fn each<const N: usize>(&mut self, begin: &str, names: [&str; N], end: &str) {
        for (number, name) in names.into_iter().enumerate() {
            self.equal(&format!("{begin}{name}"), number);
        }
        self.equal(end, N);
    }
}

/// Returns the text of [`FILE`], which a program includes after all that it defines.
pub(crate) fn agreement(program: Program) -> String {
    let mut checks = Checks::default();
    match program {
        Program::Judge => {
            checks.equal("QUESTIONS", judge::QUESTIONS);
            for (asked, name) in judge::ASKED {
                checks.equal(&format!("ASKED_{name}"), asked as usize);
            }
            checks.equal("ASKED_WAYS", judge::ASKED.len());
            text(checks, [Question::layout(), COrder::layout()])
        }
        Program::Qdisc {
            has_classes, log, ..
        } => {
            checks.each("VICTIM_", VICTIMS, "VICTIMS");
            checks.each("HAPPENED_", EVENTS.map(|(in_c, _)| in_c), "HAPPENINGS");
            counts::check(&mut checks);
            installed::check(&mut checks);
            if has_classes {
                checks.equal("CLASS_MAP_MOST", classes::MOST);
            }
            let of_log = log.then(Happened::layout);
            let others = [
                CFixed::layout(),
                CSettings::layout(),
                crate::Counts::layout(),
                CSample::layout(),
                CMarked::layout(),
            ];
            text(checks, others.into_iter().chain(of_log))
        }
    }
}

fn text(checks: Checks, layouts: impl IntoIterator<Item = Layout>) -> String {
    let structs = layouts.into_iter().map(|layout| layout.checks().0);
    structs.fold(checks.0, |text, checks| text + &checks)
}

/// Returns a struct as bytes.
///
/// # Safety
/// It must be `repr(C)`, and have no bytes between its fields or after them.
pub(crate) unsafe fn bytes<T: Copy>(value: &T) -> Vec<u8> {
    // SAFETY: the bytes are those of the struct, and the caller knows that all have values.
    unsafe { std::slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<T>()) }.to_vec()
}

/// Reads a struct from as many bytes.
///
/// # Panics
/// If there are more bytes, or fewer.
///
/// # Safety
/// It must be `repr(C)`, and have numbers only.
pub(crate) unsafe fn read<T: Copy>(bytes: &[u8]) -> T {
    assert_eq!(bytes.len(), size_of::<T>(), "BPF has the same struct");
    // SAFETY: there are as many bytes, and the caller knows that any are numbers.
    unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{files, flags, run};

    /// What is read and written as bytes has a field for each.
    #[test]
    fn structs_have_no_bytes_between_their_fields() {
        for layout in [
            CFixed::layout(),
            CSettings::layout(),
            crate::Counts::layout(),
            CSample::layout(),
            CMarked::layout(),
            COrder::layout(),
            Happened::layout(),
        ] {
            assert!(layout.is_dense(), "{}", layout.name);
        }
    }

    /// A change in C of each struct and each enum, of what is behind a config, and of the number of
    /// classes: the compiler refuses all, and takes the text without a change.
    #[test]
    #[ignore = "needs clang: tests/test_bpf.py runs it"]
    fn a_program_that_differs_does_not_compile() {
        let qdisc = |scheduler, has_classes| Program::Qdisc {
            scheduler,
            has_classes,
            log: true,
        };
        for (program, changes) in [
            (Program::Judge, &OF_JUDGE[..]),
            (qdisc(None, false), &OF_QDISC),
            (qdisc(Some("fq"), false), &OF_SCHEDULER),
            (qdisc(Some("prio"), true), &OF_CLASSES),
        ] {
            assert_eq!(said(program, ("aqm.h", "", "")), "");
            for change in changes {
                let what = said(program, *change);
                let is_told = ["Rust and BPF differ", "no member"];
                assert!(
                    is_told.iter().any(|told| what.contains(told)),
                    "{change:?}: {what}"
                );
            }
        }
    }

    /// File, text, and what replaces it.
    type Change = (&'static str, &'static str, &'static str);

    const OF_JUDGE: [Change; 4] = [
        ("judge.bpf.c", "u32 asked;", "u64 asked;"),
        ("judge.bpf.c", "u64 took_ns;", "u64 took_us;"),
        (
            "judge.bpf.c",
            "ASKED_JOIN, ASKED_LEAVE",
            "ASKED_LEAVE, ASKED_JOIN",
        ),
        ("judge.bpf.c", "ASKED_WAYS", "ASKED_MORE, ASKED_WAYS"),
    ];
    const OF_QDISC: [Change; 13] = [
        ("instance.bpf.h", "u32 is_shaped;", "u64 is_shaped;"),
        ("instance.bpf.h", "u64 limit_bytes;", "u64 limit;"),
        (
            "instance.bpf.h",
            "u64 arrivals, arrived_bytes;",
            "u64 arrived_bytes, arrivals;",
        ),
        ("instance.bpf.h", "u32 is_used;", "u64 is_used;"),
        ("instance.bpf.h", "} config;", "} config; u64 more;"),
        (
            "instance.bpf.h",
            "VICTIM_TAIL, VICTIM_FRONT",
            "VICTIM_FRONT, VICTIM_TAIL",
        ),
        ("instance.bpf.h", "VICTIMS", "VICTIM_MORE, VICTIMS"),
        ("stats.bpf.h", "u32 ip_bytes;", "u64 ip_bytes;"),
        ("stats.bpf.h", "SOJOURNS, DELAYS", "DELAYS, SOJOURNS"),
        ("stats.bpf.h", "TIMES }", "MORE, TIMES }"),
        (
            "marks.bpf.h",
            "u64 set, unmarkable;",
            "u64 unmarkable, set;",
        ),
        ("logging.bpf.h", "u32 verdict;", "u32 decision;"),
        ("logging.bpf.h", "HAPPENINGS", "HAPPENED_MORE, HAPPENINGS"),
    ];
    const OF_SCHEDULER: [Change; 1] = [("instance.bpf.h", "} config;", "} config; u64 more;")];
    const OF_CLASSES: [Change; 1] = [("class_map.h", "CLASS_MAP_MOST 16", "CLASS_MAP_MOST 32")];

    /// Returns what the compiler says of a program with a change.
    fn said(program: Program, (changed, before, after): Change) -> String {
        let folder = tempfile::tempdir().unwrap();
        let red = [sluice_aqm::find("red").unwrap()];
        for (file, text) in files(program, &red) {
            assert!(
                file != changed || text.contains(before),
                "{changed}: {before}"
            );
            let text = match file == changed && !before.is_empty() {
                true => text.replacen(before, after, 1),
                false => text.into(),
            };
            std::fs::write(folder.path().join(file), text).unwrap();
        }
        let mut flags = flags(program, &red);
        flags.push("-fsyntax-only".into());
        let said = run(folder.path(), &flags, changed);
        said.err()
            .map_or_else(String::new, |error| error.to_string())
    }
}
