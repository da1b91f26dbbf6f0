//! Long work that Ctrl-C ends and that tells how far it is.

use std::{sync::mpsc, time::Duration};

use pyo3::prelude::*;

/// How often whoever waits looks for Ctrl-C and reports.
const POLL: Duration = Duration::from_millis(50);

/// Runs `work` on a thread of its own while this one looks for signals and calls `report`.
///
/// Gives what the work gave, and what a signal or `report` raised, after which `cancel` was to
/// end the work.
pub fn attended<T: Send>(
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
