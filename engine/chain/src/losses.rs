//! Losses in time: their rate, and the probability of a loss some arrivals after another one.

use crate::{
    chain::{Chain, Changed},
    error::{ChainError, refuse},
    iterative::sum,
    quiet::Quiet,
};

/// Rate and correlation of losses.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Packets that arrive, per slot.
    pub arrivals: f64,
    /// Packets lost, per slot.
    pub lost: f64,
    /// Entry k - 1: probability of a loss at the k-th arrival after an arrival with a loss.
    pub again: Vec<f64>,
}

/// Probabilities after a slot with an arrival: with a loss, and without.
struct Arrived {
    lost: Vec<f64>,
    admitted: Vec<f64>,
}

impl Chain {
    /// Returns the losses in the steady state `probabilities`, with `lag` arrivals after a loss.
    ///
    /// Let Q, A and L be the transitions of slots without an arrival, with an arrival and no loss,
    /// and with a loss, and v the distribution just after a loss. Then the distribution after the
    /// k-th arrival after a loss is v ((I - Q)^-1 (A + L))^k.
    ///
    /// # Errors
    /// If the probability of a loss is 0 as a double, or if the chain's monitor is cancelled.
    pub fn losses(&self, probabilities: &[f64], lag: usize) -> Result<Losses, ChainError> {
        let quiet = Quiet::new(self);
        let first = self.arrive(probabilities);
        let (lost, admitted) = (sum(&first.lost), sum(&first.admitted));
        if lost == 0.0 {
            refuse!("a loss is less probable than the smallest number that is told from 0");
        }
        let mut state = first.lost;
        state.iter_mut().for_each(|x| *x /= lost);
        let mut again = Vec::new();
        for _ in 0..lag {
            self.monitor.going()?;
            quiet.follow(self, &mut state);
            let next = self.arrive(&state);
            again.push(sum(&next.lost));
            let parts = next.lost.iter().zip(&next.admitted);
            state = parts.map(|(lost, admitted)| lost + admitted).collect();
        }
        Ok(Losses {
            arrivals: lost + admitted,
            lost,
            again,
        })
    }

    /// Returns `vector` times the transitions of slots with an arrival.
    fn arrive(&self, vector: &[f64]) -> Arrived {
        let states = self.modulator_states();
        let mut arrived = Arrived {
            lost: vec![0.0; vector.len()],
            admitted: vec![0.0; vector.len()],
        };
        let mut changed = Changed::new(states);
        for (level, from) in vector.chunks_exact(self.width()).enumerate() {
            for size in 0..self.sizes() {
                changed.after_service(self, from, size);
                self.jumps(level, size, |jump| {
                    let to = match (jump.active, jump.more) {
                        (false, _) => return,
                        (true, 0) => &mut arrived.lost,
                        (true, _) => &mut arrived.admitted,
                    };
                    let at = self.place(jump.level, size + jump.more);
                    changed.add(jump, &mut to[at..at + states]);
                });
            }
        }
        arrived
    }
}
