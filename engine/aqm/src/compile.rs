//! AQMs of a user: a C header like those of `aqm/` is compiled, checked against the rules, tried
//! in a process of its own, and loaded.

use std::{
    collections::HashMap,
    fs, io,
    path::Path,
    process::{Command, Output},
    sync::{Mutex, PoisonError},
};

use crate::{
    HEADERS,
    class::{Class, LoadError, read_library},
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
    "-Wframe-larger-than=65536",
    "-I.",
];

/// Option that makes the compiler refuse floating point; only compilers for some processors know
/// it.
const NO_FLOATS: &str = "-mgeneral-regs-only";
const HAS_NO_FLOATS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Compiles a user's AQM; its name is the name of the file. The same text is compiled and tried
/// only once.
///
/// # Errors
/// If the file is missing, its name is no C identifier, there is no C compiler, or the compiler
/// refuses it (the error contains the compiler's output); if it breaks the rules of `aqm.h`, or if
/// it fails when it is tried.
pub fn compile(path: &Path) -> Result<&'static Class, LoadError> {
    static COMPILED: Mutex<Option<HashMap<(String, String), &'static Class>>> = Mutex::new(None);
    let refuse = |what: String| LoadError(format!("{}: {what}", path.display()));
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let name = name
        .filter(|name| is_identifier(name))
        .ok_or_else(|| refuse("the file's name must be the AQM's, a C identifier".into()))?;
    let bytes = fs::read(path).map_err(|error| {
        let shown = error.to_string();
        refuse(shown.split(" (os error").next().unwrap_or(&shown).into())
    })?;
    let text = String::from_utf8(bytes).map_err(|_| refuse("not a text file".into()))?;

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
    object(name, folder.path())?;
    let object = fs::read(folder.path().join("user.o")).map_err(|error| failed(name, &error))?;
    rules::check(name, &object).map_err(of_header)?;
    // -s removes the line numbers, which contain the folder's name: the library's hash must not
    // depend on it
    cc(
        name,
        folder.path(),
        &["-shared", "-s", "user.o", "-o", "user.so"],
    )?;
    let trial = Trial::build(name, folder.path())?;
    // checked before any of its code runs in this process
    trial.read_table().map_err(of_header)?;
    // SAFETY: runs the user's own code, as the user asks.
    let mut class = unsafe { read_library(&folder.path().join("user.so")) }
        .map_err(|LoadError(what)| of_header(what))?;
    trial.run(&class).map_err(of_header)?;
    class.header = Some(text.to_owned());
    Ok(Box::leak(Box::new(class)))
}

/// Compiles `user.c` to `user.o`.
fn object(name: &str, folder: &Path) -> Result<(), LoadError> {
    let compile = |more: &[&str]| {
        let arguments = [FLAGS, &["-c", "user.c", "-o", "user.o"], more].concat();
        cc(name, folder, &arguments)
    };
    if !HAS_NO_FLOATS {
        return compile(&[]);
    }
    match compile(&[NO_FLOATS]) {
        // the compiler does not know the option
        Err(LoadError(said)) if said.contains(NO_FLOATS) => compile(&[]),
        Err(LoadError(said)) if said.contains("SSE") || said.contains("floating-point") => {
            Err(LoadError(format!(
                "{said}\nAn AQM uses no floating point: fixed.h has the arithmetic."
            )))
        }
        done => done,
    }
}

fn failed(name: &str, error: &io::Error) -> LoadError {
    LoadError(format!("{name}: cannot be compiled: {error}"))
}

/// Runs the compiler in `folder`; the error contains the compiler's output.
pub(crate) fn cc(name: &str, folder: &Path, arguments: &[&str]) -> Result<(), LoadError> {
    let Output { status, stderr, .. } = Command::new("cc")
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LoadError(format!(
                "{name}: compiling an AQM needs a C compiler named cc, and there is none"
            )),
            _ => failed(name, &error),
        })?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        return Err(LoadError(format!(
            "{name}.h does not compile as an AQM:\n{}",
            said.trim_end()
        )));
    }
    Ok(())
}
