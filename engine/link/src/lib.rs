//! The timing of a link: its clock, and the end of each transmission.
//!
//! The network world and the gate share it, so that a link is free at the same times in both.

mod clock;
mod docsis;
mod service;
mod transmitter;
mod wifi;

pub use clock::{Clock, Instant, Ticks};
pub use docsis::Docsis;
pub use service::{OPPORTUNITY_BYTES, Service, Step};
pub use transmitter::Transmitter;
pub use wifi::Wifi;
