//! Progress and cancellation of the solution of a chain.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use crate::error::{ChainError, refuse};

/// Progress of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// The direct method: how many sizes of the system are eliminated so far.
    Eliminated {
        /// Sizes eliminated.
        sizes: usize,
        /// All sizes.
        of: usize,
    },
    /// The iterative method: sweeps so far, and the last residual.
    Swept {
        /// Sweeps over all levels.
        sweeps: usize,
        /// Sum of |x P - x|, or of |b + x T - x| over the sum of |b| if there is a right side b;
        /// infinite before it is first computed.
        residual: f64,
    },
}

/// Progress of a solution, and a way to cancel it, for other threads.
#[derive(Debug, Default)]
pub struct Monitor {
    progress: Mutex<Option<Progress>>,
    cancelled: AtomicBool,
}

impl Monitor {
    /// Returns the last progress since the last `start`, or `None`.
    pub fn progress(&self) -> Option<Progress> {
        *self.progress.lock().expect("whoever holds it only copies")
    }

    /// Ends the running solution with an error at its next check.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Resets progress and cancellation before a new solution.
    pub fn start(&self) {
        *self.progress.lock().expect("whoever holds it only copies") = None;
        self.cancelled.store(false, Ordering::Relaxed);
    }

    /// Reports the progress of a method.
    ///
    /// # Errors
    /// After `cancel`.
    pub(crate) fn report(&self, progress: Progress) -> Result<(), ChainError> {
        *self.progress.lock().expect("whoever holds it only copies") = Some(progress);
        self.going()
    }

    /// Returns `Ok` if the solution may go on.
    ///
    /// # Errors
    /// After `cancel`.
    pub(crate) fn going(&self) -> Result<(), ChainError> {
        if self.cancelled.load(Ordering::Relaxed) {
            refuse!("interrupted");
        }
        Ok(())
    }
}
