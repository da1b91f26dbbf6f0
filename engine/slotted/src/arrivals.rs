//! Where packets come from: one source for each arrival process.

use std::sync::Arc;

use sluice_aqm::NEVER;
use sluice_random::{Stream, stream, uniform};
use sluice_traffic::{ModulatedSlots, Modulator, fgn};
use thiserror::Error;

use crate::{bernoulli::BernoulliSlots, packet::Packet};

/// How packets arrive.
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
        /// Its standard deviation before it is held within [0, 1].
        deviation: f64,
        /// Hurst parameter of the noise, in (0, 1).
        hurst: f64,
        /// Slots for which one value of the noise holds.
        frame: u64,
    },
    /// The packets of a capture, each in its slot.
    Replay(Arc<Recording>),
}

/// A recorded sequence of packets, in the order of their slots.
#[derive(Clone, Debug, Default)]
pub struct Recording(Vec<Packet>);

/// Why an arrival process was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ArrivalError(String);

impl Recording {
    /// One packet per row of the columns, which must be of one length and sorted by slot.
    ///
    /// # Errors
    /// When the columns differ in length or the slots go back.
    pub fn new(
        slots: &[u64],
        bytes: &[u32],
        flows: &[u32],
        ecn_capable: &[bool],
    ) -> Result<Self, ArrivalError> {
        if [bytes.len(), flows.len(), ecn_capable.len()] != [slots.len(); 3] {
            return Err(ArrivalError(
                "the columns of a recording differ in length".into(),
            ));
        }
        if let Some(row) = slots.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(ArrivalError(format!(
                "packet {} comes before packet {row}",
                row + 1
            )));
        }
        let row = |k| Packet {
            slot: slots[k],
            bytes: bytes[k],
            flow: flows[k],
            ecn_capable: u64::from(ecn_capable[k]),
        };
        Ok(Self((0..slots.len()).map(row).collect()))
    }
}

/// A source at work; its packets come in the order of their slots, [`NEVER`] if none comes.
pub trait Source {
    /// Whether at most one packet comes in a slot, all of them alike.
    const ALIKE: bool;

    fn next(&mut self) -> Packet;

    /// Bit k: a packet comes in slot `base + k`, of the slots before `end`, which is at most
    /// `base + 64`. `arriving` is the next packet, and moves on to the first that comes later.
    fn arrivals(&mut self, _arriving: &mut Packet, _base: u64, _end: u64) -> u64 {
        unreachable!("only packets that are alike come in blocks")
    }
}

/// The sources that draw slots share this: all their packets look alike.
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
            ecn_capable: 1,
        };
        Self { slots, packet }
    }
}

/// Draws the slots of arrivals, strictly rising.
pub trait SlotSource {
    fn next_slot(&mut self) -> u64;

    /// As `Source::arrivals`, of slots.
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

/// Frames of noise drawn as one exact block; blocks are independent of each other.
const BLOCK: usize = 1 << 17;

pub struct FgnSlots {
    process: (f64, f64, f64, u64),
    noise: Stream,
    coins: Stream,
    block: Vec<f64>,
    frame: usize,
    next: u64,
    /// Where the run ends: no slot beyond is drawn, even if the probability stays at 0.
    end: u64,
}

impl FgnSlots {
    pub fn new(process: (f64, f64, f64, u64), seed: u64, replication: u64, end: u64) -> Self {
        let noise = stream(seed, "arrivals-noise", replication);
        let coins = stream(seed, "arrivals", replication);
        Self {
            process,
            noise,
            coins,
            block: Vec::new(),
            frame: BLOCK,
            next: 0,
            end,
        }
    }
}

impl SlotSource for FgnSlots {
    fn next_slot(&mut self) -> u64 {
        let (rate, deviation, hurst, frame) = self.process;
        while self.next < self.end {
            if self.next.is_multiple_of(frame) {
                self.frame += 1;
                if self.frame >= self.block.len() {
                    self.block = fgn(hurst, BLOCK, &mut self.noise).expect("a checked H");
                    self.frame = 0;
                }
            }
            let probability = rate + deviation * self.block[self.frame];
            let slot = self.next;
            self.next += 1;
            if uniform(&mut self.coins) <= probability {
                return slot;
            }
        }
        self.end
    }
}

pub struct Replayed {
    recording: Arc<Recording>,
    row: usize,
}

impl Replayed {
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording, row: 0 }
    }
}

impl Source for Replayed {
    const ALIKE: bool = false;

    #[inline]
    fn next(&mut self) -> Packet {
        let packet = self.recording.0.get(self.row).copied();
        self.row += 1;
        packet.unwrap_or(Packet {
            slot: NEVER,
            ..Packet::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(source: &mut impl SlotSource, slots: u64) -> f64 {
        (0..).take_while(|_| source.next_slot() < slots).count() as f64 / slots as f64
    }

    #[test]
    fn noise_without_deviation_is_geometric() {
        let slots = 1_000_000;
        let mut source = FgnSlots::new((0.3, 0.0, 0.8, 100), 5, 0, slots);
        let error = share(&mut source, slots) - 0.3;
        assert!(error.abs() < 4.0 * (0.21 / slots as f64).sqrt(), "{error}");
    }

    #[test]
    fn noise_that_never_brings_a_packet_ends() {
        let mut source = FgnSlots::new((0.0, 0.0, 0.8, 100), 5, 0, 10_000);
        assert_eq!(source.next_slot(), 10_000);
    }

    #[test]
    fn recordings_must_be_sorted_and_of_one_length() {
        let error = Recording::new(&[3, 2], &[1, 1], &[0, 0], &[true, true]).unwrap_err();
        assert_eq!(error.to_string(), "packet 1 comes before packet 0");
        assert!(Recording::new(&[3], &[1, 1], &[0], &[true]).is_err());
    }
}
