//! The identity of a run as text: runs with the same text give the same result.

use serde_json::{Map, Value as Json};
use sluice_aqm::Configured;

use crate::{
    AnyScenario, Discipline, Field, Queue, Recorded, ServiceClass, Table,
    capture::fingerprint,
    json::{plain, table},
    network::{Flows, NetworkScenario, Rate, service_hash},
    slotted::Scenario,
    value::{Fields, Value},
};

impl AnyScenario {
    /// Returns everything that determines a run of a discipline except the AQM's code, as JSON: the
    /// scenario's fields, with a hash of the packets in place of a capture.
    ///
    /// # Errors
    /// If a capture cannot be read.
    pub fn describe(&self, discipline: &Discipline) -> Result<String, String> {
        let described = match self {
            Self::Slotted(scenario) => slotted(scenario, discipline),
            Self::Network(scenario) => network(scenario, discipline),
        };
        Ok(Json::from(described?).to_string())
    }
}

/// Returns the fields of a scenario that determine a run.
fn fields(of: &impl Table) -> Map<String, Json> {
    let mut fields = Fields::default();
    of.write_fields(&mut fields.rows);
    let mut fields = table(&fields);
    for told_apart in ["title", "disciplines"] {
        fields.remove(told_apart);
    }
    fields
}

fn slotted(scenario: &Scenario, discipline: &Discipline) -> Result<Map<String, Json>, String> {
    let mut described = fields(scenario);
    if let Some(recorded) = scenario.recorded() {
        described["arrivals"]["capture"] = hash(recorded)?;
    }
    described["queue"] = queue(&scenario.queue, discipline);
    described.insert("slots".into(), scenario.duration_slots().into());
    described.insert("replications".into(), scenario.replications().into());
    Ok(described)
}

fn network(
    scenario: &NetworkScenario,
    discipline: &Discipline,
) -> Result<Map<String, Json>, String> {
    let mut described = fields(scenario);
    for (place, flows) in scenario.flows.iter().enumerate() {
        if let Flows::ReplayFlows(replay) = flows {
            described["flows"][place]["capture"] = hash(&replay.capture)?;
        }
    }
    described["queue"] = queue(&scenario.queue, discipline);
    // runs whose links have nothing of their own keep their identity
    described.remove("links");
    if !scenario.links.0.is_empty() {
        described.insert("links".into(), links(scenario)?);
    }
    Ok(described)
}

/// Returns what links have of their own; the AQMs are told apart from it, as the compared one is.
fn links(scenario: &NetworkScenario) -> Result<Json, String> {
    let mut rows = Map::new();
    for link in scenario.topology.simplex_links() {
        let Some(own) = scenario.own(&link) else {
            continue;
        };
        let mut fields = Fields::default();
        own.write_fields(&mut fields.rows);
        let mut fields = table(&fields);
        fields.remove("discipline");
        if let Some(discipline) = &own.discipline {
            fields["queue"] = queue(scenario.buffer(&link), discipline);
        }
        if let Some(Rate::RateFile(file)) = &own.rate {
            fields["rate"] = service_hash(file.path.service()?).into();
        }
        rows.insert(link.name(), fields.into());
    }
    Ok(rows.into())
}

fn hash(recorded: &Recorded) -> Result<Json, String> {
    Ok(fingerprint(recorded.packets()?).into())
}

/// Returns the queue with the fields of the discipline.
fn queue(queue: &Queue, discipline: &Discipline) -> Json {
    let own = Queue {
        victim: discipline.victim(queue),
        ecn: discipline.ecn(queue),
        ..queue.clone()
    };
    let Value::Table(mut fields) = own.write() else {
        unreachable!("a queue is a table");
    };
    fields.set("scheduler", discipline.scheduler.write());
    if !discipline.classes.is_empty() {
        fields.set("classes", classes(discipline));
    }
    plain(&Value::Table(fields))
}

/// Returns the classes of service; all parameters of their AQMs, and the code of a user's.
fn classes(discipline: &Discipline) -> Value {
    let of = |(class, aqm): (&ServiceClass, Configured)| {
        let Value::Table(mut fields) = class.write() else {
            unreachable!("a class is a table");
        };
        let code = &aqm.class().fingerprint;
        fields.set("aqm", Value::Text(format!("{aqm:?} {code}")));
        Value::Table(fields)
    };
    let aqms = discipline.of_classes();
    Value::List(discipline.classes.iter().zip(aqms).map(of).collect())
}
