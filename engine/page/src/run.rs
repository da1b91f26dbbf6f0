//! A run of either world.

use std::path::Path;

use serde_json::{Value as Json, json};
use sluice_network as network;
use sluice_scenario::{AnyScenario, Discipline, ns};
use sluice_slotted as slotted;

use crate::{
    record,
    row::{Row, Seen, spread},
};

/// The first replication of a scenario with one of its disciplines.
pub struct Run {
    name: String,
    world: World,
}

enum World {
    Network(Box<network::Session>),
    Slotted(slotted::Session),
}

impl Run {
    /// Begins a run.
    ///
    /// # Errors
    /// All problems of the scenario, a line for each.
    pub fn begin(toml: &str, place: usize) -> Result<Self, String> {
        let scenario =
            AnyScenario::parse(toml, Path::new("")).map_err(|error| error.to_string())?;
        let disciplines = scenario.disciplines();
        let discipline = disciplines.get(place).ok_or_else(|| {
            let count = disciplines.len();
            format!("discipline {place} is missing: there are {count}, counted from 0")
        })?;
        Ok(Self {
            name: discipline.name(),
            world: World::begin(&scenario, discipline)?,
        })
    }

    /// Returns what is known of it: its world, discipline and end, and the unit of its times.
    pub fn about(&self) -> Json {
        let (world, unit, end) = match &self.world {
            World::Network(session) => ("network", "s", session.end_ns() as f64 / 1e9),
            World::Slotted(session) => ("slotted", "slots", session.slots() as f64),
        };
        json!({ "world": world, "discipline": self.name, "unit": unit, "end": end })
    }

    /// Advances it to a time, or to its end if that comes first.
    ///
    /// # Errors
    /// If the time has passed, or is none; those of the worlds.
    pub fn advance(&mut self, until: f64) -> Result<(), String> {
        if until.is_nan() || until < 0.0 {
            return Err(format!(
                "the time to advance to = {until} must be 0 or more"
            ));
        }
        match &mut self.world {
            World::Network(session) => {
                // seconds beyond this have no nanoseconds
                let until_ns = ns(until.min(1e10)).min(session.end_ns());
                let advanced = session.advance(until_ns, &network::Monitor::default());
                advanced.map(drop).map_err(|error| error.to_string())
            }
            World::Slotted(session) => {
                let until = (until as u64).min(session.slots());
                let advanced = session.advance(until, &slotted::Monitor::default());
                advanced.map(drop)
            }
        }
    }

    /// Returns what can be seen now. Of a network it is the first link with a discipline.
    pub fn observe(&self) -> Row {
        match &self.world {
            World::Network(session) => {
                let seen = session.observe();
                let port = &seen.ports[0];
                let windows = seen.groups.iter().flat_map(|group| &group.windows);
                let delivered = seen.groups.iter().map(|group| group.delivered_bytes);
                Seen {
                    time: seen.now_ns as f64 / 1e9,
                    queue: &port.queue,
                    arrivals: port.arrivals,
                    sent: port.sent,
                    sent_bytes: port.sent_bytes,
                    sojourn: port.sojourn_ns as f64 / 1e9,
                    delivered_bytes: delivered.sum(),
                    windows: spread(windows),
                }
                .row()
            }
            World::Slotted(session) => {
                let seen = session.observe();
                Seen {
                    time: seen.now as f64,
                    queue: &seen.queue,
                    arrivals: seen.arrivals,
                    sent: seen.served,
                    sent_bytes: seen.served_bytes,
                    sojourn: seen.sojourn as f64,
                    delivered_bytes: Some(seen.served_bytes),
                    windows: [f64::NAN; 3],
                }
                .row()
            }
        }
    }

    /// Advances it to its end and returns its counts.
    ///
    /// # Errors
    /// As `advance`.
    pub fn record(self) -> Result<Json, String> {
        const WHOLE: &str = "nobody cancels it";
        match self.world {
            World::Network(session) => {
                let run = session.end(&network::Monitor::default());
                let run = run.map_err(|error| error.to_string())?;
                Ok(record::of_network(&run.expect(WHOLE)))
            }
            World::Slotted(session) => {
                let outcome = session.end(&slotted::Monitor::default())?;
                Ok(record::of_slots(&outcome.expect(WHOLE)))
            }
        }
    }
}

impl World {
    fn begin(scenario: &AnyScenario, discipline: &Discipline) -> Result<Self, String> {
        match scenario {
            AnyScenario::Network(scenario) => {
                let plan = network::Plan::of(scenario, discipline);
                let plan = plan.map_err(|error| error.to_string())?;
                let plan = network::Plan {
                    replications: 1,
                    ..plan
                };
                let session = network::Session::new(plan).map_err(|error| error.to_string())?;
                Ok(Self::Network(Box::new(session)))
            }
            AnyScenario::Slotted(scenario) => {
                let plan = slotted::Plan::of(scenario, discipline);
                let plan = plan.map_err(|error| error.to_string())?;
                let aqm = discipline
                    .source()
                    .ok_or("the AQM is not a header of aqm/")?;
                Ok(Self::Slotted(slotted::Session::new(plan, aqm)))
            }
        }
    }
}
