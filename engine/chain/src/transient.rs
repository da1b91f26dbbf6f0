//! Transients: the distribution some slots after a start, by projection on Krylov subspaces.
//!
//! With Arnoldi's basis V_m of span{x, xP, ..., x P^(m-1)}, t slots become t multiplications by a
//! small matrix, x P^t ~ beta V_m H_m^t e_1 with beta = ||x||_2 (Domanska, Domanski & Czachorski
//! 2008, section IV). From P V_m = V_m H_m + h v_(m+1) e_m' follows a recursion for its error e_t:
//!
//!   e_(t+1) = e_t P + beta h (H_m^t e_1)_m v_(m+1).
//!
//! No row of P sums to more than 1, so in each slot the 1-norm of the error grows by at most that
//! of the last term. Here the component along v_(m+1) is kept for one slot more, so the last term
//! of a slot becomes an error only in the next one, and m slots are exact. Each basis moves the
//! distribution as far as the bound allows; then a new basis is built.

use crate::{
    chain::Chain,
    elimination::add_scaled,
    error::ChainError,
    iterative::sum,
    krylov::{Arnoldi, norm},
};

/// Multiplications by the transition matrix for each basis.
const DIMENSION: usize = 40;
/// Slots of the longest leap: about a second of multiplications by the small matrix.
const LONGEST_LEAP: u64 = 1_000_000;

/// Bound of the 1-norm of the rounding of one multiplication: a few roundings per probability.
const STEP_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A distribution over the states that moves through time.
#[derive(Clone, Debug)]
pub struct Transient<'c> {
    chain: &'c Chain,
    /// Slots since the start.
    pub slot: u64,
    /// Probability of each state, in the chain's order.
    pub probabilities: Vec<f64>,
    /// Bound of the sum of the errors of all probabilities.
    pub error: f64,
    /// Multiplications by the transition matrix so far.
    pub multiplications: u64,
}

impl<'c> Transient<'c> {
    /// The transient at its start, slot 0.
    pub fn new(chain: &'c Chain, start: Vec<f64>) -> Self {
        Self {
            chain,
            slot: 0,
            probabilities: start,
            error: 0.0,
            multiplications: 0,
        }
    }

    /// Moves on by `slots`. In each slot the projections add at most `tolerance` to the error, not
    /// counting rounding.
    ///
    /// # Errors
    /// If the chain's monitor is cancelled.
    pub fn advance(&mut self, slots: u64, tolerance: f64) -> Result<(), ChainError> {
        let end = self.slot + slots;
        while self.slot < end {
            self.chain.monitor.going()?;
            let left = end - self.slot;
            if left <= DIMENSION as u64 {
                self.step();
            } else {
                self.leap(left.min(LONGEST_LEAP), tolerance);
            }
        }
        Ok(())
    }

    /// Moves on by one slot, by one multiplication.
    fn step(&mut self) {
        self.probabilities = self.chain.step(&self.probabilities);
        self.error += STEP_ROUNDING;
        self.slot += 1;
        self.multiplications += 1;
    }

    /// Moves on by as many slots as one basis allows, at most `most`.
    fn leap(&mut self, most: u64, tolerance: f64) {
        let length = norm(&self.probabilities);
        let mut arnoldi = Arnoldi::new(std::mem::take(&mut self.probabilities), DIMENSION);
        while arnoldi.columns < DIMENSION {
            self.multiplications += 1;
            let rest = arnoldi.extend(|x| x.copy_from_slice(&self.chain.step(x)));
            if rest == 0.0 {
                break;
            }
        }
        let Leap {
            slots,
            coordinates,
            error,
        } = Projected::new(&arnoldi).leap(length, most, tolerance);
        let mut next = vec![0.0; self.chain.states()];
        for (vector, coordinate) in arnoldi.basis.iter().zip(&coordinates) {
            add_scaled(&mut next, *coordinate, vector);
        }
        // a negative probability is an error; setting it to 0 cannot make the error larger
        next.iter_mut().for_each(|x| *x = x.max(0.0));
        self.probabilities = next;
        self.error += error;
        self.slot += slots;
    }
}

/// A leap with one basis: its length, and the coordinates and the added error at its end.
struct Leap {
    slots: u64,
    coordinates: Vec<f64>,
    error: f64,
}

/// A basis and its small matrix, with the norms for error bounds.
struct Projected<'a> {
    arnoldi: &'a Arnoldi,
    /// 1-norm of the basis vector beyond the last column, v_(m+1); 0 if there is none.
    beyond: f64,
    /// By column: sum of the 1-norms of all terms of one multiplication, for its rounding.
    moved: Vec<f64>,
}

impl<'a> Projected<'a> {
    fn new(arnoldi: &'a Arnoldi) -> Self {
        let lengths: Vec<f64> = arnoldi.basis.iter().map(|x| sum(x)).collect();
        let moved = |column: usize| {
            let along = |row: usize| arnoldi.hessenberg[(row, column)].abs() * lengths[row];
            lengths[column] + (0..=column).map(along).sum::<f64>()
        };
        Self {
            beyond: lengths.get(arnoldi.columns).copied().unwrap_or(0.0),
            moved: (0..arnoldi.columns).map(moved).collect(),
            arnoldi,
        }
    }

    /// Returns the longest leap of at most `most` slots with an error of at most `tolerance` per
    /// slot, from a start of 2-norm `length`.
    ///
    /// The rounding of a multiplication is taken as one unit times the sum of all its terms: the
    /// roundings of the many small terms of such a sum cancel for the most part (Higham & Mary
    /// 2019).
    fn leap(&self, length: f64, most: u64, tolerance: f64) -> Leap {
        let columns = self.arnoldi.columns;
        let mut here = vec![0.0; columns + 1];
        here[0] = length;
        let (mut projection, mut rounding) = (0.0, 0.0);
        let mut best = None;
        for slots in 1..=most {
            // the basis does not hold the image of the vector beyond the last column
            projection += here[columns].abs() * self.beyond;
            let adds = here.iter().zip(&self.moved).map(|(x, y)| x.abs() * y);
            rounding += f64::EPSILON * adds.sum::<f64>();
            here = self.slot(&here);
            if projection > tolerance * most as f64 {
                break;
            }
            if projection <= tolerance * slots as f64 {
                best = Some((slots, here.clone(), projection + rounding));
            }
        }
        let (slots, coordinates, error) = best.expect("the first slots are exact");
        Leap {
            slots,
            coordinates,
            error,
        }
    }

    /// Returns the coordinates one slot later; the last one belongs to the vector beyond the last
    /// column.
    fn slot(&self, here: &[f64]) -> Vec<f64> {
        let columns = self.arnoldi.columns;
        let mut next = vec![0.0; columns + 1];
        for (column, factor) in here.iter().take(columns).enumerate() {
            for (row, to) in next.iter_mut().take(column + 2).enumerate() {
                *to += self.arnoldi.hessenberg[(row, column)] * factor;
            }
        }
        next
    }
}
