//! Bursty arrival processes that several worlds share.

mod fgn;
mod modulator;

pub use fgn::{FgnError, autocovariance, fgn, fgn_of_seed};
pub use modulator::{ModulatedSlots, Modulator};
