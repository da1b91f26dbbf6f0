//! Moments of the times of packets under drop from front, by following a tagged packet.
//!
//! If the AQM drops at an arrival, the arriving packet joins the tail and the packet at the head
//! of the waiting line is dropped. So the outcome for a packet with j others ahead of it depends
//! on later arrivals. Each slot takes 0, 1 or 2 packets from the head of the line (a service that
//! ends, a drop). With f_j the column of moments over the chain's states,
//!
//!   f_j = P_0 f_j + P_1 f_(j-1) + P_2 f_(j-2),
//!
//! where P_i are the transitions that take i packets. In P_0 no service ends and no packet is
//! dropped: the size grows, or the slot is quiet. So each j is one pass over the sizes from the
//! largest down, and at each size over the groups of levels of `quiet.rs`.

use crate::{
    chain::{Chain, Changed},
    error::ChainError,
    measures::Sums,
    quiet::{Group, Quiet},
};

/// P(served), E[T; served] and E[T^2; served], where T is the slots until the service starts.
type Moments = [f64; 3];

const NOTHING: Moments = [0.0; 3];

/// Moments of the times of served packets under drop from front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontMoments {
    /// Packets served per slot.
    pub served: f64,
    /// Sums of the served packets' sojourn times.
    pub sojourn: Sums,
    /// Sums of their delays.
    pub delay: Sums,
}

impl Chain {
    /// Returns the moments of the times of packets that are served, under drop from front.
    ///
    /// # Errors
    /// If the chain's monitor is cancelled.
    pub fn front_moments(&self, probabilities: &[f64]) -> Result<FrontMoments, ChainError> {
        let quiet = Quiet::new(self);
        let joined = self.joined(probabilities);
        let empty = || vec![NOTHING; self.states()];
        // for packets with `ahead - 2`, `ahead - 1` and `ahead` packets ahead
        let mut columns = [empty(), empty(), empty()];
        let mut total = NOTHING;
        for ahead in 0..self.sizes() - 2 {
            self.monitor.going()?;
            self.pass(ahead, &quiet, &mut columns);
            self.collect(ahead + 2, &joined, &columns[2], &mut total);
            columns.rotate_left(1);
        }
        let at_once = vec![[1.0, 0.0, 0.0]; self.states()];
        self.collect(1, &joined, &at_once, &mut total);
        let [served, sum, square_sum] = total;
        let sojourn = Sums { sum, square_sum };
        Ok(FrontMoments {
            served,
            sojourn,
            delay: sojourn.with_service(served, self.mu),
        })
    }

    /// Returns the packets per slot that join the line, by the state after the slot. All other
    /// packets are ahead of them. At size 1 their service starts at once.
    pub(crate) fn joined(&self, probabilities: &[f64]) -> Vec<f64> {
        let (states, width) = (self.modulator_states(), self.width());
        let mut joined = vec![0.0; self.states()];
        let mut changed = Changed::new(states);
        for (level, from) in probabilities.chunks_exact(width).enumerate() {
            for size in 0..self.sizes() {
                changed.after_service(self, from, size);
                self.jumps(level, size, |jump| {
                    // if no packet waits, the arriving packet itself is lost
                    if jump.active && (jump.more == 1 || size >= 2) {
                        let at = jump.level * width + (size + jump.more) * states;
                        changed.add(jump, &mut joined[at..at + states]);
                    }
                });
            }
        }
        joined
    }

    fn collect(&self, size: usize, joined: &[f64], column: &[Moments], total: &mut Moments) {
        let states = self.modulator_states();
        for level in 0..self.level_count() {
            let at = self.place(level, size);
            for (weight, moments) in joined[at..at + states].iter().zip(&column[at..]) {
                add(total, *weight, moments);
            }
        }
    }

    pub(crate) fn place(&self, level: usize, size: usize) -> usize {
        (level * self.sizes() + size) * self.modulator_states()
    }

    /// Computes the column of moments of packets with `ahead` packets waiting ahead of them.
    fn pass(&self, ahead: usize, quiet: &Quiet, columns: &mut [Vec<Moments>; 3]) {
        let states = self.modulator_states();
        let mut slot = Slot::new(states);
        let mut known = Vec::new();
        for size in (ahead + 2..self.sizes()).rev() {
            for group in quiet.at(size) {
                known.clear();
                for &level in &group.levels {
                    self.look_ahead(ahead, level, size, group, columns, &mut slot);
                    slot.collect(self, &mut known);
                }
                let moments = solve(group, &known);
                for (level, moments) in group.levels.iter().zip(moments.chunks_exact(states)) {
                    columns[2][self.place(*level, size)..][..states].copy_from_slice(moments);
                }
            }
        }
    }

    /// Fills `slot` with the moments after one slot of a packet with `ahead` packets waiting ahead.
    /// Quiet jumps within the size's `group` of levels are left out.
    fn look_ahead(
        &self,
        ahead: usize,
        level: usize,
        size: usize,
        group: &Group,
        columns: &[Vec<Moments>; 3],
        slot: &mut Slot,
    ) {
        slot.clear();
        let mut follow = |after: usize, probability: f64, gone: usize| {
            self.jumps(level, after, |jump| {
                let gone = gone + usize::from(jump.active && jump.more == 0);
                let stays = gone == 0 && !jump.active && group.levels.contains(&jump.level);
                if gone <= ahead && !stays {
                    let at = self.place(jump.level, after + jump.more);
                    let share = probability * jump.probability;
                    slot.add(jump.active, share, &columns[2 - gone][at..]);
                }
            });
        };
        follow(size, self.stay(size), 0);
        if ahead > 0 {
            follow(size - 1, self.mu, 1);
        } else {
            slot.started = self.mu;
        }
    }
}

/// Mean moments after a slot that starts at one level and size, by the modulator's state after it.
struct Slot {
    /// Probability that the packet's service starts.
    started: f64,
    quiet: Vec<Moments>,
    active: Vec<Moments>,
}

impl Slot {
    fn new(states: usize) -> Self {
        Self {
            started: 0.0,
            quiet: vec![NOTHING; states],
            active: vec![NOTHING; states],
        }
    }

    fn clear(&mut self) {
        self.started = 0.0;
        self.quiet.fill(NOTHING);
        self.active.fill(NOTHING);
    }

    fn add(&mut self, active: bool, share: f64, column: &[Moments]) {
        let to = if active {
            &mut self.active
        } else {
            &mut self.quiet
        };
        for (to, from) in to.iter_mut().zip(column) {
            add(to, share, from);
        }
    }

    /// Appends the mean over the modulator's changes, by the modulator's state before the slot.
    fn collect(&self, chain: &Chain, known: &mut Vec<Moments>) {
        let first = known.len();
        known.resize(first + self.quiet.len(), [self.started, 0.0, 0.0]);
        for (active, column) in [(false, &self.quiet), (true, &self.active)] {
            for change in chain.changes(active) {
                let to = &mut known[first + change.from];
                add(to, change.probability, &column[change.to]);
            }
        }
    }
}

/// Returns the moments at a group's levels. `known` holds the parts from outside the group.
fn solve(group: &Group, known: &[Moments]) -> Vec<Moments> {
    let column = |power: usize| known.iter().map(move |moments| moments[power]);
    // T is one slot longer than the time from the next slot on
    let served = group.times_column(&column(0).collect::<Vec<_>>());
    let right: Vec<f64> = column(1).zip(&served).map(|(x, y)| x + y).collect();
    let mean = group.times_column(&right);
    let right = column(2).zip(&mean).zip(&served);
    let right: Vec<f64> = right.map(|((x, y), z)| x + 2.0 * y - z).collect();
    let square = group.times_column(&right);
    (0..known.len())
        .map(|k| [served[k], mean[k], square[k]])
        .collect()
}

#[inline]
fn add(to: &mut Moments, factor: f64, from: &Moments) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}
