//! How long the server works on a packet.

use sluice_random::stream;

use crate::bernoulli::BernoulliSlots;

/// Law of the service time.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Ends in each slot with probability `mu`.
    Geometric {
        /// In (0, 1].
        mu: f64,
    },
    /// Always this many slots.
    Deterministic {
        /// At least 1.
        slots: u64,
    },
    /// By the packet's size, rounded up to whole slots.
    PacketSize {
        /// Above 0.
        bytes_per_slot: f64,
    },
}

impl Service {
    /// Packets of `packet_bytes` that the server can finish per slot.
    pub fn rate(&self, packet_bytes: f64) -> f64 {
        match self {
            Self::Geometric { mu } => *mu,
            Self::Deterministic { slots } => 1.0 / *slots as f64,
            Self::PacketSize { bytes_per_slot } => bytes_per_slot / packet_bytes,
        }
    }
}

/// A server at work.
pub trait Server {
    /// Whether `ends` is known: the slots in which services end do not depend on what is served.
    const KNOWS_ENDS: bool = false;

    /// The slot in which the service of a packet ends that starts in slot `start`.
    fn completion(&mut self, start: u64, bytes: u32) -> u64;

    /// Bit k: a service ends in slot `base + k`, if the server is busy. `base` is a multiple of
    /// 32, and the last completion that was asked for lies in these slots.
    fn ends(&self, _base: u64) -> u32 {
        0
    }
}

/// Coupled by slot: under one seed a slot ends a service or not, whatever the discipline.
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
    fn ends(&self, base: u64) -> u32 {
        self.0.block(base)
    }
}

pub struct DeterministicServer(pub u64);

impl Server for DeterministicServer {
    #[inline]
    fn completion(&mut self, start: u64, _bytes: u32) -> u64 {
        start + self.0
    }
}

pub struct PacketSizeServer(pub f64);

impl Server for PacketSizeServer {
    #[inline]
    fn completion(&mut self, start: u64, bytes: u32) -> u64 {
        // a link may be too slow for one packet in any run: later than its end, but still a slot
        start + ((f64::from(bytes) / self.0).ceil() as u64).clamp(1, u64::MAX / 4)
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
        let mut slow = PacketSizeServer(1e-20);
        for completion in [rare.completion(5, 500), slow.completion(5, 500)] {
            assert!((end..NEVER).contains(&completion), "{completion}");
        }
    }
}
