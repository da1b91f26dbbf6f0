//! Service times: how many slots the server needs for a packet.

use sluice_random::stream;
use sluice_scenario::{Scenario, slotted as given};

use crate::bernoulli::BernoulliSlots;

/// Distribution of the service time.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// The service ends in each slot with probability `mu`.
    Geometric {
        /// In (0, 1].
        mu: f64,
    },
    /// The service always takes the same number of slots.
    Deterministic {
        /// At least 1.
        slots: u64,
    },
    /// The time is proportional to the packet's size, rounded up to whole slots.
    PacketSize {
        /// Above 0.
        bytes_per_slot: f64,
    },
}

impl Service {
    /// Returns the service of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        match &scenario.service {
            given::Service::GeometricService(of) => Self::Geometric { mu: of.mu },
            given::Service::DeterministicService(of) => Self::Deterministic { slots: of.slots },
            given::Service::PacketSizeService(link) => {
                // every scenario with a link sets `slot_s`
                let slot_s = scenario.slot_s.unwrap_or(f64::NAN);
                let bytes_per_slot = link.rate_bps * slot_s / 8.0;
                Self::PacketSize { bytes_per_slot }
            }
        }
    }

    /// Returns how many packets of `packet_bytes` the server can finish per slot.
    pub fn rate(&self, packet_bytes: f64) -> f64 {
        match self {
            Self::Geometric { mu } => *mu,
            Self::Deterministic { slots } => 1.0 / *slots as f64,
            Self::PacketSize { bytes_per_slot } => bytes_per_slot / packet_bytes,
        }
    }
}

/// A server, with its random state.
pub trait Server {
    /// True if `ends` is implemented: the service time does not depend on the packet.
    const KNOWS_ENDS: bool = false;

    /// Returns the slot in which a service ends that starts in slot `start`, for a packet of
    /// `bytes`.
    fn completion(&mut self, start: u64, bytes: u32) -> u64;

    /// Returns the slots in which services end while the server stays busy: bit k stands for slot
    /// `base + k`. `first` is the first of these slots, and the last result of `completion`.
    /// `base` is a multiple of 64, and `first` is one of the 64 slots that begin there.
    fn ends(&self, _base: u64, _first: u64) -> u64 {
        0
    }
}

/// Common random numbers for all disciplines: the seed alone decides in which slots a service can
/// end.
pub struct GeometricServer(BernoulliSlots);

impl GeometricServer {
    pub fn new(mu: f64, seed: u64, replication: u64, end: u64) -> Self {
        let random = stream(seed, "service", replication);
        Self(BernoulliSlots::new(mu, random, end))
    }
}

impl Server for GeometricServer {
    const KNOWS_ENDS: bool = true;

    #[inline]
    fn completion(&mut self, start: u64, _bytes: u32) -> u64 {
        self.0.first_from(start + 1)
    }

    #[inline]
    fn ends(&self, base: u64, first: u64) -> u64 {
        self.0.block(base) & (u64::MAX << (first - base))
    }
}

pub struct DeterministicServer(pub u64);

impl Server for DeterministicServer {
    const KNOWS_ENDS: bool = true;

    #[inline]
    fn ends(&self, base: u64, first: u64) -> u64 {
        (first - base..64)
            .step_by(self.0.min(64) as usize)
            .fold(0, |ends, slot| ends | 1 << slot)
    }

    #[inline]
    fn completion(&mut self, start: u64, _bytes: u32) -> u64 {
        start + self.0
    }
}

pub struct PacketSizeServer {
    bytes_per_slot: f64,
    /// Slots for packets of 0, 1, 2, ... bytes: the table is faster than a division.
    slots: Vec<u64>,
}

/// Number of sizes in the table: all that Ethernet can carry.
const LOOKED_UP: u32 = 1537;

impl PacketSizeServer {
    pub fn new(bytes_per_slot: f64) -> Self {
        let slots = |bytes| slots(bytes, bytes_per_slot);
        Self {
            bytes_per_slot,
            slots: (0..LOOKED_UP).map(slots).collect(),
        }
    }
}

/// Returns the service time of a packet, slots.
pub fn slots(bytes: u32, bytes_per_slot: f64) -> u64 {
    // on a very slow link a service outlasts every run; the limit keeps `start` + slots below NEVER
    ((f64::from(bytes) / bytes_per_slot).ceil() as u64).clamp(1, u64::MAX / 4)
}

impl Server for PacketSizeServer {
    #[inline]
    fn completion(&mut self, start: u64, bytes: u32) -> u64 {
        let looked_up = self.slots.get(bytes as usize).copied();
        start + looked_up.unwrap_or_else(|| slots(bytes, self.bytes_per_slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_aqm::NEVER;

    #[test]
    fn a_service_that_outlasts_every_run_still_has_an_end() {
        let end = 10_000;
        let mut rare = GeometricServer::new(1e-25, 3, 0, end);
        let mut slow = PacketSizeServer::new(1e-20);
        for completion in [rare.completion(5, 500), slow.completion(5, 500)] {
            assert!((end..NEVER).contains(&completion), "{completion}");
        }
    }
}
