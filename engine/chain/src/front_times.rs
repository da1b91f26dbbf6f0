//! The distributions of the times of packets under drop from front.
//!
//! All packets that join the line in one slot of the steady state are followed through time. For
//! each number of packets waiting ahead, there is a distribution over the chain's states. Each slot
//! takes 0, 1 or 2 packets from the head of the line (see `front.rs`). Average and queue move
//! together, so only few states have a probability worth computing. The others are left out, and
//! the sum of their probabilities is a bound of the error.

use rayon::prelude::*;

use crate::{
    chain::{Chain, Jump},
    error::{ChainError, refuse},
};

/// Outermost levels of the average with less than this share of all packets are left out.
const LEAST: f64 = 1e-20;
/// Packets are followed until at most this share is left.
const REST: f64 = 1e-16;
/// Bytes for one probability: three copies, before and after a slot, and for drops.
const COPIES: usize = 3 * size_of::<f64>();

/// Times of packets that are served, under drop from front.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontTimes {
    /// Entry n: packets per slot whose service starts n slots after their arrival.
    pub sojourns: Vec<f64>,
    /// Entry n: packets per slot whose service ends n slots after their arrival.
    pub delays: Vec<f64>,
    /// Packets per slot that were not followed to their end: a bound of the sum of the errors of
    /// either distribution.
    pub unknown: f64,
}

/// Probabilities at neighbouring levels of the average, from level `first` on: by level, then state
/// of the modulator.
#[derive(Clone, Debug, Default)]
struct Row {
    first: usize,
    mass: Vec<f64>,
}

/// The rows of packets with the same number of packets ahead, by size of the system.
type Plane = Vec<Row>;

impl Chain {
    /// Returns the times of packets that are served, under drop from front.
    ///
    /// # Errors
    /// If the memory is too small for the packets' states, or if the chain's monitor is cancelled.
    pub fn front_times(&self, probabilities: &[f64]) -> Result<FrontTimes, ChainError> {
        let joined = self.joined(probabilities);
        let total: f64 = joined.iter().sum();
        let (mut planes, at_once) = self.lines(&joined);
        let (mut started, mut unknown) = (vec![at_once], 0.0);
        loop {
            self.monitor.going()?;
            let bytes = planes.iter().map(plane_length).sum::<usize>() * COPIES;
            if bytes as f64 > self.memory {
                refuse!(
                    "the packets that wait take {:.1} GB to follow, and {:.1} GB are there: \
                     take a coarser grid",
                    bytes as f64 / 1e9,
                    self.memory / 1e9
                );
            }
            let left: f64 = planes.iter().flatten().map(Row::sum).sum();
            if left <= REST * total {
                unknown += left;
                break;
            }
            started.push(self.mu * planes[0].iter().map(Row::sum).sum::<f64>());
            let slots: Vec<Slot> = (0..planes.len())
                .into_par_iter()
                .map(|ahead| self.slot(&planes, ahead, LEAST * total))
                .collect();
            unknown += slots.iter().map(|slot| slot.pruned).sum::<f64>();
            planes = (0..slots.len())
                .into_par_iter()
                .map(|ahead| slots[ahead].with_dropped(slots.get(ahead + 1), self))
                .collect();
        }
        let delays = self.with_service(&started, REST * total);
        Ok(FrontTimes {
            sojourns: started,
            delays,
            unknown,
        })
    }

    /// Returns the packets that have just joined, by the number waiting ahead, and those whose
    /// service starts at once.
    fn lines(&self, joined: &[f64]) -> (Vec<Plane>, f64) {
        let (sizes, states) = (self.sizes(), self.modulator_states());
        let mut planes = vec![vec![Row::default(); sizes]; sizes - 2];
        let mut at_once = 0.0;
        for size in 1..sizes {
            let mass: Vec<f64> = (0..self.level_count())
                .flat_map(|level| &joined[self.place(level, size)..][..states])
                .copied()
                .collect();
            match size {
                1 => at_once = mass.iter().sum(),
                _ => planes[size - 2][size] = Row { first: 0, mass },
            }
        }
        (planes, at_once)
    }

    /// Computes one slot for the packets that have `ahead` packets waiting ahead after the slot's
    /// service. Levels with less than `least` are left out.
    fn slot(&self, planes: &[Plane], ahead: usize, least: f64) -> Slot {
        let states = self.modulator_states();
        let mut slot = Slot::new(self.sizes());
        let room = || Room::new(self.level_count(), states);
        let (mut same, mut more, mut dropped) = (room(), room(), room());
        let (mut quiet, mut active) = (vec![0.0; states], vec![0.0; states]);
        for size in ahead + 2..self.sizes() {
            let row = self.after_service(planes, ahead, size);
            for (level, served) in (row.first..).zip(row.mass.chunks_exact(states)) {
                quiet.fill(0.0);
                active.fill(0.0);
                for (is_active, to) in [(false, &mut quiet), (true, &mut active)] {
                    for change in self.changes(is_active) {
                        to[change.to] += served[change.from] * change.probability;
                    }
                }
                self.jumps(level, size, |jump: Jump| {
                    let (room, from) = match (jump.active, jump.more) {
                        (false, _) => (&mut same, &quiet),
                        (true, 0) => (&mut dropped, &active),
                        (true, _) => (&mut more, &active),
                    };
                    room.add(jump.level, jump.probability, from);
                });
            }
            slot.stay[size] = same.take(least, &mut slot.pruned);
            slot.dropped[size] = dropped.take(least, &mut slot.pruned);
            std::mem::swap(&mut same, &mut more);
        }
        slot
    }

    /// Returns the packets with `ahead` packets waiting ahead and `size` in the system after the
    /// slot's service.
    fn after_service(&self, planes: &[Plane], ahead: usize, size: usize) -> Row {
        let stays = &planes[ahead][size];
        let above = planes.get(ahead + 1).and_then(|plane| plane.get(size + 1));
        let mut row = Row::default();
        row.add(self.stay(size), stays, self.modulator_states());
        if let Some(above) = above {
            row.add(self.mu, above, self.modulator_states());
        }
        row
    }

    /// Returns the times until services end from the times until they start, by geometric
    /// services, until at most `rest` is left.
    fn with_service(&self, started: &[f64], rest: f64) -> Vec<f64> {
        let (mut served, mut serving) = (vec![0.0], 0.0);
        let mut starts = started.iter();
        loop {
            match starts.next() {
                Some(start) => serving += start,
                None if serving <= rest => return served,
                None => {}
            }
            served.push(self.mu * serving);
            serving *= 1.0 - self.mu;
        }
    }
}

fn plane_length(plane: &Plane) -> usize {
    plane.iter().map(|row| row.mass.len()).sum()
}

impl Row {
    fn sum(&self) -> f64 {
        self.mass.iter().sum()
    }

    /// Adds `factor` times `other`.
    fn add(&mut self, factor: f64, other: &Self, states: usize) {
        if other.mass.is_empty() {
            return;
        }
        if self.mass.is_empty() {
            self.first = other.first;
        }
        let end = |row: &Self| row.first + row.mass.len() / states;
        let (first, last) = (self.first.min(other.first), end(self).max(end(other)));
        let missing = (self.first - first) * states;
        self.mass.splice(0..0, std::iter::repeat_n(0.0, missing));
        self.first = first;
        self.mass.resize((last - first) * states, 0.0);
        let to = &mut self.mass[(other.first - first) * states..];
        crate::elimination::add_scaled(to, factor, &other.mass);
    }
}

/// Result of a slot for the packets with the same number of packets ahead after its service, by
/// size of the system at its end.
struct Slot {
    /// Packets for which the number ahead stays the same.
    stay: Plane,
    /// Packets for which a packet was dropped at the front: one fewer is ahead. With none ahead,
    /// the dropped packet is the followed one.
    dropped: Plane,
    /// Packets that were left out.
    pruned: f64,
}

impl Slot {
    fn new(sizes: usize) -> Self {
        Self {
            stay: vec![Row::default(); sizes],
            dropped: vec![Row::default(); sizes],
            pruned: 0.0,
        }
    }

    /// Returns the packets with this number ahead at the slot's end; `above` is the slot of those
    /// with one more.
    fn with_dropped(&self, above: Option<&Self>, chain: &Chain) -> Plane {
        let mut plane = self.stay.clone();
        for (row, dropped) in plane.iter_mut().zip(above.iter().flat_map(|x| &x.dropped)) {
            row.add(1.0, dropped, chain.modulator_states());
        }
        plane
    }
}

/// Work space for all levels of the average, of which only the range `used` is in use.
struct Room {
    mass: Vec<f64>,
    states: usize,
    used: std::ops::Range<usize>,
}

impl Room {
    fn new(levels: usize, states: usize) -> Self {
        Self {
            mass: vec![0.0; levels * states],
            states,
            used: 0..0,
        }
    }

    fn add(&mut self, level: usize, factor: f64, from: &[f64]) {
        let used = &mut self.used;
        *used = if used.start == used.end {
            level..level + 1
        } else {
            used.start.min(level)..used.end.max(level + 1)
        };
        let to = &mut self.mass[level * self.states..][..self.states];
        crate::elimination::add_scaled(to, factor, from);
    }

    /// Returns the range in use without its outermost levels that hold less than `least`. These are
    /// added to `pruned`. All levels are free again.
    fn take(&mut self, least: f64, pruned: &mut f64) -> Row {
        let states = self.states;
        let at = |level: usize| level * states..(level + 1) * states;
        let used = std::mem::take(&mut self.used);
        let is_held = |level: &usize| self.mass[at(*level)].iter().sum::<f64>() >= least;
        let first = used.clone().find(is_held).unwrap_or(used.end);
        let last = used.clone().rfind(is_held).map_or(first, |level| level + 1);
        let (from, to) = (first * states, last * states);
        let row = Row {
            first,
            mass: self.mass[from..to].to_vec(),
        };
        let (start, end) = (used.start * states, used.end * states);
        *pruned += self.mass[start..from].iter().sum::<f64>();
        *pruned += self.mass[to..end].iter().sum::<f64>();
        self.mass[start..end].fill(0.0);
        row
    }
}
