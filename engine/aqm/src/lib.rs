//! A safe interface to the AQMs of `aqm/`.
//!
//! [`Class`] describes an AQM (its parameters, its rules, its drop function), [`Configured`] is an
//! AQM with its parameters set, and [`Running`] is an instance with its state. [`BufferPolicy`] adds
//! what the queue decides: the limit, the victim and marking.

#[cfg(unix)]
mod advice;
mod class;
#[cfg_attr(not(unix), path = "elsewhere/compile.rs")]
mod compile;
mod discipline;
mod faults;
#[path = "../../../aqm/aqm.rs"]
mod ffi;
#[cfg(unix)]
mod forgotten;
#[cfg_attr(not(unix), path = "elsewhere/guard.rs")]
mod guard;
#[cfg(unix)]
mod library;
mod nearest;
#[cfg(test)]
mod other_programs;
mod params;
#[cfg(unix)]
mod program;
#[cfg(unix)]
mod rules;
mod scheduler;
#[cfg_attr(not(unix), path = "elsewhere/sealed.rs")]
mod sealed;
mod source;
#[cfg(unix)]
mod trial;

pub use class::{
    Class, Functions, LoadError, all, coupled, disciplines, find, find_scheduler, schedulers,
};
#[cfg(unix)]
pub use compile::adopt;
pub use compile::compile;
pub use discipline::{Aqm, Asked, BufferPolicy, Configured, Running, Victim};
pub use ffi::{LaneView, Verdict, View};
#[cfg(unix)]
pub use library::load;
pub use nearest::nearest;
pub use params::{ONE, Param, ParamError, Scale, Value};
#[cfg(unix)]
pub use program::end_programs;
pub use scheduler::{AckFilter, Next, Scheduler, greatest_divisor};
pub use source::{AnyAqm, AqmSource};

/// A time (ns), or the number of a slot, that never comes.
pub const NEVER: u64 = u64::MAX;

include!(concat!(env!("OUT_DIR"), "/headers.rs"));
