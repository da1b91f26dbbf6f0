//! Makes the plan of a run from a scenario.

use sluice_scenario::{Discipline, Scenario, ScenarioError};

use crate::{arrivals::Arrivals, run::Plan, service::Service};

impl Plan {
    /// Returns the plan for a discipline on a scenario, which need not be one of the scenario's.
    ///
    /// # Errors
    /// If a capture cannot be read, or if the discipline does not suit the queue.
    pub fn of(scenario: &Scenario, discipline: &Discipline) -> Result<Self, ScenarioError> {
        if let Some(what) = discipline.unfit(&scenario.queue) {
            return Err(ScenarioError::new(format!("{}: {what}", discipline.name())));
        }
        Ok(Self {
            arrivals: Arrivals::of(scenario).map_err(ScenarioError::new)?,
            packet_bytes: scenario.packet_bytes,
            service: Service::of(scenario),
            discipline: discipline.on(&scenario.queue),
            scheduler: discipline.in_lanes(),
            slots: scenario.duration_slots(),
            replications: scenario.replications(),
            seed: scenario.seed,
            slot_ns: scenario.slot_ns(),
        })
    }
}
