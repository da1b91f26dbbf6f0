//! From a header to a BPF object.

use std::{fs, io, path::Path, process::Command};

use sluice_aqm::{Class, HEADERS};
use tempfile::tempdir;

use crate::KernelError;

const PROGRAM: &str = include_str!("judge.bpf.c");
/// clang speaks BPF; gcc needs another compiler for it. The plain name last: it may be an old one.
const COMPILERS: [&str; 4] = ["clang-21", "clang-20", "clang-19", "clang"];
const FLAGS: [&str; 9] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-O2",
    "-Wall",
    "-Werror",
    "-Wno-unused",
    "-I.",
];

/// An AQM compiled for BPF, not yet seen by a kernel.
pub struct Object {
    pub(crate) bytes: Vec<u8>,
    pub(crate) name: String,
}

/// Compiles an AQM for BPF; `own` is the text of its header where it is a user's.
///
/// # Errors
/// If no clang is here, or if it refuses the header; its own words are in the text.
pub fn compile(class: &Class, own: Option<&str>) -> Result<Object, KernelError> {
    let folder = tempdir().map_err(|error| missing(&error))?;
    let functions = class.base.as_deref().unwrap_or(&class.name);
    let name = format!("{}.h", class.name);
    let given = HEADERS.iter().map(|(name, text)| (*name, *text));
    for (file, text) in given.chain(own.map(|text| (name.as_str(), text))) {
        fs::write(folder.path().join(file), text).map_err(|error| missing(&error))?;
    }
    fs::write(folder.path().join("judge.bpf.c"), PROGRAM).map_err(|error| missing(&error))?;
    let has = class.functions();
    let mut flags: Vec<String> = FLAGS.map(str::to_owned).to_vec();
    flags.push(format!("-DHEADER=\"{name}\""));
    flags.push(format!("-DAQM={functions}"));
    for (flag, given) in [
        ("-DHAS_DEPART", has.depart),
        ("-DHAS_TICK", has.tick),
        ("-DHAS_OCCUPANCY", has.occupancy),
    ] {
        flags.extend(given.then(|| flag.to_owned()));
    }
    flags.extend(["-c", "judge.bpf.c", "-o", "judge.o"].map(str::to_owned));
    run(folder.path(), &flags, &name)?;
    Ok(Object {
        bytes: fs::read(folder.path().join("judge.o")).map_err(|error| missing(&error))?,
        name,
    })
}

/// Runs the first compiler that is here.
fn run(folder: &Path, flags: &[String], header: &str) -> Result<(), KernelError> {
    for compiler in COMPILERS {
        let done = match Command::new(compiler)
            .current_dir(folder)
            .args(flags)
            .output()
        {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            done => done.map_err(|error| missing(&error))?,
        };
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(KernelError::Refused(format!(
            "{header}: {compiler} refuses it for BPF:\n{}",
            said.trim_end()
        )));
    }
    Err(KernelError::Missing(
        "clang compiles for BPF, and is not here (Debian: clang-19)".into(),
    ))
}

fn missing(error: &io::Error) -> KernelError {
    KernelError::Missing(format!("the compiler for BPF cannot run: {error}"))
}
