//! AQMs in the Linux kernel: a header of `aqm/`, or a user's own, is compiled for BPF, checked by
//! the kernel's verifier, and run by its JIT.
//!
//! [`compile()`] makes an object of a header. [`Judge::load`] loads it into the kernel, and
//! [`Judge::answer`] makes the calls that a world makes of an AQM. [`QdiscKind::install`] registers it as
//! a kind of qdisc.

mod classes;
mod compile;
mod counts;
mod device;
mod installed;
mod judge;
mod logged;
mod made_of;
mod marks;
mod memory;
pub mod prague;
mod qdisc;
mod refusal;
mod settings;
mod shared;

pub use compile::{Object, Program, compile, compiler};
pub use counts::Counts;
pub use device::Device;
pub use installed::{Installed, Sample, Snapshot};
pub use judge::{Judge, QUESTIONS, Question};
pub use logged::{Happened, log_columns};
pub use qdisc::{KINDS, Owner, QdiscKind, check_kernel};
pub use settings::{Fixed, Settings};

use sluice_aqm::{Class, Configured};
use thiserror::Error;

/// Reason for which an AQM cannot run in the kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// What is missing or in the way on this machine, and often how to mend it.
    #[error("{0}")]
    Missing(String),
    /// Message with which the compiler or the verifier refused the header, with the header's name.
    #[error("{0}")]
    Refused(String),
}

/// Checks an AQM by the kernel's verifier, with any parameters; returns the number of instructions
/// that it followed.
///
/// # Errors
/// If the compiler or the verifier refuses it, or if something is missing on this machine.
pub fn verify(class: &'static Class) -> Result<u32, KernelError> {
    let aqm = Configured::new(class, &[]).expect("defaults obey the rules");
    Judge::load(&compile(Program::Judge, &[class])?, &aqm)?.verified_instructions()
}
