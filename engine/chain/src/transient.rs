//! Transients: the distribution some slots after a start, by projection on Krylov subspaces.
//!
//! Arnoldi's basis V_m of span{x, xP, ..., x P^(m-1)} turns t slots into t multiplications by a
//! small matrix, x P^t ~ beta V_m H_m^t e_1 with beta = ||x||_2 (Domanska, Domanski & Czachorski
//! 2008, section IV). From P V_m = V_m H_m + h v_(m+1) e_m' the error e_t of that follows itself:
//!
//!   e_(t+1) = e_t P + beta h (H_m^t e_1)_m v_(m+1),
//!
//! and since no row of P sums to more than 1, its 1-norm grows by at most that of the last term in
//! each slot. What v_(m+1) holds is known and taken along, which puts the bound a slot back: up
//! to m slots are exact. Each basis carries the distribution as far as the bound allows, then a
//! new one is built.

use crate::{
    chain::Chain,
    elimination::add_scaled,
    error::ChainError,
    iterative::sum,
    krylov::{Arnoldi, norm},
};

/// Multiplications for each basis.
const DIMENSION: usize = 40;
/// Slots of the longest leap, a second or so of multiplications by the small matrix.
const LONGEST_LEAP: u64 = 1_000_000;

/// Bound of the 1-norm of the roundings of one multiplication: a handful for each probability.
const STEP_ROUNDING: f64 = 4.0 * f64::EPSILON;

/// A distribution on its way through time.
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
    /// The start itself.
    pub fn new(chain: &'c Chain, start: Vec<f64>) -> Self {
        Self {
            chain,
            slot: 0,
            probabilities: start,
            error: 0.0,
            multiplications: 0,
        }
    }

    /// Goes on by `slots`; the projections add at most `tolerance` to the error in each, rounding
    /// apart.
    ///
    /// # Errors
    /// When it is interrupted.
    pub fn advance(&mut self, slots: u64, tolerance: f64) -> Result<(), ChainError> {
        let end = self.slot + slots;
        while self.slot < end {
            self.chain.control.going()?;
            let left = end - self.slot;
            if left <= DIMENSION as u64 {
                self.step();
            } else {
                self.leap(left.min(LONGEST_LEAP), tolerance);
            }
        }
        Ok(())
    }

    /// One slot, by one multiplication: each probability is a sum of products of probabilities.
    fn step(&mut self) {
        self.probabilities = self.chain.step(&self.probabilities);
        self.error += STEP_ROUNDING;
        self.slot += 1;
        self.multiplications += 1;
    }

    /// As many slots as one basis allows, at most `most`.
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
        // below 0 is an error, and this cannot make it larger
        next.iter_mut().for_each(|x| *x = x.max(0.0));
        self.probabilities = next;
        self.error += error;
        self.slot += slots;
    }
}

/// A leap by one basis: the coordinates where it ends.
struct Leap {
    slots: u64,
    coordinates: Vec<f64>,
    error: f64,
}

/// A basis seen from the small matrix.
struct Projected<'a> {
    arnoldi: &'a Arnoldi,
    /// 1-norm of the vector beyond the last column, 0 where there is none.
    beyond: f64,
    /// By column: 1-norm of all that one multiplication adds up, for its rounding.
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

    /// The longest leap of at most `most` slots whose error stays within `tolerance` for each,
    /// from a start of 2-norm `length`.
    ///
    /// Rounding is bounded by one unit for all that a multiplication adds up: the roundings of the
    /// many small terms of such a sum cancel for the most part (Higham & Mary 2019).
    fn leap(&self, length: f64, most: u64, tolerance: f64) -> Leap {
        let columns = self.arnoldi.columns;
        let mut here = vec![0.0; columns + 1];
        here[0] = length;
        let (mut projection, mut rounding) = (0.0, 0.0);
        let mut best = None;
        for slots in 1..=most {
            // what the slot makes of the vector beyond the last column is not followed
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

    /// Coordinates one slot later; the last one is along the vector beyond the last column.
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
