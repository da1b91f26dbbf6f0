//! Everything between the endpoints: links, what is on its way on them, and the ports before them.
//!
//! A link without a port has an unlimited FIFO before it, so when a packet leaves it is known as
//! it enters, and nothing happens in between. A link that all packets reach over one and the
//! same other link *follows on* from that one: its packets come in the order in which
//! they set out there, so their arrival at its end is known at once, too.

use std::cmp::Reverse;

use rand::Rng;
use sluice_aqm::{Running, Verdict};
use sluice_queue::{Queue, Waiting};
use sluice_random::{Stream, stream};

use crate::{
    clock::{Clock, Ticks, spare},
    line::{Line, Store},
    packet::{Packet, Transit},
    routes::{END, Routes},
    sacks::Sacks,
    series::PortSeries,
    tally::{Tally, lost},
    topology::Topology,
    tournament::{NEVER, Tournament},
};

/// What a packet of some bytes takes, in ticks with some zeros at the end.
#[derive(Clone, Copy, Default)]
struct Times {
    bytes: u16,
    spare: u32,
    transmission: Ticks,
    with_delay: Ticks,
}

/// A link at work.
struct Wire {
    rate_bps: f64,
    delay_s: f64,
    /// When the transmission of all that was handed to it ends.
    free: Ticks,
    /// Times of the last packet. Most packets on a link are of one size.
    times: Times,
    /// Number of the event that a packet comes out.
    event: usize,
    follows_on: bool,
    port: Option<usize>,
    line: Line,
}

impl Wire {
    /// Sends so many bytes at `now`, or when the link is free. Gives when they come out.
    #[inline]
    fn send(&mut self, clock: Clock, now: Ticks, bytes: u16) -> Ticks {
        let start = now.max(self.free);
        let spare = spare(start);
        if (self.times.bytes, self.times.spare) != (bytes, spare) {
            let seconds = 8.0 * f64::from(bytes) / self.rate_bps;
            self.times = Times {
                bytes,
                spare,
                transmission: clock.rounded(seconds, spare).max(1),
                with_delay: clock.rounded(seconds + self.delay_s, spare).max(1),
            };
        }
        self.free = start.saturating_add(self.times.transmission);
        start.saturating_add(self.times.with_delay)
    }
}

/// What stands before a link, at work.
struct Port {
    link: usize,
    queue: Queue<Transit, Running>,
    random: Stream,
    busy: bool,
    /// Up to here (ns) the queue's length, and while the link is idle its idle time, are counted.
    counted_ns: u64,
    /// What was counted before the tally began.
    earlier: Earlier,
    tally: Tally,
    series: PortSeries,
}

/// A port's counts from the start of the run to the start of its present tally.
#[derive(Default)]
struct Earlier {
    arrivals: u64,
    sent_bytes: u64,
    verdicts: [u64; Verdict::COUNT],
}

impl Port {
    #[inline]
    fn count(&mut self, now_ns: u64) {
        let ns = now_ns - self.counted_ns;
        self.tally.hold(self.queue.packets(), ns);
        if !self.busy {
            self.tally.idle_ns += ns;
        }
        self.counted_ns = now_ns;
    }

    fn sample(&mut self) {
        let series = &mut self.series;
        series.queue.push(self.queue.packets() as u32);
        series
            .arrivals
            .push(self.earlier.arrivals + self.tally.arrivals);
        series.losses.push(lost(self.queue.verdicts()));
        series
            .sent_bytes
            .push(self.earlier.sent_bytes + self.tally.sent_bytes);
        let mut aqms = self.queue.aqms();
        if let (Some(aqm), None) = (aqms.next(), aqms.next()) {
            series.average.extend(aqm.average());
            series.probability.extend(aqm.probability());
        }
    }

    fn take_tally(&mut self, now_ns: u64) -> Tally {
        self.count(now_ns);
        let mut tally = std::mem::take(&mut self.tally);
        let all = *self.queue.verdicts();
        for (verdict, count) in tally.verdicts.iter_mut().enumerate() {
            *count = all[verdict] - self.earlier.verdicts[verdict];
        }
        tally.duration_ns = tally.queue_ns.iter().sum();
        self.earlier = Earlier {
            arrivals: self.earlier.arrivals + tally.arrivals,
            sent_bytes: self.earlier.sent_bytes + tally.sent_bytes,
            verdicts: all,
        };
        tally
    }
}

/// Links, ports and packets on their way.
pub struct Network {
    wires: Vec<Wire>,
    ports: Vec<Port>,
    routes: Routes,
    clock: Clock,
    /// Events `0..links` are the ends of links, events from there on the ports' transmissions. The
    /// longer a link, the lower its number: of packets that come out at the same tick the one
    /// that set out first goes first.
    events: Tournament,
    /// The link of each event.
    links: Vec<usize>,
    store: Store,
    pub sacks: Sacks,
}

impl Network {
    /// An empty network; `replication` of `seed` names the streams of the AQMs.
    pub fn new(
        topology: &Topology,
        routes: Routes,
        clock: Clock,
        (seed, replication): (u64, u64),
    ) -> Self {
        let mut wires = Vec::new();
        let mut ports = Vec::new();
        for (index, link) in topology.links.iter().enumerate() {
            wires.push(Wire {
                rate_bps: link.rate_bps as f64,
                delay_s: link.delay_ns as f64 / 1e9,
                free: 0,
                times: Times::default(),
                event: 0,
                follows_on: link.port.is_none() && routes.follows_on(index),
                port: link.port.as_ref().map(|_| ports.len()),
                line: Line::default(),
            });
            if let Some(port) = &link.port {
                ports.push(Port {
                    link: index,
                    queue: Queue::new(
                        port.discipline,
                        port.scheduler,
                        || port.aqm.start(),
                        link.rate_bps,
                    ),
                    random: stream(seed, &format!("aqm {index}"), replication),
                    busy: false,
                    counted_ns: 0,
                    earlier: Earlier::default(),
                    tally: Tally::default(),
                    series: PortSeries::default(),
                });
            }
        }
        let mut links: Vec<usize> = (0..wires.len()).collect();
        links.sort_by_key(|link| Reverse(topology.links[*link].delay_ns));
        for (event, link) in links.iter().enumerate() {
            wires[*link].event = event;
        }
        Self {
            clock,
            links,
            events: Tournament::new(wires.len() + ports.len()),
            wires,
            ports,
            routes,
            store: Store::default(),
            sacks: Sacks::default(),
        }
    }

    /// The clock that all times of the network's events are of.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The next event and its time; [`NEVER`] if nothing moves.
    #[inline]
    pub fn first(&self) -> (Ticks, usize) {
        self.events.first()
    }

    /// Lets the event that is due happen. Gives the packet that has come to the end of its way.
    #[inline]
    pub fn step(&mut self, now: Ticks, event: usize) -> Option<Packet> {
        let Some(link) = self.links.get(event) else {
            self.end_transmission(now, event - self.links.len());
            return None;
        };
        let wire = &mut self.wires[*link];
        let Transit { packet, hop } = wire.line.pop(&mut self.store);
        self.events
            .set(event, wire.line.due(&self.store).unwrap_or(NEVER));
        if self.routes.link(hop) == END {
            return Some(packet);
        }
        self.send(now, hop, packet);
        None
    }

    /// The packet whose coming out will be an event after `ahead` others of the same kind.
    #[inline]
    pub fn on_way(&self, event: usize, ahead: u32) -> Option<&Packet> {
        self.wires[self.links[event]].line.get(&self.store, ahead)
    }

    /// A packet enters the link at `hop` of the table of hops.
    #[inline]
    pub fn send(&mut self, now: Ticks, hop: u32, packet: Packet) {
        match self.wires[self.routes.link(hop)].port {
            None => self.carry(now, hop, packet),
            Some(port) => self.join(now, port, Transit { packet, hop }),
        }
    }

    /// Transmits a packet as soon as the link is free, and on over the links that follow on.
    #[inline]
    fn carry(&mut self, mut now: Ticks, mut hop: u32, packet: Packet) {
        let mut link = self.routes.link(hop);
        loop {
            let wire = &mut self.wires[link];
            now = wire.send(self.clock, now, packet.bytes);
            hop += 1;
            let next = self.routes.link(hop);
            if next == END || !self.wires[next].follows_on {
                break;
            }
            link = next;
        }
        let wire = &mut self.wires[link];
        if wire.line.is_empty() {
            self.events.set(wire.event, now);
        }
        wire.line
            .push(&mut self.store, now, Transit { packet, hop });
    }

    #[inline]
    fn join(&mut self, now: Ticks, index: usize, transit: Transit) {
        let now_ns = self.clock.ns(now);
        let port = &mut self.ports[index];
        port.count(now_ns);
        port.tally.arrivals += 1;
        let random = &mut port.random;
        let sacks = &mut self.sacks;
        port.queue.arrive(
            now_ns,
            transit,
            &mut || random.next_u64(),
            &mut |lost: Transit, _| sacks.forget(lost.packet.sack),
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
        let sacks = &mut self.sacks;
        let next = port.queue.depart(
            now_ns,
            &mut || random.next_u64(),
            &mut |lost: Transit, _| sacks.forget(lost.packet.sack),
        );
        let event = self.wires.len() + index;
        let Some(Waiting {
            packet: Transit { packet, hop },
            since_ns,
        }) = next
        else {
            self.events.set(event, NEVER);
            return;
        };
        port.busy = true;
        let link = port.link;
        self.carry(now, hop, packet);
        let free = self.wires[link].free;
        self.events.set(event, free);
        let wait_ns = self.clock.ns(free) - since_ns;
        self.ports[index].tally.send(wait_ns, packet.bytes);
    }

    /// Ports, in the order of their links, and how often their AQMs want a tick, ns.
    pub fn ticks(&self) -> impl Iterator<Item = (usize, Option<u64>)> {
        let interval = |port: &Port| port.queue.tick_interval_ns();
        self.ports.iter().map(interval).enumerate()
    }

    /// Ticks the AQMs of a port and gives the interval to the next tick.
    pub fn tick(&mut self, now_ns: u64, port: usize) -> Option<u64> {
        let queue = &mut self.ports[port].queue;
        queue.tick(now_ns);
        queue.tick_interval_ns()
    }

    /// Notes how every port stands.
    pub fn sample(&mut self) {
        self.ports.iter_mut().for_each(Port::sample);
    }

    /// What each port has counted since it was last asked.
    pub fn take_tallies(&mut self, now_ns: u64) -> Vec<Tally> {
        let take = |port: &mut Port| port.take_tally(now_ns);
        self.ports.iter_mut().map(take).collect()
    }

    /// The series of each port.
    pub fn into_series(self) -> Vec<PortSeries> {
        self.ports.into_iter().map(|port| port.series).collect()
    }
}
