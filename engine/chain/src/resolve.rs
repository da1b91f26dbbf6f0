//! Extra solves of a chain: systems x = b + x T, with the procedures of both methods.
//!
//! T is the transition matrix P without the transitions into a set of taboo states; x is then the
//! expected number of visits to each state before the set is reached, from the start b.
//!
//! Without taboo states I - P is singular. If b sums to 0, the system still has solutions, which
//! differ by multiples of the steady state s. The solution that sums to 0 is b times the group
//! inverse of I - P (Meyer 1975). It is the derivative of s for a derivative P' of the transition
//! matrix with b = s P'.

use crate::{
    chain::Chain,
    direct::{self, Factor, Taboo},
    elimination::add_scaled,
    error::{ChainError, refuse},
    iterative::{self, distance, sum},
    set::Set,
    solve::{Method, Solution, TOLERANCE, likeliest},
    sweep::Sweeper,
};

/// A solution of `x = b + x T`.
pub(crate) struct Resolved {
    pub x: Vec<f64>,
    /// Sum of |b + x T - x|, over the sum of |b|.
    pub residual: f64,
    /// Estimate of the sum of the errors of all entries.
    pub error: f64,
    /// Sweeps over all levels; 0 for the direct method.
    pub sweeps: usize,
}

/// A chain prepared for any number of right sides b.
pub(crate) struct Resolver<'c> {
    chain: &'c Chain,
    taboo: Set,
    /// The steady state, if no state is taboo: solutions get a multiple of it to sum to 0.
    steady: Option<&'c [f64]>,
    solver: Solver<'c>,
}

enum Solver<'c> {
    Direct(Factor<'c>),
    Iterative(Sweeper<'c>),
}

impl Chain {
    /// Prepares solves for visits before the set `taboo`, from `Chain::set`, is reached.
    pub(crate) fn visits(&self, taboo: &Set, method: Method) -> Result<Resolver<'_>, ChainError> {
        self.check(method)?;
        let solver = match method {
            Method::Direct => Solver::Direct(Factor::new(self, Taboo::Set(taboo.clone()))?),
            Method::Iterative => Solver::Iterative(Sweeper::new(self, taboo.clone())),
        };
        Ok(Resolver {
            chain: self,
            taboo: taboo.clone(),
            steady: None,
            solver,
        })
    }

    /// Prepares solves for derivatives of a steady state, with the method that found it.
    ///
    /// The direct method makes the likeliest state taboo: its solution then differs from the wanted
    /// one by a multiple of the steady state, and there are few visits before a likely state is
    /// reached.
    pub(crate) fn changes_of<'c>(
        &'c self,
        steady: &'c Solution,
    ) -> Result<Resolver<'c>, ChainError> {
        let probabilities = &steady.probabilities;
        let solver = match steady.method {
            Method::Direct => {
                let home = likeliest(probabilities);
                Solver::Direct(Factor::new(self, Taboo::State(home))?)
            }
            Method::Iterative => Solver::Iterative(Sweeper::new(self, Set::NONE)),
        };
        Ok(Resolver {
            chain: self,
            taboo: Set::NONE,
            steady: Some(probabilities),
            solver,
        })
    }
}

impl Resolver<'_> {
    /// Solves `x = b + x T`. b must be 0 in taboo states; without taboo states it must sum to 0.
    pub fn solve(&mut self, b: &[f64]) -> Result<Resolved, ChainError> {
        let Self {
            chain,
            taboo,
            steady,
            solver,
        } = self;
        if b.iter().all(|b| *b == 0.0) {
            return Ok(Resolved {
                x: b.to_vec(),
                residual: 0.0,
                error: 0.0,
                sweeps: 0,
            });
        }
        let steady = *steady;
        let settle = |x: &mut [f64]| {
            if let Some(steady) = steady {
                let total: f64 = x.iter().sum();
                add_scaled(x, -total, steady);
            }
        };
        let residual = |x: &[f64]| distance(x, &chain.once_more(b, x, taboo));
        let (x, residual, error, sweeps) = match solver {
            Solver::Direct(factor) => {
                let (mut x, error) = directly(factor, b)?;
                settle(&mut x);
                let residual = residual(&x);
                (x, residual, error * direct::relative_error(chain), 0)
            }
            Solver::Iterative(sweeper) => {
                let found = iterative::resolve(sweeper, b, TOLERANCE, settle, residual)?;
                let total = sum(&found.x);
                let mut error = found.error + direct::relative_error(chain) * total;
                if steady.is_none() {
                    // the unsolved share of b would add about the same share of visits
                    let left = found.residual / sum(b);
                    if left > MOST_LEFT {
                        refuse!(
                            "the set is reached after {total:.0e} slots on average or more, too \
                             many for the iterative method: take the direct method"
                        );
                    }
                    error += left * total;
                }
                (found.x, found.residual, error, found.sweeps)
            }
        };
        Ok(Resolved {
            x,
            residual: residual / sum(b),
            error,
            sweeps,
        })
    }
}

/// Share of the right side that may stay unsolved in a first passage. Rounding leaves a larger
/// share if the passage takes longer.
const MOST_LEFT: f64 = 1e-4;

/// Returns the solution for `b`, and the sum of the solution for |b|, in which nothing cancels.
fn directly(factor: &Factor<'_>, b: &[f64]) -> Result<(Vec<f64>, f64), ChainError> {
    let mut x = b.to_vec();
    let mut moduli: Vec<f64> = b.iter().map(|b| b.abs()).collect();
    if factor.solve(&mut moduli) != 1.0 || !sum(&moduli).is_finite() {
        refuse!("the set is reached after more than 1e200 slots on average");
    }
    factor.solve(&mut x);
    Ok((x, sum(&moduli)))
}

impl Chain {
    /// Returns `b + x T`.
    fn once_more(&self, b: &[f64], x: &[f64], taboo: &Set) -> Vec<f64> {
        let mut next = self.step(x);
        let (sizes, states) = (self.sizes(), self.modulator_states());
        for (cell, part) in next.chunks_exact_mut(states).enumerate() {
            if taboo.contains(cell / sizes, cell % sizes) {
                part.fill(0.0);
            }
        }
        add_scaled(&mut next, 1.0, b);
        next
    }
}
