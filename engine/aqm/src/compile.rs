//! AQMs of a user's own: a C header like those of `aqm/`, compiled and loaded.

use std::{
    collections::HashMap,
    fs, io,
    path::Path,
    process::{Command, Output},
    sync::{Mutex, PoisonError},
};

use crate::{
    HEADERS,
    class::{Class, LoadError, load},
};

const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-DAQM_HOSTED",
    "-Wall",
    "-Werror",
    "-Wno-unused",
    "-I.",
];

/// Compiles a user's AQM, whose name is that of its file. The same text is compiled once.
///
/// # Errors
/// If the file is missing, its name is no C identifier, there is no C compiler, or the compiler
/// refuses it; the compiler's own words are in the text.
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
    let failed = |error: io::Error| LoadError(format!("{name}: cannot be compiled: {error}"));
    let folder = tempfile::tempdir().map_err(failed)?;
    for (header, content) in HEADERS {
        fs::write(folder.path().join(header), content).map_err(failed)?;
    }
    let source = format!(
        "#include \"{name}.h\"\n\
         const struct aqm_class *sluice_aqm(void) {{ return &{name}_class; }}\n"
    );
    for (file, content) in [(format!("{name}.h"), text), ("user.c".into(), &source)] {
        fs::write(folder.path().join(file), content).map_err(failed)?;
    }
    let Output { status, stderr, .. } = Command::new("cc")
        .args(FLAGS)
        .args(["user.c", "-o", "user.so"])
        .current_dir(folder.path())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => LoadError(format!(
                "{name}: compiling an AQM needs a C compiler named cc, and there is none"
            )),
            _ => failed(error),
        })?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr);
        return Err(LoadError(format!(
            "{name}.h does not compile as an AQM:\n{}",
            said.trim_end()
        )));
    }
    // SAFETY: runs the user's own code, which is what the user asks for.
    unsafe { load(&folder.path().join("user.so")) }
        .map_err(|LoadError(what)| LoadError(format!("{name}.h: {what}")))
}
