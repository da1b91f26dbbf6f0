//! A run that is advanced in parts.

use sluice_aqm::{AnyAqm, AqmSource, BufferPolicy, Configured};

use crate::{
    replica::{Observation, Progress, begin},
    run::{Monitor, Outcome, Plan, outcome},
};

/// The only replication of a plan, which is advanced to any slots, observed between, and gives at
/// its end what the whole run gives.
///
/// After an error it is of no use any more.
pub struct Session {
    plan: Plan,
    aqm: AqmSource,
    replica: Box<dyn Progress<AnyAqm> + Send>,
    /// The AQMs that were not there from the start.
    others: Vec<AqmSource>,
}

impl Session {
    /// A run before its first slot. Of the plan's replications it is the first one.
    pub fn new(plan: Plan, aqm: AqmSource) -> Self {
        let plan = Plan {
            replications: 1,
            ..plan
        };
        let replica = begin(&plan, 0, |lane| aqm.start(lane), plan.aqm_words(0), ());
        Self {
            plan,
            aqm,
            replica,
            others: Vec::new(),
        }
    }

    /// Returns the number of slots that are over.
    pub fn now(&self) -> u64 {
        self.replica.now()
    }

    /// Returns the number of all slots.
    pub fn slots(&self) -> u64 {
        self.plan.slots
    }

    /// Runs the slots before `until`. Returns false if `monitor` cancelled it meanwhile; it stands
    /// where it came to, and can go on.
    ///
    /// # Errors
    /// If `until` lies before the present or after the end, or if an AQM returned an invalid
    /// verdict.
    pub fn advance(&mut self, until: u64, monitor: &Monitor) -> Result<bool, String> {
        let (now, slots) = (self.now(), self.slots());
        if !(now..=slots).contains(&until) {
            return Err(format!(
                "the time to advance to = {until} must lie between {now}, the present, and {slots}, \
                 the end (slots)"
            ));
        }
        let came = self.replica.advance(until, monitor);
        let mut sources = self.others.iter().chain([&self.aqm]);
        let wrong = sources.find_map(AqmSource::wrong);
        wrong.map_or(Ok(came), Err)
    }

    /// Puts the queue under another discipline; see [`sluice_queue::Queue::retune`].
    ///
    /// # Errors
    /// If the limit is 0.
    pub fn retune(
        &mut self,
        discipline: BufferPolicy,
        scheduler: Option<&Configured>,
        aqm: &AqmSource,
    ) -> Result<(), String> {
        if discipline.limit == 0 {
            return Err("limit = 0 must be at least 1 packet".into());
        }
        self.others.push(aqm.clone());
        let to = (discipline, scheduler);
        let keep = |lane, instance: &mut AnyAqm| instance.retune(lane, aqm);
        self.replica.retune(to, &keep, &|lane| aqm.start(lane));
        Ok(())
    }

    /// Returns what can be seen now.
    pub fn observe(&self) -> Observation {
        self.replica.observe()
    }

    /// Runs to the end and returns the result; `None` if `monitor` cancelled it meanwhile.
    ///
    /// # Errors
    /// As `advance`.
    pub fn end(mut self, monitor: &Monitor) -> Result<Option<Outcome>, String> {
        let came = self.advance(self.slots(), monitor)?;
        Ok(came.then(|| outcome(&self.plan, &[self.replica.finished()], monitor)))
    }
}
