//! The direct method: sizes of the system eliminated from the largest down.
//!
//! The size moves by one packet at most, so the transition matrix is block tridiagonal with
//! one block per size (average and modulator within it). Censoring out one size after the other
//! needs no subtraction, so every probability comes with full relative accuracy.

use faer::Mat;

use crate::{
    chain::Chain,
    control::Progress,
    dense,
    elimination::{normalise, stationary},
    error::ChainError,
};

/// Above this, unnormalised probabilities are scaled down before they overflow.
const LARGE: f64 = 1e200;

/// One entry of a sparse block.
struct Entry {
    row: usize,
    column: usize,
    probability: f64,
}

/// The transitions from one size of the system: to the next smaller, the same, the next larger.
struct Blocks {
    down: Vec<Entry>,
    inside: Vec<Entry>,
    up: Vec<Entry>,
}

/// States of one size of the system: rows of a block.
fn block_states(chain: &Chain) -> usize {
    chain.level_count() * chain.modulator_states()
}

/// Bytes that `solve` takes.
pub(crate) fn bytes(block: f64, sizes: f64) -> f64 {
    (sizes + 5.0) * block * block * size_of::<f64>() as f64
}

/// Multiplications that `solve` takes.
pub(crate) fn work(block: f64, sizes: f64) -> f64 {
    sizes * block * block * block
}

/// Estimate of the sum of the errors: one rounding for each block that is eliminated, times the
/// modulator's states. Elimination without a subtraction keeps every probability to a small
/// multiple of the rounding (O'Cinneide 1993); the residual tells nothing smaller than that.
pub(crate) fn error(chain: &Chain) -> f64 {
    f64::EPSILON * chain.sizes() as f64 * chain.modulator_states() as f64
}

/// The steady state, as probabilities in the chain's order of states.
pub(crate) fn solve(chain: &Chain) -> Result<Vec<f64>, ChainError> {
    let (sizes, block) = (chain.sizes(), block_states(chain));
    // by size from 1 on, column major; at once, so that the memory is what was said
    let mut inverses = vec![0.0; (sizes - 1) * block * block];
    let mut here = blocks(chain, sizes - 1);
    let mut inner = Mat::<f64>::zeros(block, block);
    let mut ups = Vec::with_capacity(sizes);
    for size in (1..sizes).rev() {
        let eliminated = sizes - 1 - size;
        chain.control.tell(Progress::Eliminated {
            sizes: eliminated,
            of: sizes,
        })?;
        fill(&mut inner, &here.inside);
        let mut exit = vec![0.0; block];
        for entry in &here.down {
            exit[entry.row] += entry.probability;
        }
        dense::inverse(inner.as_mut(), &exit);
        let below = blocks(chain, size - 1);
        let kept = &mut inverses[(size - 1) * block * block..][..block * block];
        for (column, to) in kept.chunks_exact_mut(block).enumerate() {
            to.copy_from_slice(inner.col_as_slice(column));
        }
        inner = fold(&below.up, &inner, &here.down);
        here = below;
        ups.push(std::mem::take(&mut here.up));
    }
    fill(&mut inner, &here.inside);
    let mut rows: Vec<f64> = (0..block * block)
        .map(|k| inner[(k / block, k % block)])
        .collect();
    let mut parts = vec![stationary(&mut rows, block)];
    for (inverse, up) in inverses.chunks_exact(block * block).zip(ups.iter().rev()) {
        let next = rise(parts.last().expect("size 0"), up, inverse);
        parts.push(next);
        if parts
            .last()
            .expect("just pushed")
            .iter()
            .any(|x| *x > LARGE)
        {
            parts.iter_mut().flatten().for_each(|x| *x /= LARGE);
        }
    }
    Ok(arrange(chain, &parts))
}

fn blocks(chain: &Chain, size: usize) -> Blocks {
    let states = chain.modulator_states();
    let mut blocks = Blocks {
        down: Vec::new(),
        inside: Vec::new(),
        up: Vec::new(),
    };
    for level in 0..chain.level_count() {
        let mut serve = |after: usize, served: f64| {
            chain.jumps(level, after, |jump| {
                let to = match (after + jump.more + 1) - size {
                    0 => &mut blocks.down,
                    1 => &mut blocks.inside,
                    _ => &mut blocks.up,
                };
                for change in chain.changes(jump.active) {
                    to.push(Entry {
                        row: level * states + change.from,
                        column: jump.level * states + change.to,
                        probability: served * jump.probability * change.probability,
                    });
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

fn fill(matrix: &mut Mat<f64>, entries: &[Entry]) {
    for entry in entries {
        matrix[(entry.row, entry.column)] += entry.probability;
    }
}

/// `up * inverse * down`: what the eliminated sizes add to the next block.
fn fold(up: &[Entry], inverse: &Mat<f64>, down: &[Entry]) -> Mat<f64> {
    let block = inverse.nrows();
    let (mut through, mut folded) = (Mat::zeros(block, block), Mat::zeros(block, block));
    for entry in down {
        let from = inverse.col_as_slice(entry.row);
        let to: &mut [f64] = through.col_as_slice_mut(entry.column);
        crate::elimination::add_scaled(to, entry.probability, from);
    }
    for column in 0..block {
        let from: &[f64] = through.col_as_slice(column);
        let to: &mut [f64] = folded.col_as_slice_mut(column);
        for entry in up {
            to[entry.row] += entry.probability * from[entry.column];
        }
    }
    folded
}

/// Probabilities of the next larger size from those of one size.
fn rise(x: &[f64], up: &[Entry], inverse: &[f64]) -> Vec<f64> {
    let mut entering = vec![0.0; x.len()];
    for entry in up {
        entering[entry.column] += x[entry.row] * entry.probability;
    }
    inverse
        .chunks_exact(x.len())
        .map(|column| entering.iter().zip(column).map(|(x, y)| x * y).sum())
        .collect()
}

/// From parts by size to the chain's order, and to a sum of 1.
fn arrange(chain: &Chain, parts: &[Vec<f64>]) -> Vec<f64> {
    let (sizes, states) = (chain.sizes(), chain.modulator_states());
    let mut x = vec![0.0; chain.states()];
    for (size, part) in parts.iter().enumerate() {
        for (level, from) in part.chunks_exact(states).enumerate() {
            let at = (level * sizes + size) * states;
            x[at..at + states].copy_from_slice(from);
        }
    }
    normalise(&mut x);
    x
}
