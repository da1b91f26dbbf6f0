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
    classes::{Classes, ClassesHeld},
    line::{Line, Store},
    observation::PortState,
    packet::{Kind, Packed, Packet, Place, Transit},
    port::Port,
    routes::{Leg, Routes},
    series::PortSeries,
    slab::Aside,
    tally::Tally,
    topology::{self, Topology},
    tournament::Tournament,
    trace::{Event, Step, Trace},
    wire::{Wire, WireTally},
};

/// State of a link.
struct LinkState {
    transmitter: Transmitter,
    line: Line,
    /// Number of the link in the topology.
    number: u32,
    has_port: bool,
}

/// An entry of the table of hops. A link's number here is that of its event.
#[derive(Clone, Copy)]
enum Hop {
    /// A link with a port before it; the port's number. Wires are counted after all ports.
    Port(u32),
    /// A link without a port.
    Link(u32),
    /// A link that follows on from the one before it.
    FollowingLink(u32),
    /// The end of a route.
    End,
}

/// Maximum number of packets in transit, 32 bytes each: unlimited queues could fill the memory.
const MOST_ON_WAY: usize = 20_000_000;

/// Links, ports and packets in transit.
pub struct Network<T, const BY_CLASS: bool> {
    /// In the order of their events. After the links come the ends of wires: what has come out of a
    /// wire is in the line there until the event of the same time.
    links: Vec<LinkState>,
    /// Number of each link's event.
    event_of_link: Vec<usize>,
    ports: Vec<Port>,
    wires: Vec<Wire>,
    hops: Vec<Hop>,
    clock: Clock,
    /// Events `0..links` are packets that come out of links; the events from `links` on are ends of
    /// transmissions at ports, and after these are packets that come out of wires. Links with a longer delay have lower numbers: of packets that come
    /// out at the same tick, the one that was sent first comes first.
    events: Tournament,
    store: Store,
    pub aside: Aside,
    classes: Classes,
    trace: T,
    /// Number of packets sent, counted only with a trace.
    sent: u32,
}

impl<T: Trace, const BY_CLASS: bool> Network<T, BY_CLASS> {
    /// An empty network. `seed` and `replication` determine the random streams of the AQMs.
    pub fn new(
        topology: &Topology,
        (routes, classes): (Routes, Classes),
        clock: Clock,
        (seed, replication): (u64, u64),
        trace: T,
    ) -> Self {
        let mut order: Vec<usize> = (0..topology.links.len()).collect();
        order.sort_by_key(|link| Reverse(topology.links[*link].delay_ns));
        let mut event_of_link = vec![0; order.len()];
        let mut links = Vec::new();
        for (event, number) in order.into_iter().enumerate() {
            let link = &topology.links[number];
            event_of_link[number] = event;
            links.push(LinkState {
                transmitter: Transmitter::new(link.rate_bps, link.delay_ns)
                    .with_service(link.service.clone()),
                line: Line::default(),
                number: number as u32,
                has_port: link.port.is_some(),
            });
        }
        let mut ports = Vec::new();
        let mut hop_of_link = Vec::new();
        for (number, link) in topology.links.iter().enumerate() {
            let event = event_of_link[number] as u32;
            hop_of_link.push(match &link.port {
                Some(_) => Hop::Port(ports.len() as u32),
                None if routes.follows_on(number) => Hop::FollowingLink(event),
                None => Hop::Link(event),
            });
            if let Some(port) = &link.port {
                let random = stream(seed, &format!("aqm {number}"), replication);
                ports.push(Port::new(number, port, link, random, classes.count));
            }
        }
        let (mut wires, mut hop_of_wire) = (Vec::new(), vec![Hop::End; topology.links.len()]);
        for (number, link) in topology.links.iter().enumerate() {
            if let Some(plan) = &link.wire {
                let random = stream(seed, &format!("wire {number}"), replication);
                hop_of_wire[number] = Hop::Port((ports.len() + wires.len()) as u32);
                wires.push(Wire::new(number, plan.clone(), random));
                links.push(LinkState {
                    transmitter: Transmitter::new(link.rate_bps, 0),
                    line: Line::default(),
                    number: number as u32,
                    has_port: false,
                });
            }
        }
        let hop = |leg: Leg| match leg {
            Leg::Link(link) => hop_of_link[link],
            Leg::Wire(link) => hop_of_wire[link],
            Leg::End => Hop::End,
        };
        Self {
            clock,
            events: Tournament::new(links.len() + ports.len() + wires.len()),
            links,
            event_of_link,
            ports,
            hops: routes.hops().map(hop).collect(),
            wires,
            store: Store::default(),
            aside: Aside::default(),
            classes,
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
        let on_wires: usize = self.wires.iter().map(Wire::len).sum();
        if on_wires > MOST_ON_WAY {
            let fullest = self.wires.iter().max_by_key(|wire| wire.len());
            return fullest.map(|wire| wire.link);
        }
        let overfull = self.store.room() > MOST_ON_WAY;
        let fullest = || self.event_of_link.iter().map(|event| &self.links[*event]);
        overfull
            .then(|| fullest().max_by_key(|link| link.line.len()))
            .flatten()
            .map(|link| link.number as usize)
    }

    /// Returns the time and number of the next event; if there is none, a time after the end of the
    /// run.
    #[inline]
    pub fn first(&self) -> (Ticks, usize) {
        self.events.first()
    }

    /// Handles the event that is due. Returns the packet if it has reached the end of its route.
    #[inline]
    pub fn step(&mut self, now: Ticks, event: usize) -> Option<Packet> {
        let Some(state) = self.links.get_mut(event) else {
            self.end_transmission(now, event - self.links.len());
            return None;
        };
        let transit = state.line.pop(&mut self.store);
        self.events
            .set(event, state.line.due(&self.store).unwrap_or(NEVER));
        let hop = self.hops[transit.place.hop() as usize];
        if let Hop::End = hop {
            return Some(transit.packet());
        }
        self.forward(now, hop, transit);
        None
    }

    /// Returns the packet that will come out of the event's link after `ahead` others.
    #[inline]
    pub fn on_way(&self, event: usize, ahead: u32) -> Option<Packet> {
        let transit = self.links[event].line.get(&self.store, ahead)?;
        Some(transit.packet())
    }

    /// Sends a new packet on the route that starts at `hop` of the table of hops.
    #[inline]
    pub fn send(&mut self, now: Ticks, hop: u32, mut packet: Packet) {
        if BY_CLASS && packet.kind != Kind::Ack {
            packet.aside = self.aside.sent_ns.keep(self.clock.ns(now));
        }
        let mut id = 0;
        if T::ON {
            id = self.sent;
            self.sent += 1;
        }
        let transit = Transit::new(packet.into(), Place::new(hop, id));
        self.forward(now, self.hops[hop as usize], transit);
    }

    // inlined into each caller: most links have no port, so most packets go to `carry` at once
    #[inline(always)]
    fn forward(&mut self, now: Ticks, hop: Hop, transit: Transit) {
        match hop {
            Hop::Link(link) | Hop::FollowingLink(link) => {
                self.carry(now, link, transit.place, transit.packed());
            }
            Hop::Port(port) => self.join(now, port as usize, transit),
            Hop::End => unreachable!("a route has a link"),
        }
    }

    /// Transmits a packet as soon as the link is free, then also over the links that follow on.
    #[inline(never)]
    fn carry(&mut self, now: Ticks, first: u32, mut place: Place, packed: Packed) {
        let packet = Packet::from(packed);
        let mut link = first as usize;
        let mut at = now;
        loop {
            let state = &mut self.links[link];
            let start = at.max(state.transmitter.free());
            let out = state
                .transmitter
                .send(self.clock, at, u32::from(packet.bytes));
            if T::ON {
                let LinkState {
                    number, has_port, ..
                } = *state;
                let next = self.hops[place.hop() as usize + 1];
                let ports = self.ports.len();
                let is_wired = matches!(next, Hop::Port(port) if port as usize >= ports);
                let number = number as usize;
                let mut note = self.noting(now, Transit::new(packed, place));
                if !has_port {
                    note(at, Step::Arrive, number);
                }
                note(start, Step::Depart, number);
                if !is_wired {
                    note(out, Step::Receive, number);
                }
            }
            at = out;
            place.go_on();
            let Hop::FollowingLink(next) = self.hops[place.hop() as usize] else {
                break;
            };
            link = next as usize;
        }
        let state = &mut self.links[link];
        if state.line.is_empty() {
            self.events.set(link, at);
        }
        let transit = Transit::new(packed, place);
        state.line.push(&mut self.store, at, transit);
    }

    /// Puts a packet on a wire, or loses it there.
    #[cold]
    fn enter_wire(&mut self, now: Ticks, index: usize, transit: Transit) {
        let wire = &mut self.wires[index];
        let link = wire.link;
        let out = wire.enter(self.clock, now, transit);
        let due = wire.due();
        if T::ON {
            let (at, step) = out.map_or((now, Step::Lose), |out| (out, Step::Receive));
            self.noting(now, transit)(at, step, link);
        }
        if out.is_none() {
            self.aside.forget(&transit.packet());
        }
        let event = self.links.len() + self.ports.len() + index;
        self.events.set(event, due);
    }

    /// Moves a packet from a wire to its end.
    #[cold]
    fn leave_wire(&mut self, now: Ticks, index: usize) {
        let wire = &mut self.wires[index];
        let left = wire.leave();
        let due = wire.due();
        let event = self.links.len() + self.ports.len() + index;
        self.events.set(event, due);
        let mut place = left.place;
        place.go_on();
        let end = self.links.len() - self.wires.len() + index;
        let line = &mut self.links[end].line;
        if line.is_empty() {
            self.events.set(end, now);
        }
        let transit = Transit::new(left.packed(), place);
        line.push(&mut self.store, now, transit);
    }

    /// Returns a function that notes a packet's events, known at `now`.
    fn noting(&mut self, now: Ticks, transit: Transit) -> impl FnMut(Ticks, Step, usize) {
        let (clock, trace) = (self.clock, &mut self.trace);
        let packet = transit.packet();
        let blocks = self.aside.blocks(&packet);
        move |at, step, link| {
            let event = Event {
                at_ns: clock.ns(at),
                step,
                link,
                id: transit.place.id(),
                packet,
                blocks,
            };
            trace.note(clock.ns(now), event);
        }
    }

    #[inline(never)]
    fn join(&mut self, now: Ticks, index: usize, transit: Transit) {
        if T::ON && index < self.ports.len() {
            let link = self.ports[index].link;
            self.noting(now, transit)(now, Step::Arrive, link);
        }
        let now_ns = self.clock.ns(now);
        let ports = self.ports.len();
        let Some(port) = self.ports.get_mut(index) else {
            return self.enter_wire(now, index - ports, transit);
        };
        port.count(now_ns);
        let packet = transit.packet();
        let class = class_of::<BY_CLASS>(&self.classes, &packet);
        port.tally.cell(class, &packet).arrivals += 1;
        if BY_CLASS {
            port.held.change(&mut port.tally.classes, class, now_ns, 1);
        }
        let random = &mut port.random;
        let verdict = port.queue.arrive(
            now_ns,
            transit,
            &mut || random.next_u64(),
            &mut Watch::<T, BY_CLASS> {
                aside: &mut self.aside,
                trace: &mut self.trace,
                classes: &self.classes,
                link: port.link,
                port: index,
                now_ns,
                tally: &mut port.tally,
                held: &mut port.held,
            },
        );
        // losses are counted where the packets are known that are lost
        if BY_CLASS && !verdict.is_drop() {
            port.tally.cell(class, &packet).verdicts[verdict as usize] += 1;
        }
        if !port.busy {
            self.begin_transmission(now, index);
        }
    }

    #[inline]
    fn end_transmission(&mut self, now: Ticks, index: usize) {
        let ports = self.ports.len();
        let Some(port) = self.ports.get_mut(index) else {
            return self.leave_wire(now, index - ports);
        };
        port.count(self.clock.ns(now));
        port.busy = false;
        self.begin_transmission(now, index);
    }

    #[inline]
    fn begin_transmission(&mut self, now: Ticks, index: usize) {
        let now_ns = self.clock.ns(now);
        let port = &mut self.ports[index];
        let random = &mut port.random;
        let marks = port.queue.verdicts()[Verdict::Mark as usize];
        let next = port.queue.depart(
            now_ns,
            &mut || random.next_u64(),
            &mut Watch::<T, BY_CLASS> {
                aside: &mut self.aside,
                trace: &mut self.trace,
                classes: &self.classes,
                link: port.link,
                port: index,
                now_ns,
                tally: &mut port.tally,
                held: &mut port.held,
            },
        );
        let event = self.links.len() + index;
        let Some(Waiting {
            packet: transit,
            since_ns,
        }) = next
        else {
            let ready_ns = port.queue.ready_ns();
            let again = ready_ns.map_or(NEVER, |ready_ns| self.clock.ticks(ready_ns));
            self.events.set(event, again);
            return;
        };
        port.busy = true;
        let packet = transit.packet();
        let class = class_of::<BY_CLASS>(&self.classes, &packet);
        if BY_CLASS {
            port.held.change(&mut port.tally.classes, class, now_ns, -1);
            let marked = port.queue.verdicts()[Verdict::Mark as usize] - marks;
            port.tally.cell(class, &packet).verdicts[Verdict::Mark as usize] += marked;
        }
        let link = self.event_of_link[port.link];
        self.carry(now, link as u32, transit.place, transit.packed());
        let free = self.links[link].transmitter.free();
        self.events.set(event, free);
        let delay_ns = self.clock.ns(free) - since_ns;
        let tally = &mut self.ports[index].tally;
        let sojourn_ns = now_ns - since_ns;
        if BY_CLASS {
            tally.classes[class].sojourn.add(sojourn_ns);
        }
        tally.send(class, sojourn_ns, delay_ns, &packet);
    }

    /// Returns the class of a packet that reached the end of its route, and when it was sent, ns;
    /// `None` for ACKs, and if flows are not counted by class.
    #[inline]
    pub fn account(&mut self, packet: &Packet) -> Option<(usize, u64)> {
        if !BY_CLASS || packet.kind == Kind::Ack {
            return None;
        }
        Some((
            self.classes.of(packet),
            self.aside.sent_ns.take(packet.aside),
        ))
    }

    /// Returns when the AQMs of a port get their next tick, ns, if that is not yet in the agenda.
    pub fn next_tick_ns(&mut self, now_ns: u64, port: usize) -> Option<u64> {
        self.ports[port].next_tick_ns(now_ns)
    }

    /// Ticks the AQMs of a port, if a tick is due. Returns when the next one is, ns.
    pub fn tick(&mut self, now_ns: u64, port: usize) -> Option<u64> {
        // what is in the agenda may be from before the interval was changed
        if self.ports[port].tick_ns != now_ns {
            return None;
        }
        let Port {
            queue,
            link,
            tally,
            held,
            ..
        } = &mut self.ports[port];
        let mut watch = Watch::<T, BY_CLASS> {
            aside: &mut self.aside,
            trace: &mut self.trace,
            classes: &self.classes,
            link: *link,
            port,
            now_ns,
            tally,
            held,
        };
        queue.tick(now_ns, &mut watch);
        self.ports[port].tick_ns = NEVER;
        self.next_tick_ns(now_ns, port)
    }

    /// Puts the queue of a port under another discipline.
    pub fn retune(&mut self, now_ns: u64, port: usize, to: &topology::PortPlan) {
        self.ports[port].retune(now_ns, to);
    }

    /// Sets another constant rate of the link behind a port, from its next packet on.
    pub fn set_rate(&mut self, port: usize, rate_bps: u64, delay_ns: u64) {
        let port = &mut self.ports[port];
        port.set_rate(rate_bps);
        let link = self.event_of_link[port.link];
        self.links[link].transmitter.set(rate_bps, delay_ns, None);
    }

    /// Returns the number of ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Shows the AQMs of a port the rate of its link at `now_ns`, and returns when it changes next.
    pub fn show_rate(&mut self, now_ns: u64, port: usize) -> Option<u64> {
        self.ports[port].show_rate(now_ns)
    }

    /// Takes a sample of every port.
    pub fn sample(&mut self) {
        self.ports.iter_mut().for_each(Port::sample);
    }

    /// Returns what can be seen of each port now.
    pub fn observe(&self) -> Vec<PortState> {
        self.ports.iter().map(Port::observe).collect()
    }

    /// Returns the counts of each port since the last call.
    pub fn take_tallies(&mut self, now_ns: u64) -> Vec<Tally> {
        let take = |port: &mut Port| port.take_tally(now_ns);
        self.ports.iter_mut().map(take).collect()
    }

    /// Returns the counts of each wire since the last call.
    pub fn take_wire_tallies(&mut self) -> Vec<WireTally> {
        self.wires.iter_mut().map(Wire::take_tally).collect()
    }

    /// Returns the series of each port.
    pub fn into_series(self) -> Vec<PortSeries> {
        self.ports.into_iter().map(|port| port.series).collect()
    }
}

/// Returns the class of a packet; 0 if flows are not counted by class.
#[inline(always)]
fn class_of<const BY_CLASS: bool>(classes: &Classes, packet: &Packet) -> usize {
    if BY_CLASS { classes.of(packet) } else { 0 }
}

/// Observes the queue before a link at one moment.
struct Watch<'a, T, const BY_CLASS: bool> {
    aside: &'a mut Aside,
    trace: &'a mut T,
    classes: &'a Classes,
    link: usize,
    /// Number of the link among those that have a discipline.
    port: usize,
    now_ns: u64,
    /// The port's counts.
    tally: &'a mut Tally,
    held: &'a mut ClassesHeld,
}

impl<T: Trace, const BY_CLASS: bool> Observer<Transit> for Watch<'_, T, BY_CLASS> {
    const ON: bool = T::ON;

    #[inline]
    fn lost(&mut self, transit: Transit, verdict: Verdict) {
        let packet = transit.packet();
        let class = class_of::<BY_CLASS>(self.classes, &packet);
        self.tally.cell(class, &packet).verdicts[verdict as usize] += 1;
        if BY_CLASS {
            self.held
                .change(&mut self.tally.classes, class, self.now_ns, -1);
        }
        if T::ON {
            let event = Event {
                at_ns: self.now_ns,
                step: Step::Drop,
                link: self.link,
                id: transit.place.id(),
                packet,
                blocks: self.aside.blocks(&packet),
            };
            self.trace.note(self.now_ns, event);
        }
        self.aside.forget(&packet);
    }

    #[inline]
    fn note(&mut self, now_ns: u64, queue: usize, event: QueueEvent<'_>) {
        if T::ON {
            self.trace.decide(now_ns, self.port, queue, event);
        }
    }
}
