//! Long work that Ctrl-C can end and that reports its progress.

use std::{sync::mpsc, time::Duration};

use pyo3::prelude::*;

/// Time between two checks for Ctrl-C and reports.
const POLL: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own while this one checks for signals and calls `report`.
///
/// Returns the result of the work, and the exception of a signal or of `report`. After such an
/// exception `cancel` is called, which shall end the work.
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

/// Runs `work` on a thread of its own, which keeps running after Ctrl-C: a read from a pipe to
/// which nothing is written cannot be ended. A compiler that it waits for is.
///
/// # Errors
/// The exception of a signal.
pub fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (ends, ended) = mpsc::channel();
    // after Ctrl-C there is no receiver any more
    std::thread::spawn(move || drop(ends.send(work())));
    py.detach(move || {
        loop {
            match ended.recv_timeout(POLL) {
                Ok(outcome) => return Ok(outcome),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    Python::attach(|py| py.check_signals())
                        .inspect_err(|_| sluice_aqm::end_programs())?;
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the work does not panic"),
            }
        }
    })
}
