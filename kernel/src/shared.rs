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

    /// Adds the constants of an enum: each begins with the same letters.
    fn each<'a>(&mut self, begin: &str, names: impl IntoIterator<Item = &'a str>) {
        for (number, name) in names.into_iter().enumerate() {
            self.equal(&format!("{begin}{name}"), number);
        }
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
            text(checks, [Question::layout(), COrder::layout()])
        }
        Program::Qdisc {
            has_classes, log, ..
        } => {
            checks.each("VICTIM_", VICTIMS);
            checks.each("HAPPENED_", EVENTS.map(|(in_c, _)| in_c));
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
    use crate::compile::{FLAGS, compiler, files, run};

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

    /// Each change of a name, an order or a number in C is refused by the compiler.
    #[test]
    fn a_program_whose_structs_differ_does_not_compile() {
        if compiler().is_err() {
            return;
        }
        let program = Program::Qdisc {
            scheduler: None,
            has_classes: false,
            log: true,
        };
        let red = sluice_aqm::find("red").unwrap();
        for (changed, before, after) in [
            ("red.h", "", ""),
            (
                "instance.bpf.h",
                "u64 arrivals, arrived_bytes;",
                "u64 arrived_bytes, arrivals;",
            ),
            ("instance.bpf.h", "u32 is_shaped;", "u64 is_shaped;"),
            (
                "instance.bpf.h",
                "VICTIM_TAIL, VICTIM_FRONT",
                "VICTIM_FRONT, VICTIM_TAIL",
            ),
            ("logging.bpf.h", "u32 verdict;", "u32 decision;"),
            ("stats.bpf.h", "#define TIMES 3", "#define TIMES 4"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for (file, text) in files(program, &[red]) {
                assert!(
                    file != changed || text.contains(before),
                    "{changed}: {before}"
                );
                let text = if file == changed && !before.is_empty() {
                    text.replace(before, after)
                } else {
                    text.into()
                };
                std::fs::write(folder.path().join(file), text).unwrap();
            }
            let given = "-DHEADER=\"red.h\" -DAQM=red -DMADE_OF=\"\" -DSHA256=\"\" -DLOGS -DHAS_TICK \
                         -fsyntax-only qdisc.bpf.c";
            let flags = FLAGS.into_iter().chain(given.split_whitespace());
            let flags: Vec<String> = flags.map(str::to_owned).collect();
            let said = run(folder.path(), &flags, changed);
            assert_eq!(
                said.is_ok(),
                before.is_empty(),
                "{changed}: {before}: {said:?}"
            );
            if let Err(error) = said {
                let what = error.to_string();
                assert!(
                    what.contains("differ") || what.contains("no member"),
                    "{what}"
                );
            }
        }
    }
}
