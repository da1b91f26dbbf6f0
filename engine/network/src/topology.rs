//! Nodes, links and the routes between them.

use std::{cmp::Reverse, collections::BinaryHeap};

use sluice_aqm::{AqmSource, BufferPolicy, Configured, Scheduler};
use sluice_link::Service;
use sluice_wire::WirePlan;

use crate::error::NetworkError;

/// The queue before a link.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Limit, victim and marking.
    pub discipline: BufferPolicy,
    /// How packets are spread over several queues.
    pub scheduler: Option<Configured>,
    /// The AQM of each queue.
    pub aqm: AqmSource,
}

impl PortPlan {
    /// Returns the numbers of bands and of lanes in each; `None` if there are no bands.
    pub(crate) fn bands(&self) -> Option<(usize, usize)> {
        self.scheduler.as_ref().and_then(Scheduler::bands_of)
    }
}

/// One direction of a connection between two nodes.
#[derive(Clone, Debug)]
pub struct Link {
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Rate, bits/s.
    pub rate_bps: u64,
    /// How it sends if its rate varies; `None`: at the rate.
    pub service: Option<Service>,
    /// Propagation delay.
    pub delay_ns: u64,
    /// What the wire does to packets besides; `None`: nothing.
    pub wire: Option<WirePlan>,
    /// The port before the link. Without one, packets wait in an unlimited queue that is not
    /// measured.
    pub port: Option<PortPlan>,
}

/// Greatest delay of a link: an hour.
pub const MOST_DELAY_NS: u64 = 3_600_000_000_000;
/// Greatest rate of a link: 100 Tbit/s.
pub const MOST_RATE_BPS: u64 = 100_000_000_000_000;

/// Nodes and links of a network.
#[derive(Clone, Debug, Default)]
pub struct Topology {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The links, in the order of the results.
    pub links: Vec<Link>,
}

impl Topology {
    /// Returns the name of a link, for example `r1 -> r2`.
    pub fn link_name(&self, link: usize) -> String {
        let Link { from, to, .. } = self.links[link];
        format!("{} -> {}", self.nodes[from], self.nodes[to])
    }

    /// Returns the number of bands of all ports.
    pub(crate) fn bands(&self) -> usize {
        let ports = self.links.iter().filter_map(|link| link.port.as_ref());
        ports
            .filter_map(PortPlan::bands)
            .map(|(bands, _)| bands)
            .sum()
    }

    /// Refuses links with a rate, delay, limit or node out of range.
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
            if let Some(Err(what)) = link.wire.as_ref().map(WirePlan::check) {
                return refuse(what);
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

    /// Refuses a run in which an AQM returned an invalid verdict.
    pub(crate) fn check_answers(&self) -> Result<(), NetworkError> {
        let ports = self.links.iter().filter_map(|link| link.port.as_ref());
        let wrong = ports.filter_map(|port| port.aqm.wrong()).next();
        wrong.map_or(Ok(()), |wrong| Err(NetworkError(wrong)))
    }

    /// Returns the error for a run with too many packets, most of them at `link`.
    pub(crate) fn overfull(&self, link: usize) -> NetworkError {
        NetworkError(format!(
            "link {}: millions of packets wait before it, and memory runs out: it has no limit, \
             and more packets come than its rate lets through",
            self.link_name(link)
        ))
    }

    /// Returns the shortest routes from node `from`: least delay, then fewest links. Of several
    /// such routes to a node, the one whose last link starts nearest to `from` is taken (by delay,
    /// links, index of the node); of parallel links, the one listed first.
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
    /// Returns the links to `to`, in order; `what` names the packets in the error.
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
