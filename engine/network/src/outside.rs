//! The applications of one replication, for senders outside the simulator: the same users and players
//! with the same random draws, told what happens to real packets.

use std::ops::Range;

use crate::{
    agenda::Agenda,
    endpoints::Endpoints,
    error::NetworkError,
    plan::Plan,
    reception::Reception,
    run::{ClassCounts, Counts, Period},
    sources::{Source, Supply},
};

/// The applications of one replication. Times are of the run, ns.
pub struct Outside {
    ends: Endpoints,
    /// For each class, whether all of its flows are of applications that transfer objects.
    shown: Vec<bool>,
}

impl Outside {
    /// Draws the applications of a replication of `plan`, from the random streams of the simulation.
    ///
    /// # Errors
    /// If the plan is refused.
    pub fn new(plan: &Plan, replication: u32) -> Result<Self, NetworkError> {
        let (routes, clock) = plan.check()?;
        let mut agenda = Agenda::new();
        let ends = Endpoints::new(plan, &routes, u64::from(replication), clock, &mut agenda)?;
        let mut shown = vec![true; ends.classes.count.unwrap_or(0)];
        for (class, group) in plan.classes.iter().zip(&plan.groups) {
            shown[usize::from(*class)] &= matches!(group.source, Source::Web(_) | Source::Video(_));
        }
        Ok(Self { ends, shown })
    }

    /// A flow's application gives it packets.
    ///
    /// # Errors
    /// If it has none.
    pub fn supply(&mut self, flow: u32, now_ns: u64) -> Result<Supply, NetworkError> {
        match self.ends.applications.has(flow) {
            true => Ok(self.ends.applications.supply(flow, now_ns)),
            false => Err(NetworkError(format!("flow {flow} has no application"))),
        }
    }

    /// All that its application gave a flow is there. Returns when which flows get packets.
    ///
    /// # Errors
    /// If it has none.
    pub fn arrived(
        &mut self,
        flow: u32,
        now_ns: u64,
    ) -> Result<Option<(u64, Range<u32>)>, NetworkError> {
        match self.ends.applications.has(flow) {
            true => Ok(self.ends.note_end(flow, now_ns)),
            false => Err(NetworkError(format!("flow {flow} has no application"))),
        }
    }

    /// Returns what was counted of the applications of each class since the last call, and nothing of
    /// classes with other flows. With `last` also what is unfinished.
    pub fn take(&mut self, now_ns: u64, last: bool) -> Period {
        let completions = self.ends.take_completions(now_ns, last);
        let felt = self.ends.take_felt(now_ns);
        let classes = completions.into_iter().zip(felt).zip(&self.shown);
        let counts = |((completions, felt), shown): ((_, _), &bool)| ClassCounts {
            counts: Counts::default(),
            acknowledged_bytes: 0,
            reception: Reception::default(),
            completions: if *shown {
                completions
            } else {
                Default::default()
            },
            felt,
        };
        Period {
            ports: Vec::new(),
            wires: Vec::new(),
            counts: Counts::default(),
            classes: classes.map(counts).collect(),
        }
    }
}
