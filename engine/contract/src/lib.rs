//! Tests that an AQM decides the same in every world: cases for all worlds, and a plain link whose
//! decision log each world must reproduce.
//!
//! A world is one function from a [`Case`] to a decision log; `tests/worlds.rs` has these
//! functions.
//!
//! Worlds may process the events of one instant in different orders. So in a case only arrivals
//! share an instant: packets arrive in odd slots, a transmission takes an even number of slots, no
//! two arrival times of a busy period are a whole number of [`SLOTS_PER_UNIT`] apart, and ticks are
//! in even slots.

mod calls;
mod cases;
mod link;
mod vectors;

pub use calls::{Call, Calls};
pub use cases::{Arrival, COUPLED, Case, SLOT_NS, SLOTS_PER_UNIT, UNIT_BYTES, cases, long};
pub use link::{Plain, drive, log};
pub use vectors::{LEAST, Vector, judgements, vectors};
