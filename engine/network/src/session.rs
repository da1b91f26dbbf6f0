//! A run that is advanced in parts.

use std::sync::Arc;

use crate::{
    error::NetworkError,
    observation::Observation,
    plan::Plan,
    run::{Control, Replication},
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
        let world = if plan.classes.is_empty() {
            AnyWorld::Plain(Box::new(World::new(&plan, checked, 0, ())?))
        } else {
            AnyWorld::ByClass(Box::new(World::new(&plan, checked, 0, ())?))
        };
        Ok(Self {
            plan,
            world,
            now_ns: 0,
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

    /// Does all that comes before `until_ns`. Returns false if `control` cancelled it meanwhile: its
    /// time is then that of the last call, though some of the rest has happened, and it can go on.
    ///
    /// # Errors
    /// If `until_ns` lies before the present or after the end, if too many packets are in transit,
    /// or if an AQM returned an invalid verdict.
    pub fn advance(&mut self, until_ns: u64, control: &Control) -> Result<bool, NetworkError> {
        let (now_ns, end_ns) = (self.now_ns, self.end_ns());
        if !(now_ns..=end_ns).contains(&until_ns) {
            return Err(NetworkError(format!(
                "the time to advance to = {until_ns} must lie between {now_ns}, the present, and \
                 {end_ns}, the end (ns)"
            )));
        }
        let came = with_world!(&mut self.world, world => world.advance(until_ns, control))?;
        self.plan.topology.check_answers()?;
        if came {
            self.now_ns = until_ns;
        }
        Ok(came)
    }

    /// Returns what can be seen now.
    pub fn observe(&self) -> Observation {
        with_world!(&self.world, world => world.observe(self.now_ns))
    }

    /// Runs to the end and returns the result; `None` if `control` cancelled it meanwhile.
    ///
    /// # Errors
    /// As `advance`.
    pub fn end(mut self, control: &Control) -> Result<Option<Replication>, NetworkError> {
        let came = self.advance(self.end_ns(), control)?;
        Ok(came.then(|| with_world!(self.world, world => world.end(control))))
    }
}
