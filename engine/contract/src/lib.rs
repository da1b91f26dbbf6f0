//! One AQM, the same in every world: cases that all worlds are given, and the plain link whose
//! decision log theirs must be.
//!
//! A world is one function from a [`Case`] to a decision log. `tests/worlds.rs` has those that
//! there are.
//!
//! Worlds may keep events of one instant in another order, so no two of a case happen in one but
//! arrivals: packets arrive in odd slots, a transmission takes an even number of slots, no two
//! arrivals of a busy period are a whole number of its units apart, and ticks come in even slots.

mod calls;
mod cases;
mod link;
mod vectors;

pub use calls::{Call, Calls};
pub use cases::{Arrival, Case, SLOT_NS, SLOTS_PER_UNIT, UNIT_BYTES, cases, long};
pub use link::{Plain, drive, log};
pub use vectors::{LEAST, Vector, judgements, vectors};
