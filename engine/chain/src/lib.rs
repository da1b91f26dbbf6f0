//! The exact chain: the slotted queue behind an AQM of the RED family as a Markov chain, and its
//! steady state.
//!
//! Within a slot the service may end first and the next packet starts; then a packet may
//! arrive; one that finds the server idle starts at once and can end in the next slot at the
//! earliest. The queue counts waiting packets, without the one in service, at the end of each
//! slot. The average lives on a grid; where its exact value lies between two points it goes to
//! one of them by chance, so that its mean is kept. Domanska, Domanski & Czachorski 2008,
//! section IV.

mod arrivals;
mod chain;
mod control;
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
mod solve;
mod sweep;
#[cfg(test)]
mod tests;
mod transient;
#[cfg(test)]
mod transient_tests;

pub use arrivals::Arrivals;
pub use chain::{Chain, Plan};
pub use control::{Control, Progress};
pub use error::ChainError;
pub use front::FrontMoments;
pub use front_times::FrontTimes;
pub use losses::Losses;
pub use measures::{Fates, Measures, Sums};
pub use passage::Passage;
pub use sensitivity::{Derivative, Linear, Sensitivities};
pub use set::{Bounds, Set};
pub use solve::{Method, Solution};
pub use transient::Transient;
