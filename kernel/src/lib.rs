//! The AQMs in the Linux kernel: a header of `aqm/`, or a user's own, compiled for BPF, held against
//! the kernel's verifier, and run by its JIT.
//!
//! [`compile()`] makes an object of a header, [`Judge::load`] gives it to the kernel, and
//! [`Judge::answer`] asks it what a world asks an AQM. [`Kind::install`] makes the kernel have it as
//! a kind of qdisc.

mod at_work;
mod compile;
mod counts;
mod device;
mod judge;
mod logged;
mod made_of;
mod marks;
mod memory;
mod qdisc;
mod refusal;
mod settings;

pub use at_work::{AtWork, SAMPLED, Standing};
pub use compile::{Object, Program, compile, compiler};
pub use counts::Counts;
pub use device::Device;
pub use judge::{Judge, QUESTIONS, Question};
pub use logged::{Happened, LOG_COLUMNS};
pub use qdisc::{KINDS, Kind, Owner, check_kernel};
pub use settings::{Fixed, Order, Settings};

use sluice_aqm::{Class, Configured};
use thiserror::Error;

/// Why an AQM is not in the kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// Something that this machine lacks, and how to get it.
    #[error("{0}")]
    Missing(String),
    /// What the compiler or the verifier said against the header, with its name.
    #[error("{0}")]
    Refused(String),
}

/// Has the kernel's verifier look at an AQM, with any parameters; gives the instructions that it
/// looked at.
///
/// # Errors
/// If the compiler or the verifier refuses it, or if something is missing on this machine.
pub fn verify(class: &'static Class) -> Result<u32, KernelError> {
    let aqm = Configured::new(class, &[]).expect("defaults obey the rules");
    Judge::load(&compile(Program::Judge, class)?, &aqm)?.verified_instructions()
}
