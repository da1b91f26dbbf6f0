//! Nodes, links and the routes between them.

use std::{cmp::Reverse, collections::BinaryHeap};

use sluice_aqm::{AqmSource, Discipline};
use sluice_queue::Scheduler;

use crate::error::NetworkError;

/// What stands in front of a link.
#[derive(Clone, Debug)]
pub struct Port {
    /// Limit, victim and marking.
    pub discipline: Discipline,
    /// How the queue is divided.
    pub scheduler: Scheduler,
    /// The AQM of each part.
    pub aqm: AqmSource,
}

/// One direction of a connection between two nodes.
#[derive(Clone, Debug)]
pub struct Link {
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Bits/s.
    pub rate_bps: u64,
    /// Propagation.
    pub delay_ns: u64,
    /// Without one, packets wait in a queue without limit, which nobody looks at.
    pub port: Option<Port>,
}

/// Greatest delay of a link: an hour.
pub const MOST_DELAY_NS: u64 = 3_600_000_000_000;
/// Greatest rate of a link: 100 Tbit/s.
pub const MOST_RATE_BPS: u64 = 100_000_000_000_000;

/// A network before anything happens in it.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Names.
    pub nodes: Vec<String>,
    /// In the order in which results name them.
    pub links: Vec<Link>,
}

impl Topology {
    /// What a link is called: `r1 -> r2`.
    pub fn link_name(&self, link: usize) -> String {
        let Link { from, to, .. } = self.links[link];
        format!("{} -> {}", self.nodes[from], self.nodes[to])
    }

    /// Refuses rates, delays and ends that make no sense.
    pub(crate) fn check(&self) -> Result<(), NetworkError> {
        for (index, link) in self.links.iter().enumerate() {
            let nodes = self.nodes.len();
            if link.from >= nodes || link.to >= nodes || link.from == link.to {
                return Err(NetworkError(format!(
                    "link {index} must join two of the {nodes} nodes"
                )));
            }
            let refuse = |what: String| {
                Err(NetworkError(format!(
                    "link {}: {what}",
                    self.link_name(index)
                )))
            };
            if !(1..=MOST_RATE_BPS).contains(&link.rate_bps) {
                return refuse(format!(
                    "rate = {} must lie between 1 and {MOST_RATE_BPS} bits/s",
                    link.rate_bps
                ));
            }
            if link.delay_ns > MOST_DELAY_NS {
                return refuse(format!(
                    "delay = {} must be at most {MOST_DELAY_NS} ns",
                    link.delay_ns
                ));
            }
            if link
                .port
                .as_ref()
                .is_some_and(|port| port.discipline.limit == 0)
            {
                return refuse("limit = 0 must be at least 1 packet".into());
            }
        }
        Ok(())
    }

    /// Refuses a run in which an AQM answered what is no verdict.
    pub(crate) fn check_answers(&self) -> Result<(), NetworkError> {
        let ports = self.links.iter().filter_map(|link| link.port.as_ref());
        let wrong = ports.filter_map(|port| port.aqm.wrong()).next();
        wrong.map_or(Ok(()), |wrong| Err(NetworkError(wrong)))
    }

    /// What to say of a link that holds so many packets that the run ends.
    pub(crate) fn overfull(&self, link: usize) -> NetworkError {
        NetworkError(format!(
            "link {}: millions of packets wait before it, and memory runs out: it has no limit, \
             and more packets come than its rate lets through",
            self.link_name(link)
        ))
    }

    /// Shortest routes from node `from`: least delay, then fewest links, then the link listed first.
    pub(crate) fn routes_from(&self, from: usize) -> RoutesFrom<'_> {
        let mut leaving = vec![Vec::new(); self.nodes.len()];
        for (index, link) in self.links.iter().enumerate() {
            leaving[link.from].push(index);
        }
        let mut best = vec![(u64::MAX, u32::MAX); self.nodes.len()];
        let mut through = vec![None; self.nodes.len()];
        let mut open = BinaryHeap::from([Reverse((0, 0, from))]);
        best[from] = (0, 0);
        while let Some(Reverse((delay_ns, hops, node))) = open.pop() {
            if (delay_ns, hops) > best[node] {
                continue;
            }
            for &index in &leaving[node] {
                let link = &self.links[index];
                let length = (delay_ns + link.delay_ns, hops + 1);
                if length < best[link.to] {
                    best[link.to] = length;
                    through[link.to] = Some(index);
                    open.push(Reverse((length.0, length.1, link.to)));
                }
            }
        }
        RoutesFrom {
            topology: self,
            from,
            through,
        }
    }
}

/// The shortest routes from one node to all others.
pub(crate) struct RoutesFrom<'a> {
    topology: &'a Topology,
    from: usize,
    /// The last link of the route to each node.
    through: Vec<Option<usize>>,
}

impl RoutesFrom<'_> {
    /// The links to `to`, in order; `what` is to take them.
    ///
    /// # Errors
    /// If there is no route.
    pub fn to(&self, to: usize, what: &str) -> Result<Vec<usize>, NetworkError> {
        let mut links = Vec::new();
        let mut node = to;
        while node != self.from {
            let link = self.through[node].ok_or_else(|| {
                let name = |node: usize| &self.topology.nodes[node];
                NetworkError(format!(
                    "no route from {} to {}, which {what} of a flow must take",
                    name(self.from),
                    name(to)
                ))
            })?;
            links.push(link);
            node = self.topology.links[link].from;
        }
        links.reverse();
        Ok(links)
    }
}
