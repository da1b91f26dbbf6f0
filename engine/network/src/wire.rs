//! A link's wire, which may lose packets, delay them further, and let them overtake each other.
//!
//! It has a random stream of its own and counts of its own: its losses are no verdicts of a queue.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use sluice_aqm::NEVER;
use sluice_link::{Clock, Ticks};
use sluice_random::{Stream, uniform};

use crate::{
    bursts::{Bursts, Slot},
    packet::Transit,
    policer::{Bucket, Policer},
    sources::Distribution,
};

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet by itself, with this probability.
    Bernoulli(f64),
    /// By a state that may change at each packet (Gilbert 1960; Elliott 1963).
    GilbertElliott {
        /// Probability that the good state ends.
        enter: f64,
        /// Probability that the bad state ends.
        leave: f64,
        /// Probabilities of a loss in the good and in the bad state.
        loss: [f64; 2],
    },
    /// By the sizes of the packets and their times.
    Policer(Policer),
}

/// What happens to packets on a wire.
#[derive(Clone, Debug, PartialEq)]
pub struct WirePlan {
    /// Losses.
    pub loss: Option<Loss>,
    /// Further delay.
    pub jitter: Option<Distribution>,
    /// Share of the packets that have it.
    pub jitter_share: f64,
    /// True if packets may overtake each other.
    pub reorder: bool,
    /// Slots in which packets come out; they keep their order.
    pub bursts: Option<Bursts>,
}

impl WirePlan {
    /// Refuses probabilities outside of 0 to 1, and times that cannot be drawn.
    pub(crate) fn check(&self) -> Result<(), String> {
        let probabilities = match self.loss {
            None | Some(Loss::Policer(_)) => Vec::new(),
            Some(Loss::Bernoulli(probability)) => vec![probability],
            Some(Loss::GilbertElliott { enter, leave, loss }) => {
                vec![enter, leave, loss[0], loss[1]]
            }
        };
        let all = probabilities.iter().chain([&self.jitter_share]);
        for probability in all {
            if !(0.0..=1.0).contains(probability) {
                return Err(format!(
                    "a probability of its wire = {probability} must lie between 0 and 1"
                ));
            }
        }
        let gap = self.bursts.as_ref().map(|bursts| bursts.gap);
        let times = [self.jitter, gap];
        times.iter().flatten().try_for_each(Distribution::check)
    }
}

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
struct Entry {
    due: Ticks,
    number: u64,
    transit: Transit,
}

impl Entry {
    fn key(&self) -> (Ticks, u64) {
        (self.due, self.number)
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

/// A wire with the packets on it.
pub struct Wire {
    /// Number of its link.
    pub link: usize,
    plan: WirePlan,
    random: Stream,
    is_bad: bool,
    bucket: Option<Bucket>,
    slot: Slot,
    waiting: BinaryHeap<Reverse<Entry>>,
    /// Number of packets that entered and were not lost.
    numbered: u64,
    /// When the last packet that entered comes out.
    last: Ticks,
    /// Greatest number of a packet that came out, plus 1.
    out: u64,
    tally: WireTally,
}

impl Wire {
    /// Returns the empty wire of link number `link`. The state of its losses is drawn, so that their
    /// share is the same from the start on.
    pub fn new(link: usize, plan: WirePlan, mut random: Stream) -> Self {
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
            link,
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

    /// Takes a packet. Returns when it comes out; `None` if it is lost.
    pub fn enter(&mut self, clock: Clock, now: Ticks, transit: Transit) -> Option<Ticks> {
        self.tally.entered += 1;
        if self.loses(clock, now, u32::from(transit.packet().bytes)) {
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
            transit,
        }));
        Some(due)
    }

    /// Returns when the next packet comes out; [`NEVER`] if there is none.
    pub fn due(&self) -> Ticks {
        self.waiting
            .peek()
            .map_or(NEVER, |Reverse(first)| first.due)
    }

    /// Takes the next packet out.
    ///
    /// # Panics
    /// If there is none.
    pub fn leave(&mut self) -> Transit {
        let Reverse(first) = self.waiting.pop().expect("a packet is on the wire");
        self.tally.reordered += u64::from(first.number < self.out);
        self.out = self.out.max(first.number + 1);
        first.transit
    }

    /// Returns the number of packets on it.
    pub fn len(&self) -> usize {
        self.waiting.len()
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
    use crate::packet::{Packet, Place};

    fn wire(loss: Option<Loss>, jitter: Option<Distribution>, reorder: bool) -> Wire {
        let plan = WirePlan {
            loss,
            jitter,
            jitter_share: 1.0,
            reorder,
            bursts: None,
        };
        plan.check().unwrap();
        Wire::new(0, plan, stream(7, "wire 0", 0))
    }

    /// Returns for each of many packets whether it was lost.
    fn losses(loss: Loss, count: usize) -> Vec<bool> {
        let mut wire = wire(Some(loss), None, false);
        let clock = Clock::endless();
        let transit = Transit::new(Packet::default().into(), Place::new(0, 0));
        (0..count)
            .map(|_| match wire.enter(clock, 0, transit) {
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
                let transit = Transit::new(Packet::default().into(), Place::new(0, 0));
                let due = wire.enter(clock, now, transit).unwrap();
                (clock.ns(due) - clock.ns(now)) as f64 / 1e9
            })
            .collect();
        let mut last = 0;
        while wire.len() > 0 {
            assert!(wire.due() >= last);
            last = wire.due();
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
