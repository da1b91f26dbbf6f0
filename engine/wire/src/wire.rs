//! A link's wire, which may lose packets, delay them further, and let them overtake each other.
//!
//! It has a random stream of its own and counts of its own: its losses are no verdicts of a queue.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use sluice_link::{Clock, Ticks};
use sluice_random::{Stream, uniform};

use crate::{
    bursts::Slot,
    plan::{Loss, Tampering, WirePlan},
    policer::Bucket,
};

/// Counts of a wire in a period of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireTally {
    /// Packets that came to the wire.
    pub entered: u64,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets that came out after one that had entered later (RFC 4737, section 3.3).
    pub reordered: u64,
}

/// A packet on the wire.
struct Entry<P> {
    due: Ticks,
    number: u64,
    packet: P,
}

impl<P> Entry<P> {
    fn key(&self) -> (Ticks, u64) {
        (self.due, self.number)
    }
}

impl<P> Ord for Entry<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<P> Eq for Entry<P> {}

/// A wire with the packets on it.
pub struct Wire<P> {
    plan: WirePlan,
    random: Stream,
    is_bad: bool,
    bucket: Option<Bucket>,
    slot: Slot,
    waiting: BinaryHeap<Reverse<Entry<P>>>,
    /// Number of packets that entered and were not lost.
    numbered: u64,
    /// When the last packet that entered comes out.
    last: Ticks,
    /// Greatest number of a packet that came out, plus 1.
    out: u64,
    tally: WireTally,
}

impl<P> Wire<P> {
    /// Returns an empty wire. The state of its losses is drawn, so that their share is the same from
    /// the start on.
    pub fn new(plan: WirePlan, mut random: Stream) -> Self {
        let is_bad = match plan.loss {
            Some(Loss::GilbertElliott { enter, leave, .. }) => {
                happens(enter / (enter + leave), &mut random)
            }
            _ => false,
        };
        let bucket = match plan.loss {
            Some(Loss::Policer(policer)) => Some(Bucket::full(policer)),
            _ => None,
        };
        Self {
            plan,
            random,
            is_bad,
            bucket,
            slot: Slot::default(),
            waiting: BinaryHeap::new(),
            numbered: 0,
            last: 0,
            out: 0,
            tally: WireTally::default(),
        }
    }

    /// Takes a packet of so many bytes. Returns when it comes out; `None` if it is lost.
    pub fn enter(&mut self, clock: Clock, now: Ticks, bytes: u32, packet: P) -> Option<Ticks> {
        self.tally.entered += 1;
        if self.loses(clock, now, bytes) {
            self.tally.lost += 1;
            return None;
        }
        let mut due = now.saturating_add(self.jitter(clock));
        if !self.plan.reorder {
            due = due.max(self.last);
        }
        if let Some(bursts) = &self.plan.bursts {
            due = self.slot.out(bursts, clock, due, &mut self.random);
        }
        self.last = due;
        let number = self.numbered;
        self.numbered += 1;
        self.waiting.push(Reverse(Entry {
            due,
            number,
            packet,
        }));
        Some(due)
    }

    /// Loses a packet that would have entered.
    pub fn lose(&mut self) -> Option<Ticks> {
        self.tally.entered += 1;
        self.tally.lost += 1;
        None
    }

    /// What it does to ECN.
    pub fn tampers(&self) -> Option<Tampering> {
        self.plan.tampers
    }

    /// Returns when the next packet comes out; `None` if there is none.
    pub fn due(&self) -> Option<Ticks> {
        self.waiting.peek().map(|Reverse(first)| first.due)
    }

    /// Takes the next packet out.
    ///
    /// # Panics
    /// If there is none.
    pub fn leave(&mut self) -> P {
        let Reverse(first) = self.waiting.pop().expect("a packet is on the wire");
        self.tally.reordered += u64::from(first.number < self.out);
        self.out = self.out.max(first.number + 1);
        first.packet
    }

    /// Returns the number of packets on it.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True if no packet is on it.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns the counts so far, since the last call of [`Self::take_tally`] if there was one.
    pub fn tally(&self) -> WireTally {
        self.tally
    }

    /// Returns the counts since the last call.
    pub fn take_tally(&mut self) -> WireTally {
        std::mem::take(&mut self.tally)
    }

    fn loses(&mut self, clock: Clock, now: Ticks, bytes: u32) -> bool {
        match self.plan.loss {
            None => false,
            Some(Loss::Policer(of)) => {
                let bucket = self.bucket.as_mut();
                bucket.is_some_and(|bucket| bucket.loses(of, clock, now, bytes))
            }
            Some(Loss::Bernoulli(probability)) => happens(probability, &mut self.random),
            Some(Loss::GilbertElliott { enter, leave, loss }) => {
                let is_lost = happens(loss[usize::from(self.is_bad)], &mut self.random);
                let changes = if self.is_bad { leave } else { enter };
                self.is_bad ^= happens(changes, &mut self.random);
                is_lost
            }
        }
    }

    fn jitter(&mut self, clock: Clock) -> Ticks {
        match &self.plan.jitter {
            Some(jitter) if happens(self.plan.jitter_share, &mut self.random) => {
                clock.ticks(jitter.draw(&mut self.random))
            }
            _ => 0,
        }
    }
}

/// True with a probability.
fn happens(probability: f64, random: &mut Stream) -> bool {
    uniform(random) <= probability
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;

    use super::*;
    use crate::distribution::Distribution;

    fn wire(loss: Option<Loss>, jitter: Option<Distribution>, reorder: bool) -> Wire<()> {
        let plan = WirePlan {
            loss,
            jitter,
            jitter_share: 1.0,
            reorder,
            bursts: None,
            tampers: None,
        };
        plan.check().unwrap();
        Wire::new(plan, stream(7, "wire 0", 0))
    }

    /// Returns for each of many packets whether it was lost.
    fn losses(loss: Loss, count: usize) -> Vec<bool> {
        let mut wire = wire(Some(loss), None, false);
        let clock = Clock::endless();
        (0..count)
            .map(|_| match wire.enter(clock, 0, 1500, ()) {
                None => true,
                Some(_) => {
                    wire.leave();
                    false
                }
            })
            .collect()
    }

    /// Checks a mean against its value, by its standard deviation; one in 10^5 is farther away.
    fn assert_mean(found: f64, wanted: f64, deviation: f64) {
        let distance = (found - wanted).abs() / deviation;
        assert!(distance < 4.42, "{found} {wanted} {distance}");
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
    }

    #[test]
    fn independent_losses_have_their_probability() {
        let count = 1_000_000;
        for probability in [0.001, 0.3] {
            let lost = losses(Loss::Bernoulli(probability), count);
            let deviation = (probability * (1.0 - probability) / count as f64).sqrt();
            assert_mean(share(&lost), probability, deviation);
        }
        assert_eq!(share(&losses(Loss::Bernoulli(0.0), 1000)), 0.0);
        assert_eq!(share(&losses(Loss::Bernoulli(1.0), 1000)), 1.0);
    }

    #[test]
    fn losses_in_bursts_have_their_share_and_their_length() {
        let count = 2_000_000;
        for (enter, leave) in [(0.01, 0.25), (0.002, 0.05), (0.4, 0.7)] {
            let lost = losses(
                Loss::GilbertElliott {
                    enter,
                    leave,
                    loss: [0.0, 1.0],
                },
                count,
            );
            let bad = enter / (enter + leave);
            // packets of a chain of two states are correlated by its second eigenvalue
            let second = 1.0 - enter - leave;
            let variance = bad * (1.0 - bad) * (1.0 + second) / (1.0 - second);
            assert_mean(share(&lost), bad, (variance / count as f64).sqrt());
            let starts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            let length = share(&lost) * count as f64 / starts;
            let deviation = (1.0_f64 - leave).sqrt() / leave / starts.sqrt();
            assert_mean(length, 1.0 / leave, deviation);
        }
    }

    #[test]
    fn each_state_has_a_probability_of_its_own() {
        let (enter, leave, loss) = (0.02, 0.08, [0.01, 0.6]);
        let count = 2_000_000;
        let lost = losses(Loss::GilbertElliott { enter, leave, loss }, count);
        let wanted = 0.8 * loss[0] + 0.2 * loss[1];
        let of_states = 0.2 * 0.8 * (loss[1] - loss[0]).powi(2) * (1.0 + 0.9) / (1.0 - 0.9);
        let of_chance = 0.8 * loss[0] * (1.0 - loss[0]) + 0.2 * loss[1] * (1.0 - loss[1]);
        let deviation = ((of_states + of_chance) / count as f64).sqrt();
        assert_mean(share(&lost), wanted, deviation);
    }

    /// Returns how long each of many packets takes, which enter every ms, s.
    fn times(jitter: Distribution, reorder: bool, count: u64) -> (Vec<f64>, WireTally) {
        let mut wire = wire(None, Some(jitter), reorder);
        let clock = Clock::endless();
        let times = (0..count)
            .map(|number| {
                let now = clock.ticks(number * 1_000_000);
                let due = wire.enter(clock, now, 1500, ()).unwrap();
                (clock.ns(due) - clock.ns(now)) as f64 / 1e9
            })
            .collect();
        let mut last = 0;
        while let Some(due) = wire.due() {
            assert!(due >= last);
            last = due;
            wire.leave();
        }
        (times, wire.take_tally())
    }

    /// The greatest distance between an empirical and an exact distribution function (Kolmogorov
    /// and Smirnov); one in 10^5 exceeds 2.5 over the root of the count.
    #[test]
    fn a_jitter_that_reorders_has_its_distribution() {
        let (mut times, tally) = times(Distribution::Exponential(5_000_000), true, 200_000);
        times.sort_by(f64::total_cmp);
        let count = times.len() as f64;
        let distance = times.iter().enumerate().map(|(place, time)| {
            let exact = 1.0 - (-time / 0.005).exp();
            (exact - place as f64 / count).abs()
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance * count.sqrt() < 2.5, "{distance}");
        assert!(tally.reordered > 100_000);
    }

    #[test]
    fn without_reordering_packets_keep_their_order() {
        let jitter = Distribution::Uniform(0, 5_000_000);
        let (kept, tally) = times(jitter, false, 10_000);
        assert_eq!(tally.reordered, 0);
        assert_eq!(tally.entered, 10_000);
        // waiting for the one before only adds to what is drawn
        let (drawn, _) = times(jitter, true, 10_000);
        assert!(kept.iter().zip(&drawn).all(|(kept, drawn)| kept >= drawn));
        assert!(kept.iter().all(|time| *time <= 0.005));
    }
}
