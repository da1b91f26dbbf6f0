//! Arrivals whose probability follows fractional Gaussian noise.

use sluice_random::{Stream, stream, uniform};
use sluice_traffic::fgn;

use super::SlotSource;

/// Frames of noise that are drawn as one exact block; blocks are independent of each other.
const BLOCK: usize = 1 << 17;

pub struct FgnSlots {
    process: (f64, f64, f64, u64),
    noise: Stream,
    coins: Stream,
    block: Vec<f64>,
    frame: usize,
    next: u64,
    /// End of the run: no slot beyond it is drawn, even if the probability stays at 0.
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
}
