//! The direct method: sizes of the system are eliminated from the largest down.
//!
//! The size changes by at most one packet in a slot, so the transition matrix is block tridiagonal
//! with one block per size (average and modulator within it). Censoring out one size after the
//! other needs no subtraction, so with b >= 0 every entry of the solution of x = b + x T has full
//! relative accuracy.

use ndarray::Array2;

use crate::{
    chain::Chain, dense, elimination::add_scaled, error::ChainError, monitor::Progress, set::Set,
};

/// A solution with an entry above this is scaled down, so that it does not overflow.
const LARGE: f64 = 1e200;

/// The taboo states: T has no transitions into them.
pub(crate) enum Taboo {
    /// One state, by its place in the chain's order.
    State(usize),
    Set(Set),
}

/// One entry of a sparse block.
struct Entry {
    row: usize,
    column: usize,
    probability: f64,
}

/// The transitions from one size of the system: to the next smaller size (`down`), to the same
/// (`inside`), to the next larger (`up`), and, summed by row, into taboo states (`lost`).
struct Blocks {
    down: Vec<Entry>,
    inside: Vec<Entry>,
    up: Vec<Entry>,
    lost: Vec<f64>,
}

/// Returns the memory of a factored chain, bytes. `block` is the number of states of one size.
pub(crate) fn bytes(block: f64, sizes: f64) -> f64 {
    (sizes + 6.0) * block * block * size_of::<f64>() as f64
}

/// Returns the number of multiplications for the factorisation.
pub(crate) fn work(block: f64, sizes: f64) -> f64 {
    sizes * block * block * block
}

/// Returns an estimate of the relative error of every entry if nothing is subtracted: a few
/// roundings for each block that is eliminated, times the modulator's states (O'Cinneide 1993).
pub(crate) fn relative_error(chain: &Chain) -> f64 {
    4.0 * f64::EPSILON * chain.sizes() as f64 * chain.modulator_states() as f64
}

/// The factored `(I - T)^-1`, where T is the transition matrix without the transitions into taboo
/// states.
pub(crate) struct Factor<'c> {
    chain: &'c Chain,
    taboo: Taboo,
    /// By size: inverse of the block that is left when all larger sizes are eliminated, column
    /// major.
    inverses: Vec<f64>,
}

impl<'c> Factor<'c> {
    /// Factors `chain`. Every state must be able to reach a taboo state.
    ///
    /// # Errors
    /// If the chain's monitor is cancelled.
    pub fn new(chain: &'c Chain, taboo: Taboo) -> Result<Self, ChainError> {
        let (sizes, block) = (
            chain.sizes(),
            chain.level_count() * chain.modulator_states(),
        );
        let mut factor = Self {
            chain,
            taboo,
            // all at once, so that the memory is what `bytes` promised
            inverses: vec![0.0; sizes * block * block],
        };
        let mut here = factor.blocks(sizes - 1);
        let mut inner = dense::zeros(block, block);
        for size in (0..sizes).rev() {
            chain.monitor.report(Progress::Eliminated {
                sizes: sizes - 1 - size,
                of: sizes,
            })?;
            fill(&mut inner, &here.inside);
            let mut exit = here.lost.clone();
            for entry in &here.down {
                exit[entry.row] += entry.probability;
            }
            dense::inverse(inner.view_mut(), &exit);
            let kept = &mut factor.inverses[size * block * block..][..block * block];
            for (column, to) in kept.chunks_exact_mut(block).enumerate() {
                to.copy_from_slice(dense::column(&inner, column));
            }
            if size > 0 {
                let mut below = factor.blocks(size - 1);
                lose(&mut below, &inner, &here.lost);
                inner = fold(&below.up, &inner, &here.down);
                here = below;
            }
        }
        Ok(factor)
    }

    /// Solves `x = b + x T` up to a factor and returns the factor, which is 1 unless x would
    /// overflow. x is written over `b`. Both are in the chain's order of states.
    pub fn solve(&self, b: &mut [f64]) -> f64 {
        let mut parts = self.by_size(b);
        let sizes = parts.len();
        for size in (1..sizes).rev() {
            let (below, here) = parts.split_at_mut(size);
            if here[0].iter().any(|x| *x != 0.0) {
                let visits = self.times_inverse(size, &here[0]);
                pass(&visits, &self.blocks(size).down, &mut below[size - 1]);
            }
        }
        let mut scale = 1.0;
        for size in 0..sizes {
            let (below, here) = parts.split_at_mut(size);
            if let Some(last) = below.last() {
                pass(last, &self.blocks(size - 1).up, &mut here[0]);
            }
            here[0] = self.times_inverse(size, &here[0]);
            if here[0].iter().any(|x| x.abs() > LARGE) {
                parts.iter_mut().flatten().for_each(|x| *x /= LARGE);
                scale /= LARGE;
            }
        }
        self.arrange(&parts, b);
        scale
    }

    /// Returns a row times the inverse of `size`.
    fn times_inverse(&self, size: usize, row: &[f64]) -> Vec<f64> {
        let block = row.len();
        self.inverses[size * block * block..][..block * block]
            .chunks_exact(block)
            .map(|column| row.iter().zip(column).map(|(x, y)| x * y).sum())
            .collect()
    }

    fn blocks(&self, size: usize) -> Blocks {
        let (chain, states) = (self.chain, self.chain.modulator_states());
        let mut blocks = Blocks {
            down: Vec::new(),
            inside: Vec::new(),
            up: Vec::new(),
            lost: vec![0.0; chain.level_count() * states],
        };
        for level in 0..chain.level_count() {
            let mut serve = |after: usize, served: f64| {
                chain.jumps(level, after, |jump| {
                    let next = after + jump.more;
                    let to = match (next + 1) - size {
                        0 => &mut blocks.down,
                        1 => &mut blocks.inside,
                        _ => &mut blocks.up,
                    };
                    for change in chain.changes(jump.active) {
                        let row = level * states + change.from;
                        let probability = served * jump.probability * change.probability;
                        if self.is_taboo(jump.level, next, change.to) {
                            blocks.lost[row] += probability;
                        } else {
                            to.push(Entry {
                                row,
                                column: jump.level * states + change.to,
                                probability,
                            });
                        }
                    }
                });
            };
            serve(size, chain.stay(size));
            if size > 0 {
                serve(size - 1, chain.mu);
            }
        }
        blocks
    }

    fn is_taboo(&self, level: usize, size: usize, state: usize) -> bool {
        match &self.taboo {
            Taboo::State(place) => self.chain.place(level, size) + state == *place,
            Taboo::Set(set) => set.contains(level, size),
        }
    }

    /// Splits a vector in the chain's order of states into one vector for each size.
    fn by_size(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let states = self.chain.modulator_states();
        let part = |size| {
            (0..self.chain.level_count())
                .flat_map(|level| &x[self.chain.place(level, size)..][..states])
                .copied()
                .collect()
        };
        (0..self.chain.sizes()).map(part).collect()
    }

    /// The inverse of `by_size`.
    fn arrange(&self, parts: &[Vec<f64>], x: &mut [f64]) {
        let states = self.chain.modulator_states();
        for (size, part) in parts.iter().enumerate() {
            for (level, from) in part.chunks_exact(states).enumerate() {
                x[self.chain.place(level, size)..][..states].copy_from_slice(from);
            }
        }
    }
}

fn fill(matrix: &mut Array2<f64>, entries: &[Entry]) {
    for entry in entries {
        matrix[(entry.row, entry.column)] += entry.probability;
    }
}

/// Adds to `below.lost` the transitions into taboo states that go through the size above; `inverse`
/// and `lost` belong to that size.
fn lose(below: &mut Blocks, inverse: &Array2<f64>, lost: &[f64]) {
    if lost.iter().all(|x| *x == 0.0) {
        return;
    }
    let mut through = vec![0.0; lost.len()];
    for (column, lost) in lost.iter().enumerate() {
        add_scaled(&mut through, *lost, dense::column(inverse, column));
    }
    for entry in &below.up {
        below.lost[entry.row] += entry.probability * through[entry.column];
    }
}

/// Returns `up * inverse * down`: what the eliminated sizes add to the next block.
fn fold(up: &[Entry], inverse: &Array2<f64>, down: &[Entry]) -> Array2<f64> {
    let block = inverse.nrows();
    let (mut through, mut folded) = (dense::zeros(block, block), dense::zeros(block, block));
    for entry in down {
        let from = dense::column(inverse, entry.row);
        let to = dense::column_mut(&mut through, entry.column);
        add_scaled(to, entry.probability, from);
    }
    for column in 0..block {
        let from = dense::column(&through, column);
        let to = dense::column_mut(&mut folded, column);
        for entry in up {
            to[entry.row] += entry.probability * from[entry.column];
        }
    }
    folded
}

/// Adds `x` times the sparse block `entries` to `to`.
fn pass(x: &[f64], entries: &[Entry], to: &mut [f64]) {
    for entry in entries {
        to[entry.column] += x[entry.row] * entry.probability;
    }
}
