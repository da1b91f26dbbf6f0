//! Makes the plan of a chain from a scenario.

use sluice_scenario::{
    Discipline, Scenario, Scheduler,
    slotted::{self as given, Service},
};

use crate::{
    arrivals::Arrivals,
    chain::Plan,
    error::{ChainError, refuse},
};

impl Plan {
    /// Returns the plan for a discipline on a scenario, which need not be one of the scenario's.
    ///
    /// # Errors
    /// If the arrivals, the service or the discipline have no exact chain.
    pub fn of(
        scenario: &Scenario,
        discipline: &Discipline,
        grid: f64,
        memory: f64,
    ) -> Result<Self, ChainError> {
        let name = discipline.name();
        if discipline.scheduler != Scheduler::FIFO {
            refuse!(
                "scheduler.kind = {} has no exact chain: it must be fifo",
                discipline.scheduler.kind()
            );
        }
        if let Some(aqm) = discipline.in_lanes() {
            refuse!(
                "{} has no exact chain: it has several queues",
                aqm.class().name
            );
        }
        if scenario.queue.limit_bytes.is_some() {
            refuse!("queue.limit_bytes has no exact chain: it counts packets");
        }
        let Some(aqm) = discipline.configured() else {
            refuse!(
                "{name} has no exact chain: it is a Python class; the worlds slotted and network \
                 run these"
            );
        };
        Ok(Self {
            arrivals: arrivals(&scenario.arrivals)?,
            mu: mu(&scenario.service)?,
            discipline: discipline.on(&scenario.queue),
            aqm,
            slot_ns: scenario.slot_ns(),
            grid,
            memory,
        })
    }
}

fn arrivals(of: &given::Arrivals) -> Result<Arrivals, ChainError> {
    match of {
        given::Arrivals::GeometricArrivals(of) => Ok(Arrivals::Geometric { rate: of.rate }),
        given::Arrivals::SelfSimilarArrivals(of) => {
            let modulator = of.modulator().map_err(ChainError)?;
            Ok(Arrivals::SelfSimilar {
                a: modulator.a,
                q: modulator.q,
                states: modulator.states,
            })
        }
        given::Arrivals::ReplayArrivals(_) => {
            refuse!("arrivals.kind = replay has no exact chain: a capture is no Markov chain")
        }
        other => refuse!(
            "arrivals.kind = {} has no exact chain: it must be geometric or self-similar",
            other.kind()
        ),
    }
}

fn mu(service: &Service) -> Result<f64, ChainError> {
    match service {
        Service::GeometricService(of) => Ok(of.mu),
        other => refuse!(
            "service.kind = {} has no exact chain: it must be geometric",
            other.kind()
        ),
    }
}
