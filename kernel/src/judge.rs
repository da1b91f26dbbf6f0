//! An AQM in the kernel that answers questions.

use std::{
    ffi::OsStr,
    os::fd::{AsFd, AsRawFd},
};

use libbpf_rs::{
    AsRawLibbpf, Error, ErrorKind, Map, MapCore, MapFlags, ObjectBuilder, OpenObject, ProgramInput,
    libbpf_sys::{bpf_map_lookup_elem, bpf_map_update_elem, bpf_program__set_log_buf},
    query::ProgInfoIter,
    set_print,
};
use sluice_aqm::{Configured, Verdict, View};

use crate::{KernelError, compile::Object};

/// Questions that are answered at a time.
pub const QUESTIONS: usize = 16384;
/// What is kept of the verifier's words; of more, the end.
const LOG_BYTES: usize = 1 << 24;

/// What an AQM is asked or told.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To judge a packet that arrives.
    Arrive,
    /// To judge a packet that leaves.
    Depart,
    /// Its interval is over.
    Tick,
    /// A packet joined those that wait.
    Join,
    /// A packet left those that wait.
    Leave,
}

/// A question; `struct question` of `judge.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// What the AQM is shown.
    pub view: View,
    /// What it is asked.
    pub asked: Asked,
    /// The answer, a number of `enum aqm_verdict`.
    pub verdict: u32,
}

impl Question {
    /// A question without an answer.
    pub fn new(view: View, asked: Asked) -> Self {
        Self {
            view,
            asked,
            verdict: Verdict::Admit as u32,
        }
    }
}

/// The key of an array's first value.
static FIRST: u32 = 0;

/// An AQM in the kernel, with a state of its own.
pub struct Judge {
    object: libbpf_rs::Object,
    /// All that the program has, answered or not.
    table: Vec<Question>,
    state_bytes: usize,
}

impl Judge {
    /// Gives an AQM to the kernel, whose verifier follows all paths through it, with any
    /// parameters.
    ///
    /// # Errors
    /// If BPF may not be loaded, or if the verifier refuses the AQM: then with its reason and the
    /// line of the header.
    pub fn load(object: &Object, aqm: &Configured) -> Result<Self, KernelError> {
        set_print(None);
        let loaded = match open(object)?.load() {
            Ok(loaded) => loaded,
            Err(error) => return Err(refused(object, &error)?),
        };
        let judge = Self {
            object: loaded,
            table: vec![Question::new(View::default(), Asked::Tick); QUESTIONS],
            state_bytes: aqm.start().state().len(),
        };
        judge.write("config", aqm.config())?;
        Ok(judge)
    }

    /// Instructions that the verifier looked at.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn verified_instructions(&self) -> Result<u32, KernelError> {
        let program = self.object.progs().next().expect("judge.bpf.c has one");
        let id = libbpf_rs::Program::id_from_fd(program.as_fd()).map_err(lost)?;
        ProgInfoIter::default()
            .find(|info| info.id == id)
            .map(|info| info.verified_insns)
            .ok_or_else(|| KernelError::Missing("the kernel does not list its programs".into()))
    }

    /// Has up to [`QUESTIONS`] questions answered, in order; gives the time that it took in the
    /// kernel, ns.
    ///
    /// # Panics
    /// For more questions than that.
    ///
    /// # Errors
    /// If the kernel does not run the program.
    pub fn answer(&mut self, questions: &mut [Question]) -> Result<u64, KernelError> {
        self.table[..questions.len()].copy_from_slice(questions);
        let fd = self.map("questions").as_fd().as_raw_fd();
        let key = (&raw const FIRST).cast();
        let table = self.table.as_mut_ptr().cast();
        self.write("order", &(questions.len() as u64).to_ne_bytes())?;
        // SAFETY: the table is as large as the map's one value.
        check(unsafe { bpf_map_update_elem(fd, key, table, 0) })?;
        let program = self.object.progs_mut().next().expect("judge.bpf.c has one");
        program.test_run(ProgramInput::default()).map_err(lost)?;
        // SAFETY: likewise; the program changes verdicts and nothing else.
        check(unsafe { bpf_map_lookup_elem(fd, key, table) })?;
        questions.copy_from_slice(&self.table[..questions.len()]);
        let took_ns = self.read("order")?[8..16].try_into();
        Ok(u64::from_ne_bytes(took_ns.expect("eight bytes")))
    }

    /// The AQM's state of this moment.
    ///
    /// # Errors
    /// If the kernel does not give it.
    pub fn state(&self) -> Result<Vec<u8>, KernelError> {
        let mut state = self.read("state")?;
        state.truncate(self.state_bytes);
        Ok(state)
    }

    fn map(&self, name: &str) -> Map<'_> {
        let section = format!(".data.{name}");
        self.object
            .maps()
            .find(|map| map.name() == OsStr::new(&section))
            .expect("a section of judge.bpf.c")
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, KernelError> {
        let value = self.map(name).lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        Ok(value.map_err(lost)?.expect("an array has all its values"))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), KernelError> {
        let map = self.map(name);
        let mut value = bytes.to_vec();
        value.resize(map.value_size() as usize, 0);
        map.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY)
            .map_err(lost)
    }
}

fn check(code: i32) -> Result<(), KernelError> {
    if code < 0 {
        return Err(lost(Error::from_raw_os_error(-code)));
    }
    Ok(())
}

/// What the verifier said, with the line of the header that it was at.
fn refused(object: &Object, error: &Error) -> Result<KernelError, KernelError> {
    let mut log = vec![0u8; LOG_BYTES];
    let mut open = open(object)?;
    let mut program = open.progs_mut().next().expect("judge.bpf.c has one");
    program.set_log_level(1);
    let raw = program.as_libbpf_object().as_ptr();
    // SAFETY: the log outlives the attempt to load.
    check(unsafe { bpf_program__set_log_buf(raw, log.as_mut_ptr().cast(), LOG_BYTES as u64) })?;
    drop(open.load());
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(LOG_BYTES);
    Ok(match reason(&String::from_utf8_lossy(&log[..end])) {
        Some(reason) => KernelError::Refused(format!(
            "{}: the kernel's verifier refuses it: {reason}",
            object.name
        )),
        None if error.kind() == ErrorKind::PermissionDenied => {
            KernelError::Missing("BPF programs need root, or CAP_BPF and CAP_NET_ADMIN".into())
        }
        None => KernelError::Missing(format!("the kernel's BPF: {error:#}")),
    })
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

fn open(object: &Object) -> Result<OpenObject, KernelError> {
    ObjectBuilder::default()
        .open_memory(&object.bytes)
        .map_err(lost)
}

fn lost(error: Error) -> KernelError {
    KernelError::Missing(format!("the kernel's BPF: {error:#}"))
}
