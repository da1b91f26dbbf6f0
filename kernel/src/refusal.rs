//! Gives objects to the kernel, and finds out why it refused one.

use std::{os::fd::AsFd, sync::Mutex};

use libbpf_rs::{
    AsRawLibbpf, Error, ErrorKind, Object as Loaded, ObjectBuilder, OpenObject, PrintLevel,
    libbpf_sys::bpf_program__set_log_buf, query::ProgInfoIter, set_print,
};

use crate::{KernelError, compile::Object};

/// What is kept of the verifier's words on a program; of more, the end.
const LOG_BYTES: usize = 1 << 24;

/// What libbpf, which has one ear for a whole process, said of the last refusal.
static SAID: Mutex<String> = Mutex::new(String::new());

fn hear(_level: PrintLevel, text: String) {
    SAID.lock().expect("no holder panics").push_str(&text);
}

/// An object that is made `ready`, not loaded yet.
pub fn open(
    object: &Object,
    ready: impl Fn(&mut OpenObject) -> Result<(), Error>,
) -> Result<OpenObject, Error> {
    set_print(None);
    let mut open = ObjectBuilder::default().open_memory(&object.bytes)?;
    ready(&mut open)?;
    Ok(open)
}

/// Loads an object that is made `ready` first.
pub fn load(
    object: &Object,
    ready: impl Fn(&mut OpenObject) -> Result<(), Error>,
) -> Result<Loaded, KernelError> {
    let open = || open(object, &ready).map_err(lost);
    match open()?.load() {
        Ok(loaded) => Ok(loaded),
        Err(error) => Err(refused(&object.name, open()?, &error)?),
    }
}

/// What the verifier says, with the line of the header that it is at.
fn refused(name: &str, mut open: OpenObject, error: &Error) -> Result<KernelError, KernelError> {
    let mut logs = Vec::new();
    for mut program in open.progs_mut() {
        let mut log = vec![0u8; LOG_BYTES];
        program.set_log_level(1);
        let raw = program.as_libbpf_object().as_ptr();
        // SAFETY: the log, whose bytes stay where they are, outlives the attempt to load.
        check(unsafe { bpf_program__set_log_buf(raw, log.as_mut_ptr().cast(), LOG_BYTES as u64) })?;
        logs.push(log);
    }
    SAID.lock().expect("no holder panics").clear();
    set_print(Some((PrintLevel::Warn, hear)));
    drop(open.load());
    set_print(None);
    // the programs are loaded in their order, up to the one that is refused
    let log = logs.iter().rev().find(|log| log[0] != 0);
    let log = log.map_or(&[][..], |log| log.split(|byte| *byte == 0).next().unwrap());
    Ok(match reason(&String::from_utf8_lossy(log)) {
        Some(reason) => KernelError::Refused(format!(
            "{name}: the kernel's verifier refuses it: {reason}"
        )),
        None if error.kind() == ErrorKind::PermissionDenied => {
            KernelError::Missing("BPF programs need root, or CAP_BPF and CAP_NET_ADMIN".into())
        }
        None => {
            let said = SAID.lock().expect("no holder panics");
            KernelError::Missing(format!("the kernel's BPF: {error:#}\n{}", said.trim_end()))
        }
    })
}

/// Instructions that the verifier looked at, in all programs of an object that are loaded.
pub fn verified_instructions(object: &Loaded) -> Result<u32, KernelError> {
    let ids = object
        .progs()
        .filter(|program| program.autoload())
        .map(|program| libbpf_rs::Program::id_from_fd(program.as_fd()));
    let ids: Vec<u32> = ids.collect::<Result<_, _>>().map_err(lost)?;
    let known = ProgInfoIter::default().filter(|info| ids.contains(&info.id));
    let counts: Vec<u32> = known.map(|info| info.verified_insns).collect();
    if counts.len() < ids.len() {
        return Err(KernelError::Missing(
            "the kernel does not list its programs".into(),
        ));
    }
    Ok(counts.iter().sum())
}

/// The reason, and where: the last lines of a log are the reason and what was counted; the last
/// line that begins with a semicolon is of the source.
fn reason(log: &str) -> Option<String> {
    let counted = |line: &&str| {
        ["processed ", "verification time", "stack depth"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let reason = log
        .lines()
        .rev()
        .find(|line| !counted(line) && !line.is_empty())?;
    let line = log.lines().rev().find_map(|line| line.strip_prefix("; "));
    Some(line.map_or_else(|| reason.to_owned(), |line| format!("{reason}, at: {line}")))
}

pub fn check(code: i32) -> Result<(), KernelError> {
    if code < 0 {
        return Err(lost(Error::from_raw_os_error(-code)));
    }
    Ok(())
}

pub fn lost(error: Error) -> KernelError {
    KernelError::Missing(format!("the kernel's BPF: {error:#}"))
}
