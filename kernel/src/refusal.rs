//! Loads objects into the kernel, and finds out why it refused one.

use std::{os::fd::AsFd, sync::Mutex};

use libbpf_rs::{
    AsRawLibbpf, Error, ErrorKind, Object as Loaded, ObjectBuilder, OpenObject, PrintLevel,
    libbpf_sys::bpf_program__set_log_buf, query::ProgInfoIter, set_print,
};

use crate::KernelError;

/// Bytes of the verifier's log that are kept for each program; of a longer log, its end.
const LOG_BYTES: usize = 1 << 24;

/// libbpf's messages about the last refusal. Static, as libbpf has one callback for a whole
/// process.
static SAID: Mutex<String> = Mutex::new(String::new());

fn hear(_level: PrintLevel, text: String) {
    SAID.lock().expect("no holder panics").push_str(&text);
}

/// Opens an object and lets `ready` change it; it is not loaded yet.
pub fn open(
    object: &[u8],
    ready: impl Fn(&mut OpenObject) -> Result<(), Error>,
) -> Result<OpenObject, Error> {
    set_print(None);
    let mut open = ObjectBuilder::default().open_memory(object)?;
    ready(&mut open)?;
    Ok(open)
}

/// Opens an object, lets `ready` change it, and loads it. `name` is that of its source, for errors.
pub fn load(
    name: &str,
    object: &[u8],
    ready: impl Fn(&mut OpenObject) -> Result<(), Error>,
) -> Result<Loaded, KernelError> {
    let open = || open(object, &ready).map_err(lost);
    match open()?.load() {
        Ok(loaded) => Ok(loaded),
        Err(error) => Err(refused(name, open()?, &error)?),
    }
}

/// Loads an object again to get the verifier's log; returns the error to report, with the line of
/// the header at which the verifier stopped.
fn refused(name: &str, mut open: OpenObject, error: &Error) -> Result<KernelError, KernelError> {
    let mut logs = Vec::new();
    for mut program in open.progs_mut() {
        let mut log = vec![0u8; LOG_BYTES];
        program.set_log_level(1);
        let raw = program.as_libbpf_object().as_ptr();
        // SAFETY: the log outlives the attempt to load, and its bytes do not move.
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

/// Returns the number of instructions that the verifier followed in all loaded programs of an
/// object.
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

/// Returns the reason in a verifier's log, and the line of the source. A log ends with the reason
/// and statistics; the last line that begins with a semicolon is the line of the source.
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
