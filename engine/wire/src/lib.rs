//! What happens to packets behind the transmission: losses, further delay, bursts, overtaking; and the
//! distributions of times that it is drawn from.

mod bursts;
mod distribution;
mod plan;
mod policer;
mod wire;

pub use bursts::Bursts;
pub use distribution::Distribution;
pub use plan::{Loss, Tampering, WirePlan};
pub use policer::Policer;
pub use wire::{Wire, WireTally};
