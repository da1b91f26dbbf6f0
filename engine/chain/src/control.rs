//! Watching a chain while it is solved, and stopping it.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

use crate::error::{ChainError, refuse};

/// How far a method is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Progress {
    /// The direct method: sizes of the system that are eliminated, and how many there are.
    Eliminated {
        /// Sizes eliminated.
        sizes: usize,
        /// All sizes.
        of: usize,
    },
    /// The iterative method: sweeps so far, and the residual when it was last looked at.
    Swept {
        /// Sweeps over all levels.
        sweeps: usize,
        /// Sum of |x P - x|; infinite before the first look.
        residual: f64,
    },
}

/// Watched and set from outside, on another thread, while a chain is solved.
#[derive(Debug, Default)]
pub struct Control {
    progress: Mutex<Option<Progress>>,
    cancelled: AtomicBool,
}

impl Control {
    /// What was told last since the last `start`.
    pub fn progress(&self) -> Option<Progress> {
        *self.progress.lock().expect("whoever holds it only copies")
    }

    /// Ends what is being solved, with an error, where it next tells its progress.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Forgets the progress and the end of what was solved before.
    pub fn start(&self) {
        *self.progress.lock().expect("whoever holds it only copies") = None;
        self.cancelled.store(false, Ordering::Relaxed);
    }

    /// Tells how far a method is.
    ///
    /// # Errors
    /// After `cancel`.
    pub(crate) fn tell(&self, progress: Progress) -> Result<(), ChainError> {
        *self.progress.lock().expect("whoever holds it only copies") = Some(progress);
        self.going()
    }

    /// Whether to go on.
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
