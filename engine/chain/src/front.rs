//! Times in the system where packets are dropped from the front: a tagged packet's fate.
//!
//! An arrival that is to be dropped takes the place at the tail, and the head of the waiting line
//! goes instead. What becomes of a packet with j others ahead of it therefore depends on
//! later arrivals: each slot takes 0, 1 or 2 packets from the line's head (a service that ends, a
//! drop). With f_j the column of moments over the chain's states,
//!
//!   f_j = P_0 f_j + P_1 f_(j-1) + P_2 f_(j-2),
//!
//! where P_i are the transitions that take i packets. P_0 serves no packet and drops none: the
//! size stays or grows, and at one size the average only comes closer to it. So I - P_0
//! is triangular in that order, and each j is one pass over the states.

use crate::chain::{Chain, Changed};

/// P(served), E[T; served] and E[T^2; served], T the slots until the service starts.
type Moments = [f64; 3];

const NOTHING: Moments = [0.0; 3];

/// What becomes of packets that are dropped from the front.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontWaits {
    /// Packets served per slot.
    pub served: f64,
    /// Sum of the served packets' times in the system, per slot (slots).
    pub sum: f64,
    /// Sum of the squares.
    pub square_sum: f64,
}

impl Chain {
    /// The times in the system of packets that are served, under drop from front.
    ///
    /// `None` where one observation can take the average past the queue (LPF/ODA by a clock, or
    /// by a clock a grid on which whole packets do not lie): then I - P_0 is not triangular.
    pub fn front_waits(&self, probabilities: &[f64]) -> Option<FrontWaits> {
        let sizes = self.sizes();
        let order: Vec<Vec<usize>> = (0..sizes)
            .map(|size| self.towards(size))
            .collect::<Option<_>>()?;
        let joined = self.joined(probabilities);
        let empty = || vec![NOTHING; self.states()];
        // of packets with two fewer ahead, with one fewer, with as many
        let mut columns = [empty(), empty(), empty()];
        let mut total = NOTHING;
        for ahead in 0..sizes - 2 {
            self.pass(ahead, &order, &mut columns);
            self.collect(ahead + 2, &joined, &columns[2], &mut total);
            columns.rotate_left(1);
        }
        let at_once = vec![[1.0, 0.0, 0.0]; self.states()];
        self.collect(1, &joined, &at_once, &mut total);
        let [served, sum, square_sum] = total;
        // with the service itself, geometric: mean 1 / mu, second moment (2 - mu) / mu^2
        let mu = self.mu;
        Some(FrontWaits {
            served,
            sum: sum + served / mu,
            square_sum: square_sum + 2.0 * sum / mu + served * (2.0 - mu) / (mu * mu),
        })
    }

    /// The levels from the closest to the queue of a system of `size` outwards, if no quiet slot
    /// leads to one further out.
    fn towards(&self, size: usize) -> Option<Vec<usize>> {
        let waiting = size.saturating_sub(1) as f64;
        let distance = |level: usize| (self.averages()[level] - waiting).abs();
        let mut order: Vec<usize> = (0..self.level_count()).collect();
        order.sort_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        let mut comes_closer = true;
        for &level in &order {
            self.jumps(level, size, |jump| {
                let stays = jump.active || jump.level == level;
                comes_closer &= stays || distance(jump.level) < distance(level);
            });
        }
        comes_closer.then_some(order)
    }

    /// Packets per slot that join the line, by the state they make; all others are ahead of them.
    /// Size 1: their service starts at once.
    fn joined(&self, probabilities: &[f64]) -> Vec<f64> {
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
    fn pass(&self, ahead: usize, order: &[Vec<usize>], columns: &mut [Vec<Moments>; 3]) {
        let mut slot = Slot::new(self.modulator_states());
        for size in (ahead + 2..self.sizes()).rev() {
            for &level in &order[size] {
                self.look_ahead(ahead, level, size, columns, &mut slot);
                let at = self.place(level, size);
                slot.solve(self, &mut columns[2][at..]);
            }
        }
    }

    /// What one slot makes of a packet with `ahead` waiting ahead of it.
    fn look_ahead(
        &self,
        ahead: usize,
        level: usize,
        size: usize,
        columns: &[Vec<Moments>; 3],
        slot: &mut Slot,
    ) {
        slot.clear();
        let mut follow = |after: usize, probability: f64, gone: usize| {
            self.jumps(level, after, |jump| {
                let gone = gone + usize::from(jump.active && jump.more == 0);
                let share = probability * jump.probability;
                if gone == 0 && !jump.active && jump.level == level {
                    slot.same += share;
                } else if gone <= ahead {
                    let at = self.place(jump.level, after + jump.more);
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
    /// Probability that nothing but the modulator changes.
    same: f64,
    /// Probability that the packet's service starts.
    started: f64,
    quiet: Vec<Moments>,
    active: Vec<Moments>,
}

impl Slot {
    fn new(states: usize) -> Self {
        Self {
            same: 0.0,
            started: 0.0,
            quiet: vec![NOTHING; states],
            active: vec![NOTHING; states],
        }
    }

    fn clear(&mut self) {
        (self.same, self.started) = (0.0, 0.0);
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

    /// Solves for the moments at this level and size, by state of the modulator. Quiet changes
    /// lead to the same or an earlier state: see `Modulator`.
    fn solve(&self, chain: &Chain, column: &mut [Moments]) {
        for state in 0..self.quiet.len() {
            let (mut known, mut back) = ([self.started, 0.0, 0.0], 0.0);
            let from = |change: &&crate::arrivals::Change| change.from == state;
            for change in chain.changes(true).iter().filter(from) {
                add(&mut known, change.probability, &self.active[change.to]);
            }
            for change in chain.changes(false).iter().filter(from) {
                let probability = change.probability;
                add(&mut known, probability, &self.quiet[change.to]);
                if change.to == state {
                    back += self.same * probability;
                } else {
                    add(&mut known, self.same * probability, &column[change.to]);
                }
            }
            // T is one slot more than from the next slot on
            let leave = 1.0 - back;
            let served = known[0] / leave;
            let mean = (known[1] + served) / leave;
            let square = (known[2] + 2.0 * mean - served) / leave;
            column[state] = [served, mean, square];
        }
    }
}

#[inline]
fn add(to: &mut Moments, factor: f64, from: &Moments) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}
