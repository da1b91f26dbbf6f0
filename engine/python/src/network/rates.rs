//! The rates of a link in time, for worlds whose links follow them.

use pyo3::prelude::*;
use sluice_link::Service;

use crate::scenario::{PyScenario, refused};

/// The steps of a link's rate: when each begins, ns, and the rate, bits/s. None: it has none of its own,
/// or it is one that no steps describe.
#[pyfunction]
pub fn rate_steps(scenario: &PyScenario, link: &str) -> PyResult<Option<Vec<(u64, u64)>>> {
    let links = &scenario.network()?.links.0;
    let own = links.iter().find(|(name, _)| name == link);
    let Some(rate) = own.and_then(|(_, own)| own.rate.as_ref()) else {
        return Ok(None);
    };
    Ok(match rate.service().map_err(refused)? {
        Service::Steps(steps) => Some(
            steps
                .iter()
                .map(|step| (step.from_ns, step.rate_bps))
                .collect(),
        ),
        Service::Opportunities { .. } | Service::Wifi(_) | Service::Docsis(_) => None,
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rate_steps, module)?)
}
