//! Losses in time: how far apart they lie, and how much one tells of the next.

use crate::{
    chain::{Chain, Changed},
    error::{ChainError, refuse},
    iterative::sum,
    quiet::Quiet,
};

/// How losses follow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// Packets that arrive, per slot.
    pub arrivals: f64,
    /// Packets lost, per slot.
    pub lost: f64,
    /// Probability that the k-th arrival after one with a loss meets a loss, too; k from 1 on.
    pub again: Vec<f64>,
}

/// What a slot with an arrival leads to, by whether a packet is lost.
struct Arrived {
    lost: Vec<f64>,
    admitted: Vec<f64>,
}

impl Chain {
    /// The losses of the steady state `probabilities`, followed for `lag` arrivals.
    ///
    /// With Q, A and L the transitions of slots without an arrival, with one and no loss, and
    /// with a loss, the state at the k-th arrival after a loss is v ((I - Q)^-1 (A + L))^k.
    ///
    /// # Errors
    /// When no loss is seen, or when it is interrupted.
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
            self.control.going()?;
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

    /// `vector` times the transitions of slots with an arrival.
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
