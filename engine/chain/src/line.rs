//! One level of the average: exact solution for queue and modulator at this level.
//!
//! The size of the system changes by at most one packet in a slot, so the level's part of the
//! transition matrix is block tridiagonal in the size. It is eliminated from the largest size
//! down, without a subtraction.

use crate::{
    arrivals::{Change, Modulator},
    chain::Chain,
    elimination::inverse,
    set::Set,
};

/// Jump probabilities at one size of the system after the service: of jumps within the level and
/// outside the taboo states, and of all others (`_out`).
#[derive(Clone, Copy, Default)]
struct Within {
    quiet: f64,
    active: f64,
    active_more: f64,
    quiet_out: f64,
    active_out: f64,
}

/// The factored `(I - T)^-1`, where T is the part of the transition matrix that stays at one level
/// and leads to no taboo state.
pub(crate) struct Line {
    within: Vec<Within>,
    /// By size: inverse of the block that is left when all larger sizes are eliminated, row major.
    inverses: Vec<f64>,
}

impl Line {
    pub fn new(chain: &Chain, level: usize, taboo: &Set) -> Self {
        let (sizes, states) = (chain.sizes(), chain.modulator_states());
        let block = states * states;
        let mut line = Self {
            within: (0..sizes)
                .map(|size| within(chain, level, size, taboo))
                .collect(),
            inverses: vec![0.0; sizes * block],
        };
        // what the larger sizes add to this size's block, and to its exit probabilities
        let (mut folded, mut leaving) = (vec![0.0; block], vec![0.0; states]);
        for size in (0..sizes).rev() {
            let mut exit = line.outside(chain, size);
            exit.iter_mut().zip(&leaving).for_each(|(x, y)| *x += y);
            let mut inner = line.inside(chain, size);
            inner.iter_mut().zip(&folded).for_each(|(x, y)| *x += y);
            let down = line.down(chain, size);
            let mut leave: Vec<f64> = exit
                .iter()
                .zip(down.chunks_exact(states))
                .map(|(exit, row)| exit + row.iter().sum::<f64>())
                .collect();
            inverse(&mut inner, &mut leave);
            line.inverses[size * block..(size + 1) * block].copy_from_slice(&inner);
            if size > 0 {
                let up = line.up(chain, size - 1);
                let through = product(&up, &inner, states);
                folded = product(&through, &down, states);
                leaving = product(&through, &exit, states);
            }
        }
        line
    }

    /// Returns the memory of one factored level of `chain`, bytes.
    pub fn bytes(chain: &Chain) -> f64 {
        let states = chain.modulator_states();
        (chain.sizes() * (states * states * size_of::<f64>() + size_of::<Within>())) as f64
    }

    /// Block of the transitions from `size` to `size`, also by a service and an arrival together.
    fn inside(&self, chain: &Chain, size: usize) -> Vec<f64> {
        let here = self.within[size];
        let stay = chain.stay(size);
        let mut matrix = matrix(chain, stay * here.quiet, stay * here.active);
        if size > 0 {
            let more = chain.mu * self.within[size - 1].active_more;
            add(&chain.modulator.active, more, &mut matrix, chain);
        }
        matrix
    }

    /// Block of the transitions from `size` to `size - 1`.
    fn down(&self, chain: &Chain, size: usize) -> Vec<f64> {
        if size == 0 {
            return matrix(chain, 0.0, 0.0);
        }
        let below = self.within[size - 1];
        matrix(chain, chain.mu * below.quiet, chain.mu * below.active)
    }

    /// Block of the transitions from `size` to `size + 1`.
    fn up(&self, chain: &Chain, size: usize) -> Vec<f64> {
        let more = chain.stay(size) * self.within[size].active_more;
        matrix(chain, 0.0, more)
    }

    /// Probabilities of leaving the level from `size`, by state of the modulator.
    fn outside(&self, chain: &Chain, size: usize) -> Vec<f64> {
        let states = chain.modulator_states();
        let mut exit = vec![0.0; states];
        let mut leave = |after: usize, probability: f64| {
            let out = self.within[after];
            for (changes, share) in [
                (&chain.modulator.quiet, out.quiet_out),
                (&chain.modulator.active, out.active_out),
            ] {
                for change in changes {
                    exit[change.from] += probability * share * change.probability;
                }
            }
        };
        leave(size, chain.stay(size));
        if size > 0 {
            leave(size - 1, chain.mu);
        }
        exit
    }

    /// Solves `x = b + x T`; `x` holds b before and the solution after.
    pub fn solve(&self, chain: &Chain, x: &mut [f64], room: &mut Room) {
        let (sizes, states) = (chain.sizes(), chain.modulator_states());
        let block = states * states;
        let inverse = |size: usize| &self.inverses[size * block..(size + 1) * block];
        let Room { served, changed } = room;
        for size in (0..sizes).rev() {
            let (below, here) = x[..(size + 1) * states].split_at_mut(size * states);
            times(here, inverse(size), served);
            here.copy_from_slice(served);
            if size > 0 {
                let within = self.within[size - 1];
                let below = &mut below[(size - 1) * states..];
                let down = [
                    (&chain.modulator.quiet, within.quiet),
                    (&chain.modulator.active, within.active),
                ];
                for (changes, share) in down {
                    let factor = chain.mu * share;
                    for change in changes {
                        below[change.to] += factor * here[change.from] * change.probability;
                    }
                }
            }
        }
        for size in 1..sizes {
            let (below, here) = x[..(size + 1) * states].split_at_mut(size * states);
            let below = &below[(size - 1) * states..];
            changed.fill(0.0);
            Modulator::apply(&chain.modulator.active, below, changed);
            let factor = chain.stay(size - 1) * self.within[size - 1].active_more;
            changed.iter_mut().for_each(|x| *x *= factor);
            times(changed, inverse(size), served);
            here.iter_mut().zip(&*served).for_each(|(x, y)| *x += y);
        }
    }
}

/// Work space of `Line::solve`.
pub(crate) struct Room {
    served: Vec<f64>,
    changed: Vec<f64>,
}

impl Room {
    pub fn new(states: usize) -> Self {
        Self {
            served: vec![0.0; states],
            changed: vec![0.0; states],
        }
    }
}

fn within(chain: &Chain, level: usize, size: usize, taboo: &Set) -> Within {
    let mut within = Within::default();
    chain.jumps(level, size, |jump| {
        let stays = jump.level == level && !taboo.contains(level, size + jump.more);
        let share = match (stays, jump.active, jump.more) {
            (true, false, _) => &mut within.quiet,
            (true, true, 0) => &mut within.active,
            (true, true, _) => &mut within.active_more,
            (false, false, _) => &mut within.quiet_out,
            (false, true, _) => &mut within.active_out,
        };
        *share += jump.probability;
    });
    within
}

fn matrix(chain: &Chain, quiet: f64, active: f64) -> Vec<f64> {
    let states = chain.modulator_states();
    let mut matrix = vec![0.0; states * states];
    add(&chain.modulator.quiet, quiet, &mut matrix, chain);
    add(&chain.modulator.active, active, &mut matrix, chain);
    matrix
}

fn add(changes: &[Change], share: f64, to: &mut [f64], chain: &Chain) {
    for change in changes {
        to[change.from * chain.modulator_states() + change.to] += share * change.probability;
    }
}

/// Returns a matrix of `states` columns times a matrix (or column) of `states` rows.
fn product(left: &[f64], right: &[f64], states: usize) -> Vec<f64> {
    let columns = right.len() / states;
    let mut result = vec![0.0; left.len() / states * columns];
    for (row, to) in left
        .chunks_exact(states)
        .zip(result.chunks_exact_mut(columns))
    {
        for (factor, from) in row.iter().zip(right.chunks_exact(columns)) {
            crate::elimination::add_scaled(to, *factor, from);
        }
    }
    result
}

/// Writes a row vector times a square matrix over `to`.
#[inline]
fn times(vector: &[f64], matrix: &[f64], to: &mut [f64]) {
    to.fill(0.0);
    for (factor, row) in vector.iter().zip(matrix.chunks_exact(vector.len())) {
        if *factor != 0.0 {
            crate::elimination::add_scaled(to, *factor, row);
        }
    }
}
