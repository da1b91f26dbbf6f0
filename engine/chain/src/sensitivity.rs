//! Derivatives of the steady state, and of measures in it, with respect to a parameter.
//!
//! With P' the derivative of the transition matrix, x' = x' P + x P': one more solve of the chain,
//! with the right side b = x P' (Golub & Meyer 1986). A measure that is linear in the
//! probabilities, m = c x, then has the derivative c' x + c x'. The derivatives of P and c come
//! from the chains at five values of the parameter, all applied to the same x: no differences of
//! solutions are taken.

use sluice_aqm::Victim;

use crate::{
    arrivals::Modulator,
    chain::{Chain, Plan},
    elimination::add_scaled,
    error::{ChainError, refuse},
    filter::{Averaging, Filter},
    levels::Levels,
    measures::{Fates, Sums},
    resolve::Resolver,
    solve::{Method, Solution},
};

/// Weights of the one-sided difference quotient on five points, times the step; exact for
/// polynomials up to the fourth degree (Abramowitz & Stegun 1964, table 25.2).
const QUOTIENT: [f64; 5] = [-25.0 / 12.0, 4.0, -3.0, 4.0 / 3.0, -1.0 / 4.0];

/// The measures that are linear in the probabilities of the states; all others follow from them.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Entry k: probability that k packets wait at the end of a slot.
    pub queue: Vec<f64>,
    /// Probability that the server is busy at the end of a slot.
    pub utilization: f64,
    /// Outcomes of arrivals.
    pub fates: Fates,
    /// Packets per slot that are admitted.
    pub admitted: f64,
    /// Sums of the sojourn times of the packets served; NaN if the victim is `random`.
    pub sojourn: Sums,
    /// Sums of their delays; NaN if the victim is `random`.
    pub delay: Sums,
}

/// Measures of a steady state and their derivatives.
#[derive(Clone, Debug)]
pub struct Sensitivities {
    /// The linear measures.
    pub value: Linear,
    /// Method that solved the chain.
    pub method: Method,
    /// Derivatives, by parameter.
    pub derivatives: Vec<Derivative>,
}

/// Derivatives with respect to one parameter.
#[derive(Clone, Debug)]
pub struct Derivative {
    /// Derivatives of the linear measures.
    pub of: Linear,
    /// Sum of |b + x' P - x'| of the solve, over the sum of |b|.
    pub residual: f64,
    /// Estimate of the sum of the solve's errors in the derivatives of all probabilities.
    pub error: f64,
}

impl Chain {
    /// Returns the measures of the steady state and their derivatives with respect to each of
    /// `parameters`.
    ///
    /// A parameter is given by its step and the plans one to four steps away from `plan`.
    ///
    /// # Errors
    /// As `solve`; if a plan is refused; if a parameter has no derivative on a grid.
    pub fn sensitivities(
        &self,
        plan: &Plan,
        parameters: &[(f64, [Plan; 4])],
        method: Method,
    ) -> Result<Sensitivities, ChainError> {
        let solution = self.solve(method)?;
        let mut resolver = self.changes_of(&solution)?;
        let derivatives = parameters
            .iter()
            .map(|(step, plans)| self.derivative(plan, *step, plans, &solution, &mut resolver))
            .collect::<Result<_, _>>()?;
        Ok(Sensitivities {
            value: self.linear(&solution.probabilities)?,
            method,
            derivatives,
        })
    }

    fn derivative(
        &self,
        plan: &Plan,
        step: f64,
        plans: &[Plan; 4],
        solution: &Solution,
        resolver: &mut Resolver<'_>,
    ) -> Result<Derivative, ChainError> {
        let x = &solution.probabilities;
        let mut right = vec![0.0; x.len()];
        let mut direct = vec![0.0; self.linear(x)?.flat().len()];
        for (plan, factor) in [plan].into_iter().chain(plans).zip(QUOTIENT) {
            // the mean of both one-sided derivatives, which can differ
            for lower in [false, true] {
                let near = self.near(plan, lower)?;
                add_scaled(&mut right, factor / (2.0 * step), &near.step(x));
                add_scaled(&mut direct, factor / (2.0 * step), &near.linear(x)?.flat());
            }
        }
        // all rows of transition matrices sum to 1, so this total is rounding
        let total: f64 = right.iter().sum();
        add_scaled(&mut right, -total, x);
        let change = resolver.solve(&right)?;
        add_scaled(&mut direct, 1.0, &self.linear(&change.x)?.flat());
        Ok(Derivative {
            of: Linear::from_flat(&direct),
            residual: change.residual,
            error: change.error,
        })
    }

    /// Returns the chain of a plan close to this chain's plan, on the same levels; `lower` as in
    /// `Levels::beside`.
    fn near(&self, plan: &Plan, lower: bool) -> Result<Self, ChainError> {
        let Averaging { sampling, filter } = Averaging::new(&plan.aqm, plan.slot_ns)?;
        if !acts_alike(filter, self.filter) {
            refuse!(
                "low_queue, and min_th where the average is lpf_oda, have no derivative: on a grid \
                 the average is halved from one level on or from the next"
            );
        }
        let moves = |filter: Filter| filter.update(0.0, 0, 1.0).0 > 0.0;
        if moves(filter) != moves(self.filter) {
            refuse!("an average that stays at 0 has no derivative: with any weight it leaves 0");
        }
        // one level more: with changed parameters the average can pass the highest level
        let mut grid = self.averages().to_vec();
        grid.dedup();
        if let [.., below, top] = grid[..] {
            grid.push(2.0 * top - below);
        }
        let limit = self.discipline.limit as usize;
        let levels = Levels::new(&plan.aqm, filter, limit, &grid)?;
        Ok(Self {
            modulator: Modulator::new(&plan.arrivals)?,
            levels: levels.beside(&self.levels, filter.counts(), lower),
            discipline: self.discipline,
            mu: plan.mu,
            memory: self.memory,
            sampling,
            filter,
            monitor: self.monitor.clone(),
        })
    }

    /// Returns the linear measures of `x`, a vector over the states.
    ///
    /// # Errors
    /// If the chain's monitor is cancelled.
    pub fn linear(&self, x: &[f64]) -> Result<Linear, ChainError> {
        let measures = self.measures(x);
        let (sojourn, delay) = match self.discipline.victim {
            Victim::Tail => (
                self.sojourn_sums(&measures.admitted),
                self.delay_sums(&measures.admitted),
            ),
            Victim::Front => {
                let front = self.front_moments(x)?;
                (front.sojourn, front.delay)
            }
            Victim::Random => (Sums::UNKNOWN, Sums::UNKNOWN),
        };
        Ok(Linear {
            queue: measures.queue,
            utilization: measures.utilization,
            fates: measures.fates,
            admitted: measures.admitted.iter().sum(),
            sojourn,
            delay,
        })
    }
}

/// True if two filters differ at most in their weights.
fn acts_alike(a: Filter, b: Filter) -> bool {
    let weightless = |filter| match filter {
        Filter::LpfOda {
            low_queue,
            low_arrivals,
            min_th,
            ..
        } => Filter::LpfOda {
            w: 0.0,
            low_queue,
            low_arrivals,
            min_th,
        },
        Filter::Ewma { .. } => Filter::Ewma { w: 0.0 },
        Filter::None => Filter::None,
    };
    weightless(a) == weightless(b)
}

impl Linear {
    fn flat(&self) -> Vec<f64> {
        let fates = self.fates;
        let mut flat = vec![
            self.utilization,
            fates.arrivals,
            fates.early,
            fates.forced,
            fates.overflow,
            fates.marked,
            self.admitted,
            self.sojourn.sum,
            self.sojourn.square_sum,
            self.delay.sum,
            self.delay.square_sum,
        ];
        flat.extend_from_slice(&self.queue);
        flat
    }

    fn from_flat(flat: &[f64]) -> Self {
        Self {
            utilization: flat[0],
            fates: Fates {
                arrivals: flat[1],
                early: flat[2],
                forced: flat[3],
                overflow: flat[4],
                marked: flat[5],
            },
            admitted: flat[6],
            sojourn: Sums {
                sum: flat[7],
                square_sum: flat[8],
            },
            delay: Sums {
                sum: flat[9],
                square_sum: flat[10],
            },
            queue: flat[11..].to_vec(),
        }
    }
}
