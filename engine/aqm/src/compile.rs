//! AQMs of a user: a C header like those of `aqm/` is compiled, checked against the rules, tried
//! in a process of its own, and loaded.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, PoisonError},
};

use crate::{
    HEADERS,
    advice::advice,
    class::{Class, LoadError},
    forgotten::forgotten,
    guard,
    library::read_library,
    program::{self, Ended},
    rules,
    trial::Trial,
};

const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O2",
    // line numbers show where a trial stopped; with the DWARF 5 of gcc 12, addr2line of binutils
    // 2.40 names a wrong file for an inlined function
    "-g1",
    "-gdwarf-4",
    "-fPIC",
    "-DAQM_HOSTED",
    "-Wall",
    "-Werror",
    "-Wno-unused",
    // what is const, such as the config and the view, stays so
    "-Wcast-qual",
    "-Wframe-larger-than=65536",
    "-I.",
];

/// Option that makes the compiler refuse floating point; only compilers for some processors know
/// it.
const NO_FLOATS: &str = "-mgeneral-regs-only";
const HAS_NO_FLOATS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Greatest size of a header, bytes: a hundred times that of the largest of `aqm/`.
const MOST_BYTES: u64 = 1 << 20;
/// Most lines that are shown of what the compiler says.
const MOST_LINES: usize = 40;

/// Libraries that were compiled by another process, by the path of the header.
static ADOPTED: Mutex<Option<HashMap<PathBuf, &'static Class>>> = Mutex::new(None);

/// Compiles a user's AQM; its name is the name of the file. The same text is compiled and tried
/// only once.
///
/// # Errors
/// If the file is missing, its name is no C identifier, there is no C compiler, or the compiler
/// refuses it (the error contains the compiler's output); if it breaks the rules of `aqm.h`, or if
/// it fails when it is tried.
pub fn compile(path: &Path) -> Result<&'static Class, LoadError> {
    static COMPILED: Mutex<Option<HashMap<(String, String), &'static Class>>> = Mutex::new(None);
    let adopted = ADOPTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(class) = adopted.as_ref().and_then(|all| all.get(path)) {
        return Ok(class);
    }
    drop(adopted);
    let refuse = |what: String| LoadError(format!("{}: {what}", path.display()));
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let name = name
        .filter(|name| is_identifier(name))
        .ok_or_else(|| refuse("the file's name must be the AQM's, a C identifier".into()))?;
    let text = read(path).map_err(refuse)?;

    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let compiled = compiled.get_or_insert_default();
    let key = (name.to_owned(), text);
    if let Some(class) = compiled.get(&key) {
        return Ok(class);
    }
    let class = build(name, &key.1)?;
    compiled.insert(key, class);
    Ok(class)
}

/// Takes the library of a header from the process that compiled and tried it: [`compile`] then
/// returns its class for this path, and reads and tries nothing.
///
/// # Errors
/// If the library cannot be written or loaded.
pub fn adopt(path: &Path, library: &[u8]) -> Result<(), LoadError> {
    let cannot = |error: io::Error| LoadError(format!("{}: {error}", path.display()));
    let folder = tempfile::tempdir().map_err(cannot)?;
    let file = folder.path().join("user.so");
    fs::write(&file, library).map_err(cannot)?;
    // SAFETY: runs the user's own code, as the user asks.
    let class = unsafe { read_library(&file) }?;
    let mut adopted = ADOPTED.lock().unwrap_or_else(PoisonError::into_inner);
    let adopted = adopted.get_or_insert_default();
    // the same class for the same code: two configurations of it are then equal
    if adopted
        .get(path)
        .is_none_or(|known| known.fingerprint != class.fingerprint)
    {
        adopted.insert(path.to_owned(), Box::leak(Box::new(class)));
    }
    Ok(())
}

/// Returns the text of a header; the error says what is wrong with the file.
fn read(path: &Path) -> Result<String, String> {
    let shown = |error: io::Error| {
        let shown = error.to_string();
        shown
            .split(" (os error")
            .next()
            .unwrap_or(&shown)
            .to_owned()
    };
    // a pipe or a device may have no end, and the header is read more than once
    let about = fs::metadata(path).map_err(shown)?;
    if about.is_dir() {
        return Err("is a folder and must be a C header".into());
    }
    if !about.is_file() {
        return Err("is a pipe or a device and must be a file".into());
    }
    if about.len() > MOST_BYTES {
        return Err(format!(
            "has {} bytes; a header has at most {MOST_BYTES}",
            about.len()
        ));
    }
    let bytes = fs::read(path).map_err(shown)?;
    String::from_utf8(bytes).map_err(|_| "not a text file".into())
}

fn is_identifier(name: &str) -> bool {
    let mut all = name.chars();
    let first = all.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && all.all(|each| each.is_ascii_alphanumeric() || each == '_')
}

fn build(name: &str, text: &str) -> Result<&'static Class, LoadError> {
    let folder = tempfile::tempdir().map_err(|error| failed(name, &error))?;
    let source = format!(
        "#include \"{name}.h\"\n\
         const struct aqm_class *sluice_aqm(void) {{ return &{name}_class; }}\n"
    );
    let own = [(format!("{name}.h"), text), ("user.c".into(), &source)];
    let given = HEADERS
        .iter()
        .map(|(header, content)| ((*header).into(), *content));
    for (file, content) in given.chain(own) {
        fs::write(folder.path().join(file), content).map_err(|error| failed(name, &error))?;
    }
    let of_header = |what: String| LoadError(format!("{name}.h: {what}"));
    object(name, text, folder.path())?;
    let object = fs::read(folder.path().join("user.o")).map_err(|error| failed(name, &error))?;
    rules::check(name, &object).map_err(of_header)?;
    link(name, folder.path())?;
    let trial = Trial::build(name, folder.path())?;
    // checked before any of its code runs in this process
    trial.read_table().map_err(of_header)?;
    // SAFETY: runs the user's own code, as the user asks.
    let mut class = unsafe { read_library(&folder.path().join("user.so")) }
        .map_err(|LoadError(what)| of_header(what))?;
    if let Some(what) = forgotten(name, text, class.code) {
        return Err(of_header(what));
    }
    trial.run(&class).map_err(of_header)?;
    class.header = Some(text.to_owned());
    Ok(Box::leak(Box::new(class)))
}

/// Compiles `user.c` to `user.o`.
fn object(name: &str, text: &str, folder: &Path) -> Result<(), LoadError> {
    let compile = |more: &[&str]| {
        let arguments = [FLAGS, &["-c", "user.c", "-o", "user.o"], more].concat();
        cc(name, folder, &arguments)
    };
    let done = match compile(if HAS_NO_FLOATS { &[NO_FLOATS] } else { &[] }) {
        // the compiler does not know the option
        Err(LoadError(said)) if said.contains(NO_FLOATS) => compile(&[]),
        done => done,
    };
    done.map_err(|LoadError(said)| match advice(name, text, &said) {
        Some(advice) => LoadError(format!("{said}\n{advice}")),
        None => LoadError(said),
    })
}

/// Links `user.o` to `user.so`, with the guard.
fn link(name: &str, folder: &Path) -> Result<(), LoadError> {
    fs::write(folder.join("guard.c"), guard::SOURCE).map_err(|error| failed(name, &error))?;
    let named = format!("-DAQM_NAME=\"{name}\"");
    // -s removes the line numbers, which contain the folder's name: the library's hash must not
    // depend on it
    let flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DAQM_HOSTED", "-I.", &named];
    let files = ["guard.c", "user.o", "-o", "user.so"];
    let how = ["-O2", "-fPIC", "-shared", "-s"];
    cc(
        name,
        folder,
        &[&how[..], rules::SEALED, &flags, &files].concat(),
    )
}

fn failed(name: &str, error: &io::Error) -> LoadError {
    LoadError(format!("{name}: cannot be compiled: {error}"))
}

/// Runs the compiler in `folder`; the error contains the compiler's output.
pub(crate) fn cc(name: &str, folder: &Path, arguments: &[&str]) -> Result<(), LoadError> {
    let ended = program::run(Command::new("cc").args(arguments), folder);
    let Ended { status, stderr, .. } = ended.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LoadError(format!(
            "{name}: compiling an AQM needs a C compiler named cc, and there is none"
        )),
        _ => failed(name, &error),
    })?;
    if status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let mut lines: Vec<&str> = stderr.trim_end().lines().collect();
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        lines.push("...");
    }
    if status.is_none() || lines.iter().any(|line| is_of_limits(line)) {
        lines.push(
            "The compiler was ended: it has 30 s of processor time, a minute, and 1 GiB. Does the \
             header include what has no end, such as a pipe or a device?",
        );
    }
    Err(LoadError(format!(
        "{name}.h does not compile as an AQM:\n{}",
        lines.join("\n")
    )))
}

/// True if the compiler says that it came to one of its limits.
fn is_of_limits(line: &str) -> bool {
    [
        "out of memory",
        "emory exhausted",
        "signal terminated",
        "File size limit",
    ]
    .iter()
    .any(|words| line.contains(words))
}
