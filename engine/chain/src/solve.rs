//! The steady state of a chain, by one of two independent methods.

use crate::{
    chain::Chain,
    direct::{self, Factor, Taboo},
    elimination::normalise,
    error::{ChainError, refuse},
    iterative::{self, distance, sum},
};

/// A method for the steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Elimination without a subtraction: full relative accuracy; the work grows with the cube of
    /// the number of levels.
    Direct,
    /// Krylov projection of block Gauss-Seidel sweeps: for chains of millions of states.
    Iterative,
}

/// Residual and estimated error that the iterative method aims at.
pub(crate) const TOLERANCE: f64 = 1e-12;
/// Tolerance of a solution that only has to tell likely states from rare ones.
const ROUGH: f64 = 1e-3;
/// Multiplications that take the direct method about a second.
const MODERATE_WORK: f64 = 2e10;

/// The steady state, and its accuracy.
#[derive(Clone, Debug)]
pub struct Solution {
    /// Probability of each state: by level of the average, size of the system, modulator.
    pub probabilities: Vec<f64>,
    /// The method that was used.
    pub method: Method,
    /// Sum of |x P - x|.
    pub residual: f64,
    /// Estimate of the sum of the errors of all probabilities.
    pub error: f64,
    /// Sweeps over all levels; 0 for the direct method.
    pub sweeps: usize,
}

impl Chain {
    /// Returns the method that suits the chain's size.
    pub fn suitable(&self) -> Method {
        let block = (self.level_count() * self.modulator_states()) as f64;
        let is_moderate = direct::work(block, self.sizes() as f64) <= MODERATE_WORK;
        if is_moderate || self.level_count() == 1 {
            Method::Direct
        } else {
            Method::Iterative
        }
    }

    /// Returns an estimate of the memory that a method needs, bytes.
    pub fn bytes(&self, method: Method) -> f64 {
        let block = (self.level_count() * self.modulator_states()) as f64;
        match method {
            Method::Direct => direct::bytes(block, self.sizes() as f64),
            Method::Iterative => iterative::bytes(self),
        }
    }

    /// Refuses a method that needs more memory than the plan allows, or does not suit the chain.
    pub(crate) fn check(&self, method: Method) -> Result<(), ChainError> {
        let bytes = self.bytes(method);
        if bytes > self.memory {
            refuse!(
                "the chain has {} states; the {} method takes {:.1} GB, and {:.1} GB are there: \
                 take a coarser grid{}",
                self.states(),
                method.name(),
                bytes / 1e9,
                self.memory / 1e9,
                if method == Method::Direct {
                    " or the iterative method"
                } else {
                    ""
                }
            );
        }
        if method == Method::Iterative && self.level_count() == 1 {
            refuse!("the iterative method needs an average that moves: take the direct method");
        }
        Ok(())
    }

    /// Solves the chain.
    ///
    /// # Errors
    /// If the method needs more memory than the plan allows, does not suit the chain, does not
    /// converge, or is cancelled.
    pub fn solve(&self, method: Method) -> Result<Solution, ChainError> {
        self.check(method)?;
        match method {
            Method::Direct => self.solve_directly(),
            Method::Iterative => {
                let found = iterative::solve(self, TOLERANCE)?;
                Ok(Solution {
                    probabilities: found.x,
                    method,
                    residual: found.residual,
                    error: found.error,
                    sweeps: found.sweeps,
                })
            }
        }
    }

    /// The probability of a state is proportional to its expected visits between two visits to one
    /// chosen state. This is the empty state, or a likely one if the empty state is so rare that
    /// the visits overflow a double.
    fn solve_directly(&self) -> Result<Solution, ChainError> {
        let mut probabilities = self.visits_between(0)?;
        if !sum(&probabilities).is_finite() {
            let rough = iterative::solve(self, ROUGH)?;
            probabilities = self.visits_between(likeliest(&rough.x))?;
        }
        normalise(&mut probabilities);
        let residual = distance(&probabilities, &self.step(&probabilities));
        Ok(Solution {
            probabilities,
            method: Method::Direct,
            residual,
            error: direct::relative_error(self),
            sweeps: 0,
        })
    }

    /// Returns the expected visits to each state between two visits to `home`, up to a factor.
    fn visits_between(&self, home: usize) -> Result<Vec<f64>, ChainError> {
        let mut visits = vec![0.0; self.states()];
        visits[home] = 1.0;
        Factor::new(self, Taboo::State(home))?.solve(&mut visits);
        Ok(visits)
    }
}

/// Returns the place of the largest probability.
pub(crate) fn likeliest(probabilities: &[f64]) -> usize {
    let likelier = |a: &usize, b: &usize| probabilities[*a].total_cmp(&probabilities[*b]);
    (0..probabilities.len()).max_by(likelier).unwrap_or(0)
}

impl Method {
    /// Returns the name that a user writes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Iterative => "iterative",
        }
    }
}
