//! The arrival processes, with one source for each.

mod fgn;
mod recording;

use std::sync::Arc;

use sluice_ecn::Ecn;
use sluice_random::stream;
use sluice_scenario::{Scenario, slotted as given};
use sluice_traffic::{ModulatedSlots, Modulator};

use crate::{bernoulli::BernoulliSlots, packet::Packet};

pub use fgn::FgnSlots;
pub use recording::{ArrivalError, Recording, Replayed};

/// The arrival process.
#[derive(Clone, Debug)]
pub enum Arrivals {
    /// A packet in each slot with probability `rate`.
    Geometric {
        /// In [0, 1].
        rate: f64,
    },
    /// The self-similar modulator of S. Robert.
    SelfSimilar(Modulator),
    /// A packet in each slot with a probability that follows exact fractional Gaussian noise.
    Fgn {
        /// Mean of the probability.
        rate: f64,
        /// Standard deviation of the probability before it is limited to [0, 1].
        deviation: f64,
        /// Hurst parameter of the noise, in (0, 1).
        hurst: f64,
        /// Slots for which one value of the noise holds.
        frame: u64,
    },
    /// The packets of a capture, each in its slot.
    Replay(Arc<Recording>),
}

impl Arrivals {
    /// Returns the arrival process of a scenario.
    ///
    /// # Errors
    /// If a capture cannot be read.
    pub fn of(scenario: &Scenario) -> Result<Self, String> {
        Ok(match &scenario.arrivals {
            given::Arrivals::GeometricArrivals(of) => Self::Geometric { rate: of.rate },
            given::Arrivals::SelfSimilarArrivals(of) => Self::SelfSimilar(of.modulator()?),
            given::Arrivals::FgnArrivals(of) => Self::Fgn {
                rate: of.rate,
                deviation: of.deviation,
                hurst: of.hurst,
                frame: of.frame,
            },
            given::Arrivals::ReplayArrivals(of) => {
                let slots = scenario.capture_slots(&of.capture)?;
                let packets = of.capture.packets()?;
                let recording = Recording::new(&slots, &packets.bytes, &packets.flow, &packets.ecn)
                    .map_err(|error| error.to_string())?;
                Self::Replay(Arc::new(recording))
            }
        })
    }
}

/// A running arrival process. Its packets come in the order of their slots; the slot is
/// [`sluice_aqm::NEVER`] if no further packet comes.
pub trait Source {
    /// True if at most one packet comes in a slot and all packets are alike.
    const ALIKE: bool;

    fn next(&mut self) -> Packet;

    /// Returns the arrivals before slot `end`, which is at most `base + 64`: bit k is set if a
    /// packet comes in slot `base + k`. `arriving` is the next packet; the call moves it on to
    /// the first packet at `end` or later.
    fn arrivals(&mut self, _arriving: &mut Packet, _base: u64, _end: u64) -> u64 {
        unreachable!("only packets that are alike come in blocks")
    }
}

/// A source that draws the slots of arrivals; all its packets are alike.
pub struct Uniform<S> {
    slots: S,
    packet: Packet,
}

impl<S: SlotSource> Uniform<S> {
    pub fn new(slots: S, packet_bytes: u32) -> Self {
        let packet = Packet {
            slot: 0,
            bytes: packet_bytes,
            flow: 0,
            ecn: u64::from(Ecn::Ect0.bits()),
        };
        Self { slots, packet }
    }
}

/// Draws the slots of arrivals, in strictly increasing order.
pub trait SlotSource {
    fn next_slot(&mut self) -> u64;

    /// As `Source::arrivals`; `next` is the slot of the next arrival.
    #[inline]
    fn slots(&mut self, next: &mut u64, base: u64, end: u64) -> u64 {
        let mut slots = 0;
        while *next < end {
            slots |= 1 << (*next - base);
            *next = self.next_slot();
        }
        slots
    }
}

impl<S: SlotSource> Source for Uniform<S> {
    const ALIKE: bool = true;

    #[inline]
    fn next(&mut self) -> Packet {
        Packet {
            slot: self.slots.next_slot(),
            ..self.packet
        }
    }

    #[inline]
    fn arrivals(&mut self, arriving: &mut Packet, base: u64, end: u64) -> u64 {
        self.slots.slots(&mut arriving.slot, base, end)
    }
}

pub struct GeometricSlots {
    slots: BernoulliSlots,
    next: u64,
}

impl GeometricSlots {
    pub fn new(rate: f64, seed: u64, replication: u64, end: u64) -> Self {
        let slots = BernoulliSlots::new(rate, stream(seed, "arrivals", replication), end);
        Self { slots, next: 0 }
    }
}

impl SlotSource for GeometricSlots {
    #[inline]
    fn next_slot(&mut self) -> u64 {
        let slot = self.slots.first_from(self.next);
        self.next = slot.saturating_add(1);
        slot
    }

    #[inline]
    fn slots(&mut self, next: &mut u64, base: u64, end: u64) -> u64 {
        if *next >= end {
            return 0;
        }
        let block = self.slots.block(base);
        let (first, last) = (*next - base, end - 1 - base);
        self.next = end;
        *next = self.next_slot();
        block & (u64::MAX << first) & (u64::MAX >> (63 - last))
    }
}

impl SlotSource for ModulatedSlots {
    #[inline]
    fn next_slot(&mut self) -> u64 {
        ModulatedSlots::next_slot(self)
    }
}
