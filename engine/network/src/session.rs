//! A run that is advanced in parts.

use std::sync::Arc;

use sluice_aqm::AqmSource;

use crate::{
    early_acks::EarlyAcks,
    error::NetworkError,
    observation::Observation,
    plan::Plan,
    run::{Monitor, Replication},
    topology::{MOST_RATE_BPS, PortPlan},
    world::World,
};

/// The first replication of a plan, which is advanced to any times, observed between, and gives at
/// its end what the whole run gives.
///
/// After an error it is of no use any more.
pub struct Session {
    plan: Arc<Plan>,
    world: AnyWorld,
    now_ns: u64,
    /// The AQMs that were not in the plan.
    sources: Vec<AqmSource>,
}

/// A world whose flows are counted by class, or not.
enum AnyWorld {
    Plain(Box<World<(), false>>),
    ByClass(Box<World<(), true>>),
}

/// Evaluates the same expression with a world of either kind.
macro_rules! with_world {
    ($any:expr, $world:ident => $do:expr) => {
        match $any {
            AnyWorld::Plain($world) => $do,
            AnyWorld::ByClass($world) => $do,
        }
    };
}

impl Session {
    /// A run at time 0.
    ///
    /// # Errors
    /// If the plan is refused, or if too many flows arrive.
    pub fn new(plan: Plan) -> Result<Self, NetworkError> {
        let checked = plan.check()?;
        let plan = Arc::new(plan);
        // a rate may be set, by which packets pass others
        let early = &EarlyAcks::default();
        let world = if plan.classes.is_empty() {
            AnyWorld::Plain(Box::new(World::new(&plan, checked, early, 0, ())?))
        } else {
            AnyWorld::ByClass(Box::new(World::new(&plan, checked, early, 0, ())?))
        };
        Ok(Self {
            plan,
            world,
            now_ns: 0,
            sources: Vec::new(),
        })
    }

    /// Returns the time it has come to.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Returns the time of its end.
    pub fn end_ns(&self) -> u64 {
        self.plan.duration_ns
    }

    /// Does all that comes before `until_ns`. Returns false if `monitor` cancelled it meanwhile: its
    /// time is then that of the last call, though some of the rest has happened, and it can go on.
    ///
    /// # Errors
    /// If `until_ns` lies before the present or after the end, if too many packets are in transit,
    /// or if an AQM returned an invalid verdict.
    pub fn advance(&mut self, until_ns: u64, monitor: &Monitor) -> Result<bool, NetworkError> {
        let (now_ns, end_ns) = (self.now_ns, self.end_ns());
        if !(now_ns..=end_ns).contains(&until_ns) {
            return Err(NetworkError(format!(
                "the time to advance to = {until_ns} must lie between {now_ns}, the present, and \
                 {end_ns}, the end (ns)"
            )));
        }
        let came = with_world!(&mut self.world, world => world.advance(until_ns, monitor))?;
        self.plan.topology.check_answers()?;
        if let Some(wrong) = self.sources.iter().find_map(AqmSource::wrong) {
            return Err(NetworkError(wrong));
        }
        if came {
            self.now_ns = until_ns;
        }
        Ok(came)
    }

    /// Puts the queue before a link under another discipline; see [`sluice_queue::Queue::retune`].
    ///
    /// # Errors
    /// If the link has no queue, or if the discipline is refused.
    pub fn retune(&mut self, link: usize, to: &PortPlan) -> Result<(), NetworkError> {
        let port = self.port(link)?;
        if to.discipline.limit == 0 {
            return Err(NetworkError("limit = 0 must be at least 1 packet".into()));
        }
        self.sources.push(to.aqm.clone());
        with_world!(&mut self.world, world => world.retune(self.now_ns, port, to));
        Ok(())
    }

    /// Sets another rate of a link, bits/s, from the next packet that it sends on.
    ///
    /// # Errors
    /// If the link has no queue, if its rate varies by itself, or if the rate is out of range.
    pub fn set_rate(&mut self, link: usize, rate_bps: u64) -> Result<(), NetworkError> {
        let port = self.port(link)?;
        let refuse = |what: String| {
            let name = self.plan.topology.link_name(link);
            Err(NetworkError(format!("link {name}: {what}")))
        };
        if self.plan.topology.links[link].service.is_some() {
            return refuse("its rate varies as the scenario says, and cannot be set".into());
        }
        if !(1..=MOST_RATE_BPS).contains(&rate_bps) {
            return refuse(format!(
                "rate = {rate_bps} must lie between 1 and {MOST_RATE_BPS} bits/s"
            ));
        }
        let delay_ns = self.plan.topology.links[link].delay_ns;
        with_world!(&mut self.world, world => world.set_rate(port, rate_bps, delay_ns));
        Ok(())
    }

    /// Returns the number of a link among those that have a queue.
    fn port(&self, link: usize) -> Result<usize, NetworkError> {
        let links = &self.plan.topology.links;
        match links.get(link) {
            Some(found) if found.port.is_some() => Ok(links[..link]
                .iter()
                .filter(|link| link.port.is_some())
                .count()),
            Some(_) => Err(NetworkError(format!(
                "link {} has no queue",
                self.plan.topology.link_name(link)
            ))),
            None => Err(NetworkError(format!("there is no link {link}"))),
        }
    }

    /// Returns what can be seen now.
    pub fn observe(&self) -> Observation {
        with_world!(&self.world, world => world.observe(self.now_ns))
    }

    /// Runs to the end and returns the result; `None` if `monitor` cancelled it meanwhile.
    ///
    /// # Errors
    /// As `advance`.
    pub fn end(mut self, monitor: &Monitor) -> Result<Option<Replication>, NetworkError> {
        let came = self.advance(self.end_ns(), monitor)?;
        Ok(came.then(|| with_world!(self.world, world => world.end(monitor))))
    }
}
