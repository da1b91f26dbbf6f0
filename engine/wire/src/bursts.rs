//! A wire that lets packets out in bursts, as links do that send aggregates.
//!
//! It is the `slot` of Linux's netem (net/sched/sch_netem.c, `get_slot_next`): a packet that comes
//! when no slot is ahead waits for one, a random time later; so many packets leave in each.

use sluice_link::{Clock, Ticks};
use sluice_random::Stream;

use crate::distribution::Distribution;

/// Slots in which packets come out.
#[derive(Clone, Debug, PartialEq)]
pub struct Bursts {
    /// Time until the next slot.
    pub gap: Distribution,
    /// Most packets in a slot.
    pub packets: u32,
}

/// The slot that is ahead, or was last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    at: Ticks,
    left: u32,
}

impl Slot {
    /// Returns when a packet comes out that would without bursts at `due`; these times must not fall.
    pub fn out(&mut self, of: &Bursts, clock: Clock, due: Ticks, random: &mut Stream) -> Ticks {
        let mut after = |from: Ticks| Self {
            at: from.saturating_add(clock.ticks(of.gap.draw(random))),
            left: of.packets,
        };
        if self.left == 0 || self.at < due {
            *self = after(due.max(self.at));
        }
        self.left -= 1;
        self.at
    }
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;

    use super::*;

    #[test]
    fn packets_leave_in_slots_in_their_order() {
        let of = Bursts {
            gap: Distribution::Uniform(800_000, 5_000_000),
            packets: 16,
        };
        let clock = Clock::endless();
        let mut random = stream(3, "bursts", 0);
        let mut slot = Slot::default();
        // a packet every 0.1 ms: more than 16 in most slots
        let outs: Vec<(u64, u64)> = (0..20_000_u64)
            .map(|number| {
                let due = clock.ticks(number * 100_000);
                let out = slot.out(&of, clock, due, &mut random);
                (clock.ns(due), clock.ns(out))
            })
            .collect();
        assert!(outs.iter().all(|(due, out)| out >= due));
        assert!(outs.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        let mut sizes = vec![1];
        for pair in outs.windows(2) {
            if pair[0].1 == pair[1].1 {
                *sizes.last_mut().unwrap() += 1;
            } else {
                let gap = pair[1].1 - pair[0].1;
                assert!(gap >= 800_000, "{gap}");
                sizes.push(1);
            }
        }
        assert!(sizes.iter().all(|size| *size <= 16));
        assert!(sizes.iter().filter(|size| **size == 16).count() > sizes.len() / 2);
    }

    #[test]
    fn a_packet_alone_waits_for_a_slot() {
        let of = Bursts {
            gap: Distribution::Constant(2_000_000),
            packets: 16,
        };
        let clock = Clock::endless();
        let mut random = stream(3, "bursts", 0);
        let mut slot = Slot::default();
        for ms in [0, 10, 20] {
            let due = clock.ticks(ms * 1_000_000);
            let out = slot.out(&of, clock, due, &mut random);
            assert_eq!(clock.ns(out - due), 2_000_000);
        }
    }
}
