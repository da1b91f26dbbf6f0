//! Topologies: nodes, links, which links have the discipline, and the routes flows can take.

use crate::{
    limits::{LONGEST_NAME, Limits, at_least, fewest},
    reader::Reader,
    table::{kinds, table},
};

// the engine's rates are whole: above this rate, rounding changes a rate by at most 10 ppm
const RATE: Limits = at_least(1.0)
    .at_most(1e14)
    .whole_below(50_000.0)
    .unit("bits/s");
const DELAY: Limits = at_least(0.0).at_most(3600.0).unit("s");
// time and memory to find the routes are proportional to the square of the number of hosts
const MOST_HOSTS: usize = 1000;
const NAME: Limits = fewest(1).longest(LONGEST_NAME);

/// The two ends of a flow: names of nodes.
pub type Pair = (String, String);

/// A route that flows can name, and the pairs of nodes over which flows are distributed.
pub type Route = (&'static str, Vec<Pair>);

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct SimplexLink {
    /// Name of the node that sends.
    pub source: String,
    /// Name of the node that receives.
    pub sink: String,
    /// Rate, bits/s.
    pub rate_bps: f64,
    /// Propagation delay, s.
    pub delay_s: f64,
    /// True if it has the discipline; otherwise it has an unlimited FIFO.
    pub queue: bool,
}

impl SimplexLink {
    fn new(source: &str, sink: &str, rate_bps: f64, delay_s: f64) -> Self {
        Self {
            source: source.into(),
            sink: sink.into(),
            rate_bps,
            delay_s,
            queue: false,
        }
    }

    fn both(one: &str, other: &str, rate_bps: f64, delay_s: f64) -> [Self; 2] {
        [(one, other), (other, one)]
            .map(|(source, sink)| Self::new(source, sink, rate_bps, delay_s))
    }

    /// Returns its name, such as `left -> right`.
    pub fn name(&self) -> String {
        format!("{} -> {}", self.source, self.sink)
    }

    fn with_queue(self, queue: bool) -> Self {
        Self { queue, ..self }
    }
}

table! {
    /// Clients, a router, the bottleneck, a router, servers: client i talks to server i.
    ///
    /// Nodes are `client0` and so on, `left`, `right`, `server0` and so on. Routes are `forward`,
    /// from clients to servers, and `reverse`.
    pub struct Dumbbell kind "dumbbell" {
        /// Rate of the bottleneck, both directions.
        rate_bps: f64 = 10e6, RATE;
        /// Propagation delay of the bottleneck.
        delay_s: f64 = 0.0025, DELAY;
        /// Propagation delay between each client and its router; there are as many servers as
        /// clients.
        client_delays_s: Vec<f64> = vec![0.01, 0.05, 0.1, 0.15, 0.2], DELAY.items(1, MOST_HOSTS);
        /// Propagation delay between each server and its router.
        server_delay_s: f64 = 0.0025, DELAY;
        /// Rate of all links but the bottleneck.
        access_rate_bps: f64 = 100e6, RATE;
        /// Whether the reverse direction of the bottleneck has the discipline, too.
        two_way: bool = false;
    }
}

table! {
    /// A row of routers; one route leads along all links between them, a crossing one over each.
    ///
    /// Nodes are `entry`, `router0` and so on, `exit`, and for each hop `enters0` and `leaves0` and
    /// so on. Routes are `long`, from entry to exit, and `cross`, over one hop each.
    pub struct ParkingLot kind "parking-lot" {
        /// Number of links between routers, each with the discipline.
        hops: u32 = 3, at_least(1.0).at_most(1000.0);
        /// Rate of the links between routers.
        rate_bps: f64 = 10e6, RATE;
        /// Propagation delay of each link between routers.
        delay_s: f64 = 0.01, DELAY;
        /// Rate of the links to hosts.
        access_rate_bps: f64 = 100e6, RATE;
        /// Propagation delay of each link to a host.
        access_delay_s: f64 = 0.001, DELAY;
    }
}

table! {
    /// Hosts around a hub; all but the first send to the first, whose link has the discipline.
    ///
    /// Nodes are `hub`, `host0` and so on. Routes are `inward`, from each host to the first, and
    /// `outward`.
    pub struct Star kind "star" {
        /// Rate from the hub to the first host, and back.
        rate_bps: f64 = 10e6, RATE;
        /// Rate between the other hosts and the hub.
        access_rate_bps: f64 = 100e6, RATE;
        /// Propagation delay between each host and the hub, that of the first host first.
        delays_s: Vec<f64> = vec![0.01; 4], DELAY.items(2, MOST_HOSTS);
    }
}

table! {
    /// A link between two nodes.
    pub struct Link {
        /// Name of one node.
        source: String, NAME;
        /// Name of the other.
        sink: String, NAME;
        /// Rate of each direction.
        rate_bps: f64, RATE;
        /// Propagation delay.
        delay_s: f64, DELAY;
        /// Whether the direction from source to sink has the discipline; else it has an unlimited
        /// FIFO.
        queue: bool = false;
        /// Whether the link also leads back; that direction has no discipline.
        both_ways: bool = true;
    }
}

table! {
    /// Links of your own. The links name the nodes; flows name their two ends.
    ///
    /// From one node to another there is one link at most. For the discipline in both directions,
    /// give two links with `both_ways = false`.
    pub struct Graph kind "graph" checked by sensible {
        /// The links.
        links: Vec<Link>, at_least(0.0).items(1, usize::MAX);
    }
}

impl Graph {
    /// Refuses a second link between two nodes: no route would use it, nor its discipline.
    fn sensible(&self, reader: &mut Reader) {
        let mut first = std::collections::HashMap::new();
        for (place, link) in self.links.iter().enumerate() {
            if link.source == link.sink {
                reader.say(format!(
                    "links.{place}.sink = {} must differ from its source",
                    link.sink
                ));
                continue;
            }
            let there = [(&link.source, &link.sink)];
            let back = link.both_ways.then_some((&link.sink, &link.source));
            for pair in there.into_iter().chain(back) {
                let other = *first.entry(pair).or_insert(place);
                if other != place {
                    reader.say(format!(
                        "links.{place} leads {} -> {} as links.{other} does: with both_ways = true \
                         a link leads back, too",
                        pair.0, pair.1
                    ));
                    break;
                }
            }
        }
    }
}

kinds! {
    /// Nodes and links.
    pub enum Topology { Dumbbell, ParkingLot, Star, Graph }
}

impl Topology {
    /// Returns the simplex links, one for each direction of a link, the most important first.
    pub fn simplex_links(&self) -> Vec<SimplexLink> {
        match self {
            Self::Dumbbell(dumbbell) => dumbbell.simplex_links(),
            Self::ParkingLot(lot) => lot.simplex_links(),
            Self::Star(star) => star.simplex_links(),
            Self::Graph(graph) => graph.simplex_links(),
        }
    }

    /// Returns the named routes with their pairs of nodes.
    pub fn routes(&self) -> Vec<Route> {
        match self {
            Self::Dumbbell(dumbbell) => {
                let count = dumbbell.client_delays_s.len();
                let pairs = numbered("client", 0..count).zip(numbered("server", 0..count));
                there_and_back("forward", "reverse", pairs.collect())
            }
            Self::ParkingLot(lot) => {
                let hops = lot.hops as usize;
                let pairs = numbered("enters", 0..hops).zip(numbered("leaves", 0..hops));
                let long = vec![("entry".to_owned(), "exit".to_owned())];
                vec![("long", long), ("cross", pairs.collect())]
            }
            Self::Star(star) => {
                let hosts = numbered("host", 1..star.delays_s.len());
                let pairs = hosts.map(|host| (host, "host0".to_owned()));
                there_and_back("inward", "outward", pairs.collect())
            }
            Self::Graph(_) => Vec::new(),
        }
    }

    /// Returns the names of the nodes, in the order in which the links name them.
    pub fn nodes(&self) -> Vec<String> {
        let mut known = std::collections::HashSet::new();
        self.simplex_links()
            .into_iter()
            .flat_map(|link| [link.source, link.sink])
            .filter(|name| known.insert(name.clone()))
            .collect()
    }
}

fn numbered(name: &str, numbers: std::ops::Range<usize>) -> impl Iterator<Item = String> {
    numbers.map(move |number| format!("{name}{number}"))
}

fn there_and_back(there: &'static str, back: &'static str, pairs: Vec<Pair>) -> Vec<Route> {
    let reverse = pairs
        .iter()
        .map(|(source, sink)| (sink.clone(), source.clone()));
    let reverse = reverse.collect();
    vec![(there, pairs), (back, reverse)]
}

impl Dumbbell {
    fn simplex_links(&self) -> Vec<SimplexLink> {
        let [there, back] = SimplexLink::both("left", "right", self.rate_bps, self.delay_s);
        let mut links = vec![there.with_queue(true), back.with_queue(self.two_way)];
        let rate_bps = self.access_rate_bps;
        for (place, delay_s) in self.client_delays_s.iter().enumerate() {
            let (client, server) = (format!("client{place}"), format!("server{place}"));
            links.extend(SimplexLink::both(&client, "left", rate_bps, *delay_s));
            links.extend(SimplexLink::both(
                "right",
                &server,
                rate_bps,
                self.server_delay_s,
            ));
        }
        links
    }
}

impl ParkingLot {
    fn simplex_links(&self) -> Vec<SimplexLink> {
        let mut links = Vec::new();
        let router = |hop: u32| format!("router{hop}");
        for hop in 0..self.hops {
            let [there, back] =
                SimplexLink::both(&router(hop), &router(hop + 1), self.rate_bps, self.delay_s);
            links.extend([there.with_queue(true), back]);
        }
        let mut hosts = vec![("entry".to_owned(), 0), ("exit".to_owned(), self.hops)];
        for hop in 0..self.hops {
            hosts.push((format!("enters{hop}"), hop));
            hosts.push((format!("leaves{hop}"), hop + 1));
        }
        for (host, hop) in hosts {
            links.extend(SimplexLink::both(
                &host,
                &router(hop),
                self.access_rate_bps,
                self.access_delay_s,
            ));
        }
        links
    }
}

impl Star {
    fn simplex_links(&self) -> Vec<SimplexLink> {
        let [there, back] = SimplexLink::both("hub", "host0", self.rate_bps, self.delays_s[0]);
        let mut links = vec![there.with_queue(true), back];
        for (place, delay_s) in self.delays_s.iter().enumerate().skip(1) {
            let host = format!("host{place}");
            links.extend(SimplexLink::both(
                &host,
                "hub",
                self.access_rate_bps,
                *delay_s,
            ));
        }
        links
    }
}

impl Graph {
    fn simplex_links(&self) -> Vec<SimplexLink> {
        let mut links = Vec::new();
        for link in &self.links {
            let [there, back] =
                SimplexLink::both(&link.source, &link.sink, link.rate_bps, link.delay_s);
            links.push(there.with_queue(link.queue));
            links.extend(link.both_ways.then_some(back));
        }
        links
    }
}
