//! The scenario of a network, and rules between its parts.

use crate::{
    discipline::{Discipline, check_names},
    field::Named,
    limits::at_least,
    network::{
        distribution::{DURATION, TIME},
        flows::{Flows, classes},
        links::{self, LinkSettings},
        notes::notes,
        topology::{Pair, Route, SimplexLink, Topology},
    },
    queue::Queue,
    reader::Reader,
    show::rounded,
    table::table,
};

/// Greatest number of flows in all replications; each needs about 80 bytes of results.
const MOST_ROWS: u64 = 50_000_000;

table! {
    /// Everything that determines a comparison in the network world.
    pub struct NetworkScenario checked by consistent {
        /// Title, one line.
        title: String = String::new();
        /// Nodes and links.
        topology: Topology;
        /// Groups of flows.
        flows: Vec<Flows>, at_least(0.0).items(1, usize::MAX);
        /// The buffer of each link that has the discipline.
        queue: Queue = Queue::usual();
        /// What links have of their own, by the link's name, such as `[links."left -> right"]`.
        links: Named<LinkSettings> = Named::default();
        /// The disciplines that are compared: in turn, each stands before all links that have a
        /// queue and no discipline of their own.
        disciplines: Vec<Discipline>, at_least(0.0).items(1, usize::MAX);
        /// Simulated time of a replication.
        duration_s: f64, at_least(2e-9).at_most(86.4e6).unit("s");
        /// Time at the start that the measures leave out; not given: half of the duration.
        warm_up_s: Option<f64>, TIME;
        /// Time between two samples of all series; the first is at 0.
        sample_s: f64 = 0.01, DURATION;
        /// Whether the series have the mean congestion window, which takes time for every flow at
        /// each sample.
        windows: bool = false;
        /// Number of independent repetitions, from which the intervals follow.
        replications: u32 = 8, at_least(1.0).at_most(10_000.0);
        /// Seed of every random stream; all disciplines see the same flows.
        seed: u64 = 1, at_least(0.0).below(18_446_744_073_709_551_616.0);
    }
}

impl NetworkScenario {
    fn consistent(&self, reader: &mut Reader) {
        if self.warm_up_s() >= self.duration_s {
            reader.say(format!(
                "warm_up_s = {} must be below duration_s = {} (s), or be left out for half of it",
                rounded(self.warm_up_s()),
                rounded(self.duration_s)
            ));
        }
        let links = self.topology.simplex_links();
        if !links.iter().any(|link| link.queue) {
            reader.say("topology.links: at least one must have queue = true");
        }
        links::check(&self.links, &links, reader);
        let (routes, nodes) = (self.topology.routes(), self.topology.nodes());
        for (place, flows) in self.flows.iter().enumerate() {
            let wrong = pairs(flows, &routes, &nodes).err();
            let missing = [flows.codepoint_missing(), flows.precedence_missing()];
            for what in wrong.into_iter().chain(missing.into_iter().flatten()) {
                let tell = |reader: &mut Reader| reader.say(what);
                reader.within("flows", |reader| reader.within(place, tell));
            }
        }
        let flows: u64 = self
            .flows
            .iter()
            .map(|flows| u64::from(flows.shared().count))
            .sum();
        let rows = u64::from(self.replications) * flows;
        if rows > MOST_ROWS {
            reader.say(format!(
                "replications = {} must be fewer: with all groups of flows they make {rows} flows, \
                 and at most {MOST_ROWS} are kept",
                self.replications
            ));
        }
        check_names(&self.disciplines, reader);
    }

    /// Returns what a link has of its own; `None` if the scenario says nothing of it.
    pub fn own(&self, link: &SimplexLink) -> Option<&LinkSettings> {
        let name = link.name();
        let found = self.links.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, own)| own)
    }

    /// Returns the discipline that stands before a link whatever is compared.
    pub fn own_discipline(&self, link: &SimplexLink) -> Option<&Discipline> {
        self.own(link).and_then(|own| own.discipline.as_ref())
    }

    /// Returns the buffer of a link.
    pub fn buffer(&self, link: &SimplexLink) -> &Queue {
        let own = self.own(link).and_then(|own| own.queue.as_ref());
        own.unwrap_or(&self.queue)
    }

    /// Returns the warm-up, which the measures leave out, s.
    pub fn warm_up_s(&self) -> f64 {
        self.warm_up_s.unwrap_or(self.duration_s / 2.0)
    }

    /// Returns the pairs of nodes over which the flows of each group are distributed.
    ///
    /// # Panics
    /// If the scenario was not read, and its parts do not suit each other.
    pub fn pairs(&self) -> Vec<Vec<Pair>> {
        let (routes, nodes) = (self.topology.routes(), self.topology.nodes());
        self.flows
            .iter()
            .map(|flows| {
                pairs(flows, &routes, &nodes).expect("a scenario is checked when it is read")
            })
            .collect()
    }

    /// Returns the name of the class of each group of flows; empty if flows are not counted by class.
    pub fn classes(&self) -> Vec<String> {
        classes(&self.flows)
    }

    /// Returns notes that a reader of the measures must know, one sentence each.
    ///
    /// # Errors
    /// If a capture cannot be read.
    pub fn notes(&self) -> Result<Vec<String>, String> {
        notes(self)
    }
}

/// Returns the pairs of nodes over which a group's flows are distributed.
fn pairs(flows: &Flows, routes: &[Route], nodes: &[String]) -> Result<Vec<Pair>, String> {
    let shared = flows.shared();
    if let (Some(source), Some(sink)) = (&shared.source, &shared.sink) {
        let unknown = [source, sink]
            .into_iter()
            .find(|name| !nodes.contains(name));
        return match unknown {
            Some(name) => Err(format!("{name} is no node of the topology")),
            None => Ok(vec![(source.clone(), sink.clone())]),
        };
    }
    let [(first, _), ..] = routes else {
        return Err("source and sink are missing: this topology names no routes".into());
    };
    let wanted = shared.route.as_deref().unwrap_or(first);
    match routes.iter().find(|(name, _)| *name == wanted) {
        Some((_, pairs)) => Ok(pairs.clone()),
        None => {
            let known: Vec<_> = routes.iter().map(|(name, _)| *name).collect();
            Err(format!(
                "route = {wanted} must be one of {}",
                known.join(", ")
            ))
        }
    }
}
