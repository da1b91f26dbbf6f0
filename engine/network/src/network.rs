//! Everything between the endpoints: links, packets in transit on them, and the ports before them.
//!
//! A link without a port has an unlimited FIFO before it. So when a packet enters the FIFO, it is
//! known when it comes out of the link, and no event is needed in between. A link that all packets
//! reach over the same other link *follows on* from that one: packets enter both in the same order,
//! so it is known at once when they come out of the second one, too.

use std::cmp::Reverse;

use rand::Rng;
use sluice_aqm::{NEVER, Verdict};
use sluice_link::{Clock, Ticks, Transmitter};
use sluice_queue::{Event as QueueEvent, Observer, Waiting};
use sluice_random::stream;

use crate::{
    line::{Line, Store},
    packet::{Kind, Packet, Place, Transit},
    port::Port,
    routes::{END, Routes},
    sacks::Sacks,
    series::PortSeries,
    tally::{KindTally, Tally},
    topology::Topology,
    tournament::Tournament,
    trace::{Event, Step, Trace},
};

/// State of a link.
struct LinkState {
    transmitter: Transmitter,
    /// Number of the event "a packet comes out".
    event: usize,
    follows_on: bool,
    port: Option<usize>,
    line: Line,
}

/// Maximum number of packets in transit, 32 bytes each: unlimited queues could fill the memory.
const MOST_ON_WAY: usize = 20_000_000;

/// Links, ports and packets in transit.
pub struct Network<T> {
    links: Vec<LinkState>,
    ports: Vec<Port>,
    routes: Routes,
    clock: Clock,
    /// Events `0..links` are packets that come out of links; the events from `links` on are ends of
    /// transmissions at ports. Links with a longer delay have lower numbers: of packets that come
    /// out at the same tick, the one that was sent first comes first.
    events: Tournament,
    /// The link of each event below `links`.
    link_of_event: Vec<usize>,
    store: Store,
    pub sacks: Sacks,
    trace: T,
    /// Number of packets sent, counted only with a trace.
    sent: u32,
}

impl<T: Trace> Network<T> {
    /// An empty network. `seed` and `replication` determine the random streams of the AQMs.
    pub fn new(
        topology: &Topology,
        routes: Routes,
        clock: Clock,
        (seed, replication): (u64, u64),
        trace: T,
    ) -> Self {
        let mut links = Vec::new();
        let mut ports = Vec::new();
        for (index, link) in topology.links.iter().enumerate() {
            links.push(LinkState {
                transmitter: Transmitter::new(link.rate_bps, link.delay_ns),
                event: 0,
                follows_on: link.port.is_none() && routes.follows_on(index),
                port: link.port.as_ref().map(|_| ports.len()),
                line: Line::default(),
            });
            if let Some(port) = &link.port {
                let random = stream(seed, &format!("aqm {index}"), replication);
                ports.push(Port::new(index, port, link.rate_bps, random));
            }
        }
        let mut link_of_event: Vec<usize> = (0..links.len()).collect();
        link_of_event.sort_by_key(|link| Reverse(topology.links[*link].delay_ns));
        for (event, link) in link_of_event.iter().enumerate() {
            links[*link].event = event;
        }
        Self {
            clock,
            link_of_event,
            events: Tournament::new(links.len() + ports.len()),
            links,
            ports,
            routes,
            store: Store::default(),
            sacks: Sacks::default(),
            trace,
            sent: 0,
        }
    }

    /// Returns the clock of the network's times.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the link with the most packets if there are too many packets in transit.
    pub fn overfull(&self) -> Option<usize> {
        let overfull = self.store.room() > MOST_ON_WAY;
        let fullest = || (0..self.links.len()).max_by_key(|link| self.links[*link].line.len());
        overfull.then(fullest).flatten()
    }

    /// Returns the time and number of the next event; the time is [`NEVER`] if there is none.
    #[inline]
    pub fn first(&self) -> (Ticks, usize) {
        self.events.first()
    }

    /// Handles the event that is due. Returns the packet if it has reached the end of its route.
    #[inline]
    pub fn step(&mut self, now: Ticks, event: usize) -> Option<Packet> {
        let Some(link) = self.link_of_event.get(event) else {
            self.end_transmission(now, event - self.link_of_event.len());
            return None;
        };
        let state = &mut self.links[*link];
        let Transit { packet, place } = state.line.pop(&mut self.store);
        self.events
            .set(event, state.line.due(&self.store).unwrap_or(NEVER));
        if self.routes.link(place.hop()) == END {
            return Some(packet);
        }
        self.forward(now, place, packet);
        None
    }

    /// Returns the packet that will come out of the event's link after `ahead` others.
    #[inline]
    pub fn on_way(&self, event: usize, ahead: u32) -> Option<&Packet> {
        self.links[self.link_of_event[event]]
            .line
            .get(&self.store, ahead)
    }

    /// Sends a new packet on the route that starts at `hop` of the table of hops.
    #[inline]
    pub fn send(&mut self, now: Ticks, hop: u32, packet: Packet) {
        let mut id = 0;
        if T::ON {
            id = self.sent;
            self.sent += 1;
        }
        self.forward(now, Place::new(hop, id), packet);
    }

    // inlined into each caller: most links have no port, so most packets go to `carry` at once
    #[inline(always)]
    fn forward(&mut self, now: Ticks, place: Place, packet: Packet) {
        match self.links[self.routes.link(place.hop())].port {
            None => self.carry(now, place, packet),
            Some(port) => self.join(now, port, Transit { packet, place }),
        }
    }

    /// Transmits a packet as soon as the link is free, then also over the links that follow on.
    #[inline(never)]
    fn carry(&mut self, now: Ticks, mut place: Place, packet: Packet) {
        let mut link = self.routes.link(place.hop());
        let mut at = now;
        loop {
            let state = &mut self.links[link];
            let start = at.max(state.transmitter.free());
            let out = state
                .transmitter
                .send(self.clock, at, u32::from(packet.bytes));
            if T::ON {
                let unqueued = state.port.is_none();
                let mut note = self.noting(now, Transit { packet, place });
                if unqueued {
                    note(at, Step::Arrive, link);
                }
                note(start, Step::Depart, link);
                note(out, Step::Receive, link);
            }
            at = out;
            place.go_on();
            let next = self.routes.link(place.hop());
            if next == END || !self.links[next].follows_on {
                break;
            }
            link = next;
        }
        let state = &mut self.links[link];
        if state.line.is_empty() {
            self.events.set(state.event, at);
        }
        state
            .line
            .push(&mut self.store, at, Transit { packet, place });
    }

    /// Returns a function that notes a packet's events, known at `now`.
    fn noting(&mut self, now: Ticks, transit: Transit) -> impl FnMut(Ticks, Step, usize) {
        let (clock, trace) = (self.clock, &mut self.trace);
        let Transit { packet, place } = transit;
        let blocks = self.sacks.get(packet.sack);
        move |at, step, link| {
            let event = Event {
                at_ns: clock.ns(at),
                step,
                link,
                id: place.id(),
                packet,
                blocks,
            };
            trace.note(clock.ns(now), event);
        }
    }

    #[inline(never)]
    fn join(&mut self, now: Ticks, index: usize, transit: Transit) {
        if T::ON {
            let link = self.ports[index].link;
            self.noting(now, transit)(now, Step::Arrive, link);
        }
        let now_ns = self.clock.ns(now);
        let port = &mut self.ports[index];
        port.count(now_ns);
        let kinds = &mut port.tally.kinds;
        kinds[transit.packet.kind as usize].arrivals += 1;
        let random = &mut port.random;
        port.queue.arrive(
            now_ns,
            transit,
            &mut || random.next_u64(),
            &mut Watch {
                sacks: &mut self.sacks,
                trace: &mut self.trace,
                link: port.link,
                port: index,
                now_ns,
                kinds,
            },
        );
        if !port.busy {
            self.begin_transmission(now, index);
        }
    }

    #[inline]
    fn end_transmission(&mut self, now: Ticks, index: usize) {
        self.ports[index].count(self.clock.ns(now));
        self.ports[index].busy = false;
        self.begin_transmission(now, index);
    }

    #[inline]
    fn begin_transmission(&mut self, now: Ticks, index: usize) {
        let now_ns = self.clock.ns(now);
        let port = &mut self.ports[index];
        let random = &mut port.random;
        let next = port.queue.depart(
            now_ns,
            &mut || random.next_u64(),
            &mut Watch {
                sacks: &mut self.sacks,
                trace: &mut self.trace,
                link: port.link,
                port: index,
                now_ns,
                kinds: &mut port.tally.kinds,
            },
        );
        let event = self.links.len() + index;
        let Some(Waiting {
            packet: Transit { packet, place },
            since_ns,
        }) = next
        else {
            self.events.set(event, NEVER);
            return;
        };
        port.busy = true;
        let link = port.link;
        self.carry(now, place, packet);
        let free = self.links[link].transmitter.free();
        self.events.set(event, free);
        let delay_ns = self.clock.ns(free) - since_ns;
        let tally = &mut self.ports[index].tally;
        tally.send(now_ns - since_ns, delay_ns, &packet);
    }

    /// Returns the ports, in the order of their links, with the interval of their AQMs' ticks, ns;
    /// `None` if they want no ticks.
    pub fn ticks(&self) -> impl Iterator<Item = (usize, Option<u64>)> {
        let interval = |port: &Port| port.queue.tick_interval_ns();
        self.ports.iter().map(interval).enumerate()
    }

    /// Ticks the AQMs of a port and returns the interval to the next tick, ns.
    pub fn tick(&mut self, now_ns: u64, port: usize) -> Option<u64> {
        let Port {
            queue, link, tally, ..
        } = &mut self.ports[port];
        let mut watch = Watch {
            sacks: &mut self.sacks,
            trace: &mut self.trace,
            link: *link,
            port,
            now_ns,
            kinds: &mut tally.kinds,
        };
        queue.tick(now_ns, &mut watch);
        queue.tick_interval_ns()
    }

    /// Takes a sample of every port.
    pub fn sample(&mut self) {
        self.ports.iter_mut().for_each(Port::sample);
    }

    /// Returns the counts of each port since the last call.
    pub fn take_tallies(&mut self, now_ns: u64) -> Vec<Tally> {
        let take = |port: &mut Port| port.take_tally(now_ns);
        self.ports.iter_mut().map(take).collect()
    }

    /// Returns the series of each port.
    pub fn into_series(self) -> Vec<PortSeries> {
        self.ports.into_iter().map(|port| port.series).collect()
    }
}

/// Observes the queue before a link at one moment.
struct Watch<'a, T> {
    sacks: &'a mut Sacks,
    trace: &'a mut T,
    link: usize,
    /// Number of the link among those that have a discipline.
    port: usize,
    now_ns: u64,
    /// The port's counts by kind of packet.
    kinds: &'a mut [KindTally; Kind::COUNT],
}

impl<T: Trace> Observer<Transit> for Watch<'_, T> {
    const ON: bool = T::ON;

    #[inline]
    fn lost(&mut self, packet: Transit, _verdict: Verdict) {
        let Transit { packet, place } = packet;
        self.kinds[packet.kind as usize].lost += 1;
        if T::ON {
            let event = Event {
                at_ns: self.now_ns,
                step: Step::Drop,
                link: self.link,
                id: place.id(),
                packet,
                blocks: self.sacks.get(packet.sack),
            };
            self.trace.note(self.now_ns, event);
        }
        self.sacks.forget(packet.sack);
    }

    #[inline]
    fn note(&mut self, now_ns: u64, queue: usize, event: QueueEvent<'_>) {
        if T::ON {
            self.trace.decide(now_ns, self.port, queue, event);
        }
    }
}
