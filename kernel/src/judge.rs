//! An AQM in the kernel that answers questions: each question is a view and a function to call.

use std::{
    ffi::OsStr,
    os::fd::{AsFd, AsRawFd},
};

use libbpf_rs::{
    Map, MapCore, MapFlags, ProgramInput,
    libbpf_sys::{bpf_map_lookup_elem, bpf_map_update_elem},
};
use sluice_aqm::{Asked, Configured, View};

use crate::{
    KernelError,
    compile::Object,
    refusal::{check, load, lost, verified_instructions},
    shared::{Layout, bytes, layout, read},
};

/// Questions that are answered in one call.
pub const QUESTIONS: usize = 16384;

/// Names of `enum asked`, whose numbers are those of [`Asked`].
pub(crate) const ASKED: [(Asked, &str); 5] = [
    (Asked::Arrive, "ARRIVE"),
    (Asked::Depart, "DEPART"),
    (Asked::Tick, "TICK"),
    (Asked::Join, "JOIN"),
    (Asked::Leave, "LEAVE"),
];

/// `struct order`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct COrder {
    count: u64,
    took_ns: u64,
}

impl COrder {
    pub fn layout() -> Layout {
        layout!(order = COrder { count, took_ns })
    }
}

/// A question; `struct question` of `judge.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The view that the AQM gets.
    pub view: View,
    /// The function that is called.
    pub asked: Asked,
    /// The answer, a number of `enum aqm_verdict`.
    pub verdict: u32,
}

impl Question {
    pub(crate) fn layout() -> Layout {
        layout!(
            question = Question {
                view,
                asked,
                verdict
            }
        )
    }

    /// Returns a question that is not answered yet: its `verdict` is `u32::MAX`.
    pub fn new(view: View, asked: Asked) -> Self {
        Self {
            view,
            asked,
            verdict: u32::MAX,
        }
    }
}

/// The key of an array's first value.
static FIRST: u32 = 0;

/// An AQM in the kernel, with a state of its own.
pub struct Judge {
    object: libbpf_rs::Object,
    /// A copy of the program's map of questions.
    table: Vec<Question>,
    state_bytes: usize,
}

impl Judge {
    /// Loads an AQM into the kernel, whose verifier follows all paths through it, with any
    /// parameters.
    ///
    /// # Errors
    /// If BPF programs may not be loaded, or if the verifier refuses the AQM: the error then has the
    /// reason and the line of the header.
    pub fn load(object: &Object, aqm: &Configured) -> Result<Self, KernelError> {
        let judge = Self {
            object: load(&object.name, &object.bytes, |_| Ok(()))?,
            table: vec![Question::new(View::default(), Asked::Tick); QUESTIONS],
            state_bytes: aqm.start().state().len(),
        };
        judge.write("config", aqm.config())?;
        Ok(judge)
    }

    /// Returns the number of instructions that the verifier followed.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn verified_instructions(&self) -> Result<u32, KernelError> {
        verified_instructions(&self.object)
    }

    /// Answers up to [`QUESTIONS`] questions, in order; returns the time that it took in the
    /// kernel, ns.
    ///
    /// # Panics
    /// If there are more than [`QUESTIONS`].
    ///
    /// # Errors
    /// If the kernel does not run the program.
    pub fn answer(&mut self, questions: &mut [Question]) -> Result<u64, KernelError> {
        self.table[..questions.len()].copy_from_slice(questions);
        let fd = self.map("questions").as_fd().as_raw_fd();
        let key = (&raw const FIRST).cast();
        let table = self.table.as_mut_ptr().cast();
        let order = COrder {
            count: questions.len() as u64,
            took_ns: 0,
        };
        // SAFETY: its layout is dense, which a test checks.
        self.write("order", &unsafe { bytes(&order) })?;
        // SAFETY: the table is as large as the map's one value.
        check(unsafe { bpf_map_update_elem(fd, key, table, 0) })?;
        let program = self.object.progs_mut().next().expect("judge.bpf.c has one");
        program.test_run(ProgramInput::default()).map_err(lost)?;
        // SAFETY: the table is as large as the value; the program changes only verdicts in it, so
        // it still holds valid questions.
        check(unsafe { bpf_map_lookup_elem(fd, key, table) })?;
        questions.copy_from_slice(&self.table[..questions.len()]);
        // SAFETY: it is `repr(C)`, and has numbers only.
        let order: COrder = unsafe { read(&self.read("order")?) };
        Ok(order.took_ns)
    }

    /// Returns the AQM's present state.
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
