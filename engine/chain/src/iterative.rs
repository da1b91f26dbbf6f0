//! The iterative method for large chains: projection on Krylov subspaces of the sweep.
//!
//! A sweep (see `sweep.rs`) treats queue and modulator exactly, however slow they are. Arnoldi's
//! projection removes the remaining error, the slow modes of the average. Each cycle ends with
//! plain sweeps: they make all probabilities positive again, and show how much the solution still
//! changes.

use crate::{
    chain::Chain,
    elimination::{add_scaled, normalise},
    error::{ChainError, refuse},
    krylov::{correct, project},
    line::Line,
    set::Set,
    sweep::Sweeper,
};

/// Steps of Arnoldi's method before it restarts.
const DIMENSION: usize = 32;
/// Plain sweeps after each projection.
const SMOOTHING: usize = 2;
/// Tolerance of the solve within a cycle, relative to the residual before it.
const CYCLE_TOLERANCE: f64 = 1e-13;
/// Residuals below this share of the solution are rounding.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// A modulus above this is the eigenvalue 1 of a chain without taboo states, which rounding brings
/// into the subspace.
const ONE: f64 = 1.0 - 1e-12;
/// Cycles after which the method gives up.
const MOST_CYCLES: usize = 200;

/// Result of the iteration.
pub(crate) struct Found {
    pub x: Vec<f64>,
    pub residual: f64,
    pub error: f64,
    pub sweeps: usize,
}

/// Returns the memory that `solve` needs, bytes.
pub(crate) fn bytes(chain: &Chain) -> f64 {
    let vectors = (DIMENSION + 8) * chain.states() * size_of::<f64>();
    vectors as f64 + chain.level_count() as f64 * Line::bytes(chain)
}

/// Solves for the steady state, to a residual and an estimated error of at most `tolerance`.
///
/// The error is estimated as the change that all further sweeps together would make: the last
/// sweep's change over 1 - |second eigenvalue of the sweep|.
pub(crate) fn solve(chain: &Chain, tolerance: f64) -> Result<Found, ChainError> {
    let mut sweeper = Sweeper::new(chain, Set::NONE);
    let count = chain.states();
    let mut found = Found {
        x: vec![1.0 / count as f64; count],
        residual: f64::INFINITY,
        error: f64::INFINITY,
        sweeps: 0,
    };
    let mut second = 0.0_f64;
    for _ in 0..MOST_CYCLES {
        let before = found.error;
        // after a cancellation the sweep is the identity, which ends the projection
        let projection = project(found.x, DIMENSION, |x| sweeper.sweep(x, None));
        sweeper.going()?;
        second = second.max(projection.second.min(1.0 - f64::EPSILON));
        found.x = projection.x;
        let mut change = 0.0;
        for _ in 0..SMOOTHING {
            let last = found.x.clone();
            sweeper.sweep(&mut found.x, None);
            normalise(&mut found.x);
            change = distance(&last, &found.x);
        }
        found.sweeps = sweeper.sweeps;
        found.residual = distance(&found.x, &chain.step(&found.x));
        sweeper.residual = found.residual;
        found.error = change / (1.0 - second);
        // rounding can keep the estimate above the tolerance; then it stops falling
        let settled = found.error <= tolerance || found.error > before / 2.0;
        if found.residual <= tolerance && settled {
            return Ok(found);
        }
    }
    refuse!(
        "the chain of {count} states did not converge: residual {:.1e} after {} sweeps",
        found.residual,
        found.sweeps
    )
}

/// Solves `x = b + x T` to a residual of `tolerance` times the sum of |b|, or to rounding.
///
/// `residual` returns the sum of |b + x T - x|; `settle` removes from x the part that the system
/// does not determine. The error is estimated as in `solve`.
pub(crate) fn resolve(
    sweeper: &mut Sweeper<'_>,
    b: &[f64],
    tolerance: f64,
    settle: impl Fn(&mut [f64]),
    residual: impl Fn(&[f64]) -> f64,
) -> Result<Found, ChainError> {
    let (aim, swept) = (tolerance * sum(b), sweeper.sweeps);
    let mut found = Found {
        x: vec![0.0; b.len()],
        residual: f64::INFINITY,
        error: f64::INFINITY,
        sweeps: 0,
    };
    let mut largest = 0.0_f64;
    for _ in 0..MOST_CYCLES {
        let before = (found.residual, found.error);
        let mut left = found.x.clone();
        sweeper.sweep(&mut left, Some(b));
        add_scaled(&mut left, -1.0, &found.x);
        let map = |x: &mut [f64]| sweeper.sweep(x, None);
        let correction = correct(left, DIMENSION, CYCLE_TOLERANCE, map);
        sweeper.going()?;
        let mut slow = correction.moduli.iter().filter(|modulus| **modulus < ONE);
        largest = largest.max(*slow.next().unwrap_or(&0.0));
        add_scaled(&mut found.x, 1.0, &correction.x);
        let mut change = 0.0;
        for _ in 0..SMOOTHING {
            let last = found.x.clone();
            sweeper.sweep(&mut found.x, Some(b));
            change = distance(&last, &found.x);
        }
        settle(&mut found.x);
        found.sweeps = sweeper.sweeps - swept;
        found.residual = residual(&found.x);
        sweeper.residual = found.residual / sum(b);
        found.error = change / (1.0 - largest);
        let aim = aim.max(ROUNDING * sum(&found.x));
        // rounding can keep either of them above its aim; then it stops falling
        let stalls = found.error > before.1 / 2.0 && found.residual > before.0 / 2.0;
        let is_exact = found.error <= tolerance * sum(&found.x);
        if found.residual <= aim && (is_exact || stalls) {
            return Ok(found);
        }
    }
    refuse!(
        "the system of {} states did not converge: residual {:.1e} after {} sweeps",
        b.len(),
        found.residual / sum(b),
        found.sweeps
    )
}

/// Returns the sum of absolute values.
pub(crate) fn sum(x: &[f64]) -> f64 {
    x.iter().map(|x| x.abs()).sum()
}

/// Returns the sum of absolute differences.
pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}
