//! The routes that packets take, in one table.

use std::collections::BTreeMap;

use crate::{
    error::NetworkError,
    topology::{RoutesFrom, Topology},
};

/// An entry of the table of hops, with the number of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// A link.
    Link(usize),
    /// Its wire, if it has one.
    Wire(usize),
    /// The end of a route.
    End,
}

/// All routes. The table of hops holds the links of each route one after the other; a packet holds
/// its place in the table.
#[derive(Clone, Default)]
pub struct Routes {
    hops: Vec<Leg>,
    /// Place in the table where the route between two nodes starts.
    starts: BTreeMap<(usize, usize), u32>,
    /// For each link the link before it on all routes; `None` if routes differ in it, or if a route
    /// starts with the link.
    before: Vec<Option<usize>>,
}

impl Routes {
    /// Finds the shortest routes between pairs of nodes: `there` for data, `back` for ACKs.
    ///
    /// # Errors
    /// If a pair has no route, or if both nodes of a pair are the same.
    pub fn new(
        topology: &Topology,
        there: impl Iterator<Item = (usize, usize)>,
        back: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Self, NetworkError> {
        let mut routes = Self::default();
        let mut known: BTreeMap<usize, RoutesFrom<'_>> = BTreeMap::new();
        let named = |what: &'static str| move |(from, to)| (from, to, what);
        for (from, to, what) in there.map(named("data")).chain(back.map(named("ACKs"))) {
            if from == to {
                return Err(NetworkError(format!(
                    "a flow must lead to another node, not from {0} to {0}",
                    topology.nodes[from]
                )));
            }
            if routes.starts.contains_key(&(from, to)) {
                continue;
            }
            let shortest = known
                .entry(from)
                .or_insert_with(|| topology.routes_from(from));
            routes.starts.insert((from, to), routes.hops.len() as u32);
            for link in shortest.to(to, what)? {
                routes.hops.push(Leg::Link(link));
                let wire = topology.links[link].wire.as_ref();
                routes.hops.extend(wire.map(|_| Leg::Wire(link)));
            }
            routes.hops.push(Leg::End);
        }
        routes.find_common_predecessors(topology.links.len());
        Ok(routes)
    }

    fn find_common_predecessors(&mut self, links: usize) {
        let mut seen = vec![false; links];
        self.before = vec![None; links];
        let mut before = None;
        for hop in &self.hops {
            let Leg::Link(link) = *hop else {
                // behind a wire, packets come later and perhaps in another order
                before = None;
                continue;
            };
            if !seen[link] {
                self.before[link] = before;
            } else if self.before[link] != before {
                self.before[link] = None;
            }
            seen[link] = true;
            before = Some(link);
        }
    }

    /// Returns the place where the route between two nodes starts. They must be one of the pairs
    /// given to `new`.
    pub fn start(&self, from: usize, to: usize) -> u32 {
        self.starts[&(from, to)]
    }

    /// Returns the links of the route between two nodes, in order; see [`Self::start`].
    pub fn links(&self, from: usize, to: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.start(from, to) as usize;
        let legs = self.hops().skip(start).take_while(|leg| *leg != Leg::End);
        legs.filter_map(|leg| match leg {
            Leg::Link(link) => Some(link),
            Leg::Wire(_) | Leg::End => None,
        })
    }

    /// Returns the table.
    pub fn hops(&self) -> impl Iterator<Item = Leg> {
        self.hops.iter().copied()
    }

    /// Returns the other link that all routes over this link have just before it; `None` if they differ.
    pub fn before(&self, link: usize) -> Option<usize> {
        self.before[link]
    }
}
