//! The exact chain: the slotted queue behind an AQM of the RED family, or one without a state, as a
//! Markov chain, and its steady state.
//!
//! Order of events in a slot: first the service may end, and the next packet's service starts;
//! then a packet may arrive. A packet that arrives at an idle server starts its service at once,
//! which can end in the next slot at the earliest. The length of the queue is the number of
//! waiting packets, without the one in service, at the end of each slot. The average takes values
//! on a grid. An exact value between two grid points is rounded to one of them at random, so that
//! its mean is kept. Domanska, Domanski & Czachorski 2008, section IV.

mod arrivals;
mod chain;
mod decompositions;
mod dense;
mod direct;
mod drop_function;
mod elimination;
mod error;
mod filter;
mod front;
mod front_times;
#[cfg(test)]
mod front_times_tests;
mod iterative;
mod krylov;
mod levels;
mod line;
mod losses;
#[cfg(test)]
mod losses_tests;
mod measures;
mod memoryless;
mod monitor;
#[cfg(test)]
mod oracle;
mod params;
mod passage;
#[cfg(test)]
mod passage_tests;
mod quiet;
mod resolve;
mod scenario;
mod sensitivity;
#[cfg(test)]
mod sensitivity_tests;
mod set;
#[cfg(test)]
mod slow_tests;
mod solve;
mod sweep;
#[cfg(test)]
mod tests;
mod transient;

pub use arrivals::{Arrivals, Change, Modulator};
pub use chain::{Chain, Plan};
pub use error::ChainError;
pub use front::FrontMoments;
pub use front_times::FrontTimes;
pub use losses::Losses;
pub use measures::{Fates, Measures, Sums};
pub use monitor::{Monitor, Progress};
pub use passage::Passage;
pub use sensitivity::{Derivative, Linear, Sensitivities};
pub use set::{Bounds, Set};
pub use solve::{Method, Solution};
pub use transient::Transient;
