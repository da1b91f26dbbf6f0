//! Everything between the endpoints: links, ports before them, and wires.
//!
//! What goes on at a port depends only on what comes to it. So the ends of its transmissions are no
//! events: a port *catches up* with them when a packet comes to it or when it is looked at, or else
//! just before the next packet that it sends could come out of its link.

use sluice_aqm::NEVER;
use sluice_ecn::Ecn;
use sluice_link::{Clock, Instant, Ticks};
use sluice_random::stream;
use sluice_wire::{Tampering, Wire, WireTally};

use crate::{
    classes::Classes,
    early_acks::{EarlyAcks, Receivers},
    endpoints::Endpoints,
    links::{Hop, Links},
    observation::PortState,
    packet::Packet,
    port::{Around, Port, Site},
    routes::Routes,
    series::PortSeries,
    slab::Aside,
    tally::Tally,
    topology::{self, Topology},
    trace::{Step, Trace, noting},
    transit::{Packed, Place, Transit},
};

/// Maximum number of packets in transit, 32 bytes each: unlimited queues could fill the memory.
const MOST_ON_WAY: usize = 20_000_000;

/// Links, ports, wires and packets in transit.
pub struct Network<T, const BY_CLASS: bool> {
    links: Links,
    ports: Vec<Port>,
    /// Each with the number of its link.
    wires: Vec<(usize, Wire<Transit>)>,
    /// When the last packet came out of a wire.
    out_of_wire: Ticks,
    pub aside: Aside,
    /// Where data is acknowledged ahead of time.
    receivers: Receivers,
    classes: Classes,
    trace: T,
    /// Number of packets sent, counted only with a trace.
    sent: u32,
}

/// Borrows what a port needs of the network around it.
macro_rules! around {
    ($network:expr) => {
        Around {
            links: &mut $network.links,
            receivers: &mut $network.receivers,
            aside: &mut $network.aside,
            classes: &$network.classes,
            trace: &mut $network.trace,
        }
    };
}

impl<T: Trace, const BY_CLASS: bool> Network<T, BY_CLASS> {
    /// An empty network. `seed` and `replication` determine the random streams of the AQMs.
    pub fn new(
        topology: &Topology,
        (routes, classes): (Routes, Classes),
        (early, ends): (&EarlyAcks, &mut Endpoints),
        clock: Clock,
        (seed, replication): (u64, u64),
        trace: T,
    ) -> Self {
        let links = Links::new(topology, &routes, early, clock);
        let (mut ports, mut wires) = (Vec::new(), Vec::new());
        for (number, link) in topology.links.iter().enumerate() {
            if let Some(port) = &link.port {
                let random = stream(seed, &format!("aqm {number}"), replication);
                let event = links.len() + ports.len();
                let slack = match T::ON {
                    // a trace gets the decisions of all ports in their order
                    true => 0,
                    false => links.least_time(links.event_of(number)).saturating_sub(1),
                };
                let site = Site {
                    port: ports.len(),
                    link: number,
                    link_event: links.event_of(number),
                    event,
                    slack,
                };
                ports.push(Port::new(site, port, link, random, classes.count));
            }
            if let Some(plan) = &link.wire {
                let random = stream(seed, &format!("wire {number}"), replication);
                wires.push((number, Wire::new(plan.clone(), random)));
            }
        }
        Self {
            ports,
            wires,
            out_of_wire: NEVER,
            aside: Aside::default(),
            receivers: match early.are_found() {
                false => Receivers::default(),
                true => {
                    let receivers = std::mem::take(&mut ends.receivers);
                    Receivers::new(receivers, ends.kinds.clone(), early, &links)
                }
            },
            links,
            classes,
            trace,
            sent: 0,
        }
    }

    /// Returns the clock of the network's times.
    pub fn clock(&self) -> Clock {
        self.links.clock
    }

    /// Returns the link with the most packets if there are too many packets in transit.
    pub fn overfull(&self) -> Option<usize> {
        let on_wires: usize = self.wires.iter().map(|(_, wire)| wire.len()).sum();
        if on_wires > MOST_ON_WAY {
            let fullest = self.wires.iter().max_by_key(|(_, wire)| wire.len());
            return fullest.map(|(link, _)| *link);
        }
        let overfull = self.links.room() > MOST_ON_WAY;
        overfull.then(|| self.links.fullest()).flatten()
    }

    /// Returns the time and number of the next event; if there is none, a time after the end of the
    /// run.
    #[inline]
    pub fn first(&self) -> (Ticks, usize) {
        self.links.events.first()
    }

    /// Handles the event that is due. Returns the packet if it has reached the end of its route.
    #[inline]
    pub fn step(&mut self, now: Ticks, event: usize) -> Option<Packet> {
        if event >= self.links.len() {
            self.end_wait(now, event - self.links.len());
            return None;
        }
        let transit = self.links.take(event);
        let hop = self.links.hop(transit.place);
        if let Hop::End = hop {
            return Some(transit.packet());
        }
        self.forward(now, hop, transit);
        None
    }

    /// Returns the packet that will come out of the event's link after `ahead` others.
    #[inline]
    pub fn on_way(&self, event: usize, ahead: u32) -> Option<Packet> {
        self.links.on_way(event, ahead)
    }

    /// Sends a new packet on the route that starts at `hop` of the table of hops.
    // inlined, so that a packet is made in registers
    #[inline(always)]
    pub fn send(&mut self, now: Ticks, hop: u32, mut packet: Packet) {
        if BY_CLASS && !packet.kind.is_answer() {
            packet.aside = self.aside.sent_ns.keep(self.links.clock.ns(now));
        }
        let mut id = 0;
        if T::ON {
            id = self.sent;
            self.sent += 1;
        }
        let transit = Transit::new(packet.into(), Place::new(hop, id));
        self.forward(now, self.links.hop(transit.place), transit);
    }

    // inlined into each caller: most links have no port
    #[inline(always)]
    fn forward(&mut self, now: Ticks, hop: Hop, transit: Transit) {
        match hop {
            Hop::Link(link) | Hop::FollowingLink(link) => {
                let (clock, trace, aside) = (self.links.clock, &mut self.trace, &self.aside);
                let note = noting(clock, trace, aside, now, transit);
                self.links
                    .carry::<T, false>(now, link, transit.packed(), transit.place, note);
            }
            Hop::Port(port) => self.join(now, port as usize, transit.packed(), transit.place),
            Hop::Wire(wire) => self.enter_wire(now, wire as usize, transit),
            Hop::End => unreachable!("a route has a link"),
        }
    }

    /// A packet comes to a port.
    // in words, which stay in registers where a `Transit` would be passed in memory
    #[inline]
    fn join(&mut self, now: Ticks, index: usize, packed: Packed, place: Place) {
        let transit = Transit::new(packed, place);
        // of what happens at one tick, packets that come out of links are first, then the ports, and
        // then packets that come out of wires
        let until = now + Ticks::from(self.out_of_wire == now);
        let around = &mut around!(self);
        let port = &mut self.ports[index];
        if port.lags(until) {
            port.catch_up::<_, BY_CLASS>(until, around);
        }
        port.arrive::<_, BY_CLASS>(now, transit, around);
    }

    /// Handles the event of a port or of a wire.
    #[inline]
    fn end_wait(&mut self, now: Ticks, index: usize) {
        let ports = self.ports.len();
        let Some(port) = self.ports.get_mut(index) else {
            return self.leave_wire(now, index - ports);
        };
        let around = &mut around!(self);
        port.catch_up::<_, BY_CLASS>(now + 1, around);
        port.wait_again(&mut self.links.events);
    }

    /// Lets all ports catch up with what comes before `until`.
    pub fn catch_up(&mut self, until: Ticks) {
        let around = &mut around!(self);
        for port in &mut self.ports {
            port.catch_up::<_, BY_CLASS>(until, around);
        }
    }

    /// Puts a packet on a wire, or loses it there.
    #[cold]
    fn enter_wire(&mut self, now: Ticks, index: usize, mut transit: Transit) {
        let clock = self.links.clock;
        let (link, wire) = &mut self.wires[index];
        let packet = transit.packet();
        let out = match wire.tampers() {
            Some(Tampering::LoseSyn) if packet.is_syn() && packet.ace() != 0 => wire.lose(),
            tampers => {
                match tampers {
                    None | Some(Tampering::LoseSyn) => {}
                    Some(Tampering::Bleach) => transit.rewrite(Ecn::NotEct),
                    Some(Tampering::Mark) => transit.rewrite(Ecn::Ce),
                    Some(Tampering::ClearFlags) => transit.clear_flags(),
                }
                wire.enter(clock, now, u32::from(packet.bytes), transit)
            }
        };
        if T::ON {
            let (at, step) = out.map_or((now, Step::Lose), |out| (out, Step::Receive));
            noting(clock, &mut self.trace, &self.aside, now, transit)(at, step, *link);
        }
        if out.is_none() {
            self.aside.forget(&transit.packet());
        }
        self.set_wire(index);
    }

    /// Moves a packet from a wire to its end.
    #[cold]
    fn leave_wire(&mut self, now: Ticks, index: usize) {
        self.out_of_wire = now;
        let mut transit = self.wires[index].1.leave();
        self.set_wire(index);
        transit.place.go_on();
        let end = self.links.len() - self.wires.len() + index;
        self.links.release(now, end, transit);
    }

    fn set_wire(&mut self, index: usize) {
        let event = self.links.len() + self.ports.len() + index;
        let due = self.wires[index].1.due();
        self.links.events.set(event, due.unwrap_or(NEVER));
    }

    /// Returns the class of a packet that reached the end of its route, and when it was sent, ns;
    /// `None` for answers, and if flows are not counted by class.
    #[inline]
    pub fn account(&mut self, packet: &Packet) -> Option<(usize, u64)> {
        if !BY_CLASS || packet.kind.is_answer() {
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
    pub fn tick(&mut self, now: Instant, port: usize) -> Option<u64> {
        let around = &mut around!(self);
        let port = &mut self.ports[port];
        // what is in the agenda may be from before the interval was changed
        if port.tick_ns != now.ns {
            return None;
        }
        port.catch_up::<_, BY_CLASS>(now.ticks, around);
        port.tick::<_, BY_CLASS>(now.ns, around);
        port.next_tick_ns(now.ns)
    }

    /// Puts the queue of a port under another discipline; it has caught up.
    pub fn retune(&mut self, now_ns: u64, port: usize, to: &topology::PortPlan) {
        self.ports[port].retune(now_ns, to);
    }

    /// Sets another constant rate of the link behind a port, from its next packet on; the port has
    /// caught up.
    pub fn set_rate(&mut self, port: usize, rate_bps: u64, delay_ns: u64) {
        let port = &mut self.ports[port];
        port.set_rate(rate_bps);
        let event = port.site().link_event;
        self.links.set_rate(event, rate_bps, delay_ns);
    }

    /// Returns the number of ports.
    pub fn ports(&self) -> usize {
        self.ports.len()
    }

    /// Shows the AQMs of a port the rate of its link now, and returns when it changes next, ns.
    pub fn show_rate(&mut self, now: Instant, port: usize) -> Option<u64> {
        let around = &mut around!(self);
        let port = &mut self.ports[port];
        port.catch_up::<_, BY_CLASS>(now.ticks, around);
        port.show_rate(now.ns)
    }

    /// Takes a sample of every port.
    pub fn sample(&mut self, now: Ticks) {
        self.catch_up(now);
        self.ports.iter_mut().for_each(Port::sample);
    }

    /// Returns what can be seen of each port now; they have caught up.
    pub fn observe(&self) -> Vec<PortState> {
        self.ports.iter().map(Port::observe).collect()
    }

    /// Returns the counts of each port since the last call.
    pub fn take_tallies(&mut self, now: Instant) -> Vec<Tally> {
        self.catch_up(now.ticks);
        let take = |port: &mut Port| port.take_tally(now.ns);
        self.ports.iter_mut().map(take).collect()
    }

    /// Returns the counts of each wire since the last call.
    pub fn take_wire_tallies(&mut self) -> Vec<WireTally> {
        let wires = self.wires.iter_mut();
        wires.map(|(_, wire)| wire.take_tally()).collect()
    }

    /// Returns the series of each port.
    pub fn into_series(self) -> Vec<PortSeries> {
        self.ports.into_iter().map(|port| port.series).collect()
    }
}
