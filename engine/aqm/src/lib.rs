//! A safe interface to the AQMs of `aqm/`.
//!
//! [`Class`] describes an AQM (its parameters, its rules, its drop function), [`Configured`] is an
//! AQM with its parameters set, and [`Running`] is an instance with its state. [`Discipline`] adds
//! what the queue decides: the limit, the victim and marking.

mod class;
mod compile;
mod discipline;
#[path = "../../../aqm/aqm.rs"]
mod ffi;
mod guard;
mod nearest;
#[cfg(test)]
mod other_programs;
mod params;
mod program;
mod rules;
mod scheduler;
mod sealed;
mod source;
mod trial;

pub use class::{Class, Functions, LoadError, all, find, find_scheduler, load, schedulers};
pub use compile::{adopt, compile};
pub use discipline::{Aqm, Asked, Configured, Discipline, Running, Victim};
pub use ffi::{LaneView, Verdict, View};
pub use nearest::nearest;
pub use params::{ONE, Param, ParamError, Scale, Value};
pub use program::end_programs;
pub use scheduler::Scheduler;
pub use source::{AnyAqm, AqmSource};

/// A time (ns), or the number of a slot, that never comes.
pub const NEVER: u64 = u64::MAX;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));
