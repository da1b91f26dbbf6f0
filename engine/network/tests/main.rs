//! The tests of this crate, as one program: compiled and linked once, not once for each file.

mod accurate_ecn;
mod applications;
mod bands;
mod calls;
mod catching_up;
mod classes;
mod closed_forms;
mod common;
mod conservation;
mod dctcp;
mod files;
mod offered;
mod pacing;
mod refusals;
mod same_bits;
mod senders;
mod series;
mod session;
