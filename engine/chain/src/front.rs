//! Moments of the times of packets where packets are dropped from the front: a tagged packet's fate.
//!
//! An arrival that is to be dropped takes the place at the tail, and the head of the waiting line
//! goes instead. What becomes of a packet with j others ahead of it therefore depends on
//! later arrivals: each slot takes 0, 1 or 2 packets from the line's head (a service that ends, a
//! drop). With f_j the column of moments over the chain's states,
//!
//!   f_j = P_0 f_j + P_1 f_(j-1) + P_2 f_(j-2),
//!
//! where P_i are the transitions that take i packets. P_0 serves no packet and drops none: the
//! size grows, or the slot is a quiet one. So each j is one pass over the sizes from the largest
//! down, and at each size over the groups of levels of `quiet.rs`.

use crate::{
    chain::{Chain, Changed},
    error::ChainError,
    measures::Sums,
    quiet::{Group, Quiet},
};

/// P(served), E[T; served] and E[T^2; served], T the slots until the service starts.
type Moments = [f64; 3];

const NOTHING: Moments = [0.0; 3];

/// What becomes of packets that are dropped from the front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontMoments {
    /// Packets served per slot.
    pub served: f64,
    /// Of the served packets' sojourn times, per slot.
    pub sojourn: Sums,
    /// Of their delays.
    pub delay: Sums,
}

impl Chain {
    /// The moments of the times of packets that are served, under drop from front.
    ///
    /// # Errors
    /// When it is interrupted.
    pub fn front_moments(&self, probabilities: &[f64]) -> Result<FrontMoments, ChainError> {
        let quiet = Quiet::new(self);
        let joined = self.joined(probabilities);
        let empty = || vec![NOTHING; self.states()];
        // of packets with two fewer ahead, with one fewer, with as many
        let mut columns = [empty(), empty(), empty()];
        let mut total = NOTHING;
        for ahead in 0..self.sizes() - 2 {
            self.control.going()?;
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

    /// Packets per slot that join the line, by the state they make; all others are ahead of them.
    /// Size 1: their service starts at once.
    pub(crate) fn joined(&self, probabilities: &[f64]) -> Vec<f64> {
        let (states, width) = (self.modulator_states(), self.width());
        let mut joined = vec![0.0; self.states()];
        let mut changed = Changed::new(states);
        for (level, from) in probabilities.chunks_exact(width).enumerate() {
            for size in 0..self.sizes() {
                changed.after_service(self, from, size);
                self.jumps(level, size, |jump| {
                    // without a line to drop from, the arrival itself is lost
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

    /// Finds the column of packets with `ahead` waiting ahead of them.
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

    /// What one slot makes of a packet with `ahead` waiting ahead of it; quiet ones that stay
    /// within the size's `group` of levels left out.
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

/// What a slot leads to from one level and size, before the modulator's change is known.
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

    /// Appends the mean over the modulator's change, by the state before it.
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

/// The moments at a group's levels from what is known of them.
fn solve(group: &Group, known: &[Moments]) -> Vec<Moments> {
    let column = |power: usize| known.iter().map(move |moments| moments[power]);
    // T is one slot more than from the next slot on
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
