//! `sluicegate._engine`: only converts types and calls the engine.

use pyo3::prelude::*;

mod aqm;
mod capture;
mod chain;
mod counts;
mod decisions;
mod environment;
mod foreign;
mod interruptible;
mod network;
mod scenario;
mod session;
mod slotted;
mod trace;
mod traffic;

#[pymodule]
fn _engine(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    aqm::register(module)?;
    decisions::register(module)?;
    environment::register(module)?;
    foreign::register(module)?;
    counts::register(module)?;
    slotted::register(module)?;
    capture::register(module)?;
    chain::register(module)?;
    network::register(module)?;
    scenario::register(module)?;
    session::register(module)?;
    trace::register(module)?;
    traffic::register(module)
}
