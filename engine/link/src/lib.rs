//! A link's time: the clock, and when the transmission of a packet ends.
//!
//! The network world and the gate share it, so that a link is free at the same moments in both.

mod clock;
mod transmitter;

pub use clock::{Clock, Instant, Ticks};
pub use transmitter::Transmitter;
