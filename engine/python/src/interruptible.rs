//! Long work that Ctrl-C ends and that tells how far it is.

use std::{sync::mpsc, time::Duration};

use pyo3::prelude::*;

/// How often whoever waits looks for Ctrl-C and reports.
const POLL: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own while this one looks for signals and calls `report`.
///
/// Gives what the work gave, and what a signal or `report` raised, after which `cancel` was to
/// end the work.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    cancel: impl Fn() + Sync,
    report: impl Fn(Python<'_>) -> PyResult<()> + Sync,
    work: impl FnOnce() -> T + Send,
) -> (T, PyResult<()>) {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (ends, ended) = mpsc::channel::<()>();
            let worker = scope.spawn(move || {
                let outcome = work();
                drop(ends);
                outcome
            });
            let mut raised = Ok(());
            while ended.recv_timeout(POLL) == Err(mpsc::RecvTimeoutError::Timeout) {
                let looked = Python::attach(|py| py.check_signals().and_then(|()| report(py)));
                if let Err(error) = looked {
                    cancel();
                    raised = Err(error);
                }
            }
            (worker.join().expect("the work does not panic"), raised)
        })
    })
}

/// Runs `work` on a thread of its own, which Ctrl-C leaves behind: what waits for a file that nobody
/// writes, such as a pipe, cannot be ended.
///
/// # Errors
/// What a signal raised.
pub fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (ends, ended) = mpsc::channel();
    // nobody may be left to hear of it
    std::thread::spawn(move || drop(ends.send(work())));
    py.detach(move || {
        loop {
            match ended.recv_timeout(POLL) {
                Ok(outcome) => return Ok(outcome),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    Python::attach(|py| py.check_signals())?;
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the work does not panic"),
            }
        }
    })
}
