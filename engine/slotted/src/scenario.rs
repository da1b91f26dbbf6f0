//! From a scenario to the plan of a run.

use std::sync::Arc;

use sluice_scenario::{
    Discipline, Scenario, ScenarioError,
    slotted::{self, Arrivals as Law, Service as Work},
};

use crate::{
    arrivals::{Arrivals, Trace},
    run::Plan,
    service::Service,
};

impl Plan {
    /// The plan of one of a scenario's disciplines, or of any other.
    ///
    /// # Errors
    /// If a capture cannot be read.
    pub fn of(scenario: &Scenario, discipline: &Discipline) -> Result<Self, ScenarioError> {
        Ok(Self {
            arrivals: arrivals(scenario).map_err(ScenarioError::new)?,
            packet_bytes: scenario.packet_bytes,
            service: service(scenario),
            discipline: discipline.on(&scenario.queue),
            scheduler: (&discipline.scheduler).into(),
            slots: scenario.duration_slots(),
            replications: scenario.replications(),
            seed: scenario.seed,
            slot_ns: scenario.slot_ns(),
        })
    }
}

fn arrivals(scenario: &Scenario) -> Result<Arrivals, String> {
    Ok(match &scenario.arrivals {
        Law::GeometricArrivals(law) => Arrivals::Geometric { rate: law.rate },
        Law::SelfSimilarArrivals(law) => Arrivals::SelfSimilar(law.modulator()?),
        Law::FgnArrivals(law) => Arrivals::Fgn {
            rate: law.rate,
            deviation: law.deviation,
            hurst: law.hurst,
            frame: law.frame,
        },
        Law::ReplayArrivals(slotted::ReplayArrivals { capture }) => {
            let slots = scenario.capture_slots(capture)?;
            let packets = capture.packets()?;
            let trace = Trace::new(&slots, &packets.bytes, &packets.flow, &packets.ecn_capable);
            Arrivals::Replay(Arc::new(trace.map_err(|error| error.to_string())?))
        }
    })
}

fn service(scenario: &Scenario) -> Service {
    match &scenario.service {
        Work::GeometricService(law) => Service::Geometric { mu: law.mu },
        Work::DeterministicService(law) => Service::Deterministic { slots: law.slots },
        Work::PacketSizeService(link) => {
            // a scenario with a link has a slot's length
            let slot_s = scenario.slot_s.unwrap_or(f64::NAN);
            let bytes_per_slot = link.rate_bps * slot_s / 8.0;
            Service::PacketSize { bytes_per_slot }
        }
    }
}
