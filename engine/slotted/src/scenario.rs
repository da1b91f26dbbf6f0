//! From a scenario to the plan of a run.

use std::sync::Arc;

use sluice_scenario::{Discipline, Scenario, ScenarioError, slotted as given};

use crate::{
    arrivals::{Arrivals, Recording},
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
        given::Arrivals::GeometricArrivals(of) => Arrivals::Geometric { rate: of.rate },
        given::Arrivals::SelfSimilarArrivals(of) => Arrivals::SelfSimilar(of.modulator()?),
        given::Arrivals::FgnArrivals(of) => Arrivals::Fgn {
            rate: of.rate,
            deviation: of.deviation,
            hurst: of.hurst,
            frame: of.frame,
        },
        given::Arrivals::ReplayArrivals(given::ReplayArrivals { capture }) => {
            let slots = scenario.capture_slots(capture)?;
            let packets = capture.packets()?;
            let recording =
                Recording::new(&slots, &packets.bytes, &packets.flow, &packets.ecn_capable)
                    .map_err(|error| error.to_string())?;
            Arrivals::Replay(Arc::new(recording))
        }
    })
}

fn service(scenario: &Scenario) -> Service {
    match &scenario.service {
        given::Service::GeometricService(of) => Service::Geometric { mu: of.mu },
        given::Service::DeterministicService(of) => Service::Deterministic { slots: of.slots },
        given::Service::PacketSizeService(link) => {
            // a scenario with a link has a slot's length
            let slot_s = scenario.slot_s.unwrap_or(f64::NAN);
            let bytes_per_slot = link.rate_bps * slot_s / 8.0;
            Service::PacketSize { bytes_per_slot }
        }
    }
}
