//! A link with its queue: takes packets in, and lets them out at ideal times.
//!
//! It has no clock of its own: a live router passes real time, a replay passes the times of a
//! capture. For the same times it makes the same decisions.

use std::collections::VecDeque;

use rand::Rng;
use sluice_aqm::{NEVER, Running, Verdict};
use sluice_link::{Clock, Ticks, Transmitter};
use sluice_queue::{Observer, Queue, Waiting};
use sluice_random::Stream;
use sluice_wire::{Wire, WireTally};

use crate::{
    measures::Measures,
    packet::Held,
    router::{
        bands::{Band, Bands, Counting},
        on_wire::{OnWire, Room},
    },
    settings::{LEAST_BYTES, LinkSettings},
};

/// Receives the packets that leave or are lost.
pub trait Outlet<P>: Observer<P> {
    /// Called when a packet has left the link at `at_ns`.
    fn released(&mut self, at_ns: u64, packet: P);

    /// Called when a packet was lost on the wire behind the link, which is no decision of its queue.
    fn lost_on_wire(&mut self, packet: P);

    /// Called when the transmission of a packet begins, which has waited for `sojourn_ns`.
    #[inline]
    fn started(&mut self, _packet: &P, _sojourn_ns: u64) {}
}

/// The next tick of the AQM, or the next change of the rate.
#[derive(Clone, Copy)]
struct Tick {
    due: Ticks,
    /// Its position in the order in which ticks, changes and arrivals were announced.
    announced: u64,
}

impl Tick {
    fn order(&self) -> (Ticks, u64) {
        (self.due, self.announced)
    }
}

/// A queue and the link behind it.
pub struct Link {
    settings: LinkSettings,
    clock: Clock,
    transmitter: Transmitter,
    queue: Queue<Held, Running>,
    random: Stream,
    /// End of the transmission in progress.
    sending: Option<Ticks>,
    /// When an idle link asks the queue again, whose shaper holds packets.
    ready: Option<Ticks>,
    /// Packets that were sent or are in transmission, and when they leave the link.
    on_way: VecDeque<(Ticks, Held)>,
    /// What happens to them then.
    wire: Option<OnWire<Held>>,
    tick: Option<Tick>,
    /// The next change of the rate, if there is one.
    change: Option<Tick>,
    /// Number of ticks, changes and arrivals announced so far, and the position of the next arrival among
    /// them.
    announced: u64,
    arrival_announced: u64,
    measures: Measures,
    /// Counts by band; `None`: the discipline has none, or had others before a change.
    bands: Option<Bands>,
}

/// Observes the queue of a link.
macro_rules! counting {
    ($link:expr, $outlet:expr) => {
        &mut Counting {
            bands: $link.bands.as_mut(),
            outlet: $outlet,
        }
    };
}

impl Link {
    /// Returns an idle link with an empty queue at time 0; `random` is the AQM's random stream.
    pub fn new(settings: LinkSettings, clock: Clock, random: Stream) -> Self {
        let mut link = Self {
            transmitter: Transmitter::new(settings.rate_bps, settings.delay_ns)
                .with_service(settings.service().cloned()),
            queue: settings.queue(),
            bands: Bands::of(&settings),
            settings,
            clock,
            random,
            sending: None,
            ready: None,
            on_way: VecDeque::new(),
            wire: None,
            tick: None,
            change: None,
            announced: 1,
            arrival_announced: 0,
            measures: Measures::default(),
        };
        link.announce_tick(0);
        link.show_rate(0);
        link
    }

    /// Gives it the wire of its settings; `random` is its random stream. Without this nothing happens on it.
    pub fn with_wire(mut self, random: Stream) -> Self {
        let plan = self.settings.wire.clone();
        let room = Room::on_wire(&self.settings);
        self.wire = plan.map(|plan| OnWire::new(Wire::new(plan, random), room));
        self
    }

    /// Returns the counts of its wire; `None` if it has none.
    pub fn wire(&self) -> Option<WireTally> {
        self.wire.as_ref().map(OnWire::tally)
    }

    /// Returns its present settings.
    pub fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// Returns its rate at a time, bits/s.
    pub fn rate_bps(&self, now_ns: u64) -> u64 {
        let constant_bps = self.settings.rate_bps;
        let service = self.settings.service();
        service.map_or(constant_bps, |service| {
            service.rate_bps(now_ns, constant_bps)
        })
    }

    /// Shows the AQM the rate at a time, and notes when it changes next.
    fn show_rate(&mut self, now_ns: u64) {
        self.queue.set_rate(self.rate_bps(now_ns));
        let service = self.settings.service();
        let next_ns = service.and_then(|service| service.next_change_ns(now_ns));
        self.change = next_ns.map(|next_ns| self.announce(next_ns));
    }

    fn announce(&mut self, due_ns: u64) -> Tick {
        self.announced += 1;
        Tick {
            due: self.clock.ticks(due_ns),
            announced: self.announced,
        }
    }

    /// Goes on with other settings, rate and delay from the next packet on; [`Queue::retune`] says
    /// what stays. The wire must be the same. If its bands are others from then on, they are not counted any
    /// more.
    pub fn change(&mut self, now_ns: u64, settings: LinkSettings) {
        let service = settings.service().cloned();
        self.transmitter
            .set(settings.rate_bps, settings.delay_ns, service);
        if !self.settings.keeps_lanes(&settings) {
            self.bands = None;
        }
        let random = &mut || self.random.next_u64();
        settings.retune(now_ns, &mut self.queue, random);
        self.hasten_tick(now_ns);
        if let Some(wire) = &mut self.wire {
            wire.set_room(Room::on_wire(&settings));
        }
        self.settings = settings;
        self.show_rate(now_ns);
    }

    /// Number of packets that wait.
    pub fn packets(&self) -> usize {
        self.queue.packets()
    }

    /// Bytes of the packets that wait.
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Number of packets that wait or are on their way.
    pub fn held(&self) -> u64 {
        let on_wire = self.wire.as_ref().map_or(0, OnWire::packets);
        (self.packets() + self.on_way.len()) as u64 + on_wire
    }

    /// Returns the AQM, if there is only one.
    pub fn aqm(&self) -> Option<&Running> {
        let mut aqms = self.queue.aqms();
        aqms.next().filter(|_| aqms.next().is_none())
    }

    /// Returns what was counted up to `now_ns`, which must not be earlier than in any call before.
    pub fn measures(&mut self, now_ns: u64) -> Measures {
        self.measures.hold(now_ns, self.packets());
        let mut measures = self.measures.clone();
        measures.verdicts = *self.queue.verdicts();
        measures
    }

    /// Returns what was counted up to `now_ns` of each of its bands: lanes, tins or classes; `None` after a
    /// change to other bands.
    pub fn bands(&mut self, now_ns: u64) -> Option<Vec<Band>> {
        match &mut self.bands {
            Some(bands) => Some(bands.measures(now_ns)),
            None => Bands::of(&self.settings).is_none().then(Vec::new),
        }
    }

    /// Returns when something is due next, ns; `None` if nothing is pending.
    pub fn due_ns(&self) -> Option<u64> {
        let out = self.on_way.front().map_or(NEVER, |(out, _)| *out);
        let due = out.min(self.end()).min(self.tick_due());
        let change = self.change.map_or(NEVER, |change| change.due);
        let due = due.min(change).min(self.out_of_wire());
        (due < NEVER).then(|| self.clock.ns(due))
    }

    /// True if packets are in transmission, on their way, or held by a shaper; packets wait only then.
    pub fn is_busy(&self) -> bool {
        !self.on_way.is_empty() || self.ready.is_some() || self.out_of_wire() < NEVER
    }

    /// When the next packet comes out of the wire; `NEVER` if none is there.
    fn out_of_wire(&self) -> Ticks {
        self.wire.as_ref().and_then(OnWire::due).unwrap_or(NEVER)
    }

    /// When the transmission ends, or an idle link asks its queue again; `NEVER` if neither.
    fn end(&self) -> Ticks {
        self.sending.or(self.ready).unwrap_or(NEVER)
    }

    /// Processes everything that is due by `now_ns`.
    pub fn advance(&mut self, now_ns: u64, outlet: &mut impl Outlet<Held>) {
        self.go_on(self.clock.ticks(now_ns + 1), 0, outlet);
    }

    /// Takes a packet; times must not decrease. Everything that is due before is processed first.
    pub fn arrive(&mut self, now_ns: u64, packet: Held, outlet: &mut impl Outlet<Held>) -> Verdict {
        let now = self.clock.ticks(now_ns);
        self.go_on(now, self.arrival_announced, outlet);
        self.announced += 1;
        self.arrival_announced = self.announced;
        self.measures.hold(now_ns, self.packets());
        self.measures.arrivals += 1;
        self.measures.arrived_bytes += u64::from(packet.bytes);
        let random = &mut || self.random.next_u64();
        let verdict = self
            .queue
            .arrive(now_ns, packet, random, counting!(self, outlet));
        if packet.ack.is_some()
            && let Some(place) = self.queue.needless_ack(|packet| packet.ack)
        {
            (self.queue).remove_ack(now_ns, place, counting!(self, outlet));
        }
        if self.sending.is_none() {
            self.start_transmission(now, outlet);
        }
        verdict
    }

    /// Removes and returns all packets that it holds: first those on the wire and on the link, then
    /// those in the queue.
    pub fn drain(&mut self, now_ns: u64) -> Vec<Held> {
        self.measures.hold(now_ns, self.packets());
        if let Some(bands) = &mut self.bands {
            bands.empty(now_ns);
        }
        let mut held: Vec<Held> = Vec::new();
        while self.out_of_wire() < NEVER {
            held.extend(self.wire.as_mut().map(OnWire::leave));
        }
        held.extend(self.on_way.drain(..).map(|(_, packet)| packet));
        let random = &mut || self.random.next_u64();
        let mut dropped = Vec::new();
        let observer = &mut |packet, _| dropped.push(packet);
        let mut at_ns = Some(now_ns);
        while let Some(now_ns) = at_ns {
            while let Some(waiting) = self.queue.depart(now_ns, random, observer) {
                held.push(waiting.packet);
            }
            at_ns = self.queue.ready_ns();
        }
        held.append(&mut dropped);
        held
    }

    fn tick_due(&self) -> Ticks {
        self.tick.as_ref().map_or(NEVER, |tick| tick.due)
    }

    fn announce_tick(&mut self, now_ns: u64) {
        let interval_ns = self.queue.tick_interval_ns();
        self.tick = interval_ns.map(|interval_ns| self.announce(now_ns + interval_ns));
    }

    /// The next tick is due an interval from now, or earlier if it already was.
    fn hasten_tick(&mut self, now_ns: u64) {
        let before = self.tick;
        self.announce_tick(now_ns);
        if let (Some(before), Some(after)) = (before, self.tick)
            && before.due <= after.due
        {
            self.tick = Some(before);
        }
    }

    /// Processes everything before `until`. At the same time ticks and changes come before the ends of
    /// transmissions, and an arrival comes before what was announced after it, as in the network
    /// world.
    fn go_on(&mut self, until: Ticks, announced: u64, outlet: &mut impl Outlet<Held>) {
        loop {
            let end = self.end();
            let next = [self.tick, self.change].into_iter().flatten();
            if let Some(next) = next.min_by_key(Tick::order)
                && next.due <= end
                && next.order() < (until, announced)
            {
                let now_ns = self.clock.ns(next.due);
                if self.tick.is_some_and(|tick| tick.order() == next.order()) {
                    self.queue.tick(now_ns, counting!(self, outlet));
                    self.announce_tick(now_ns);
                } else {
                    self.show_rate(now_ns);
                }
            } else if end < until {
                self.sending = None;
                self.start_transmission(end, outlet);
            } else {
                break;
            }
        }
        while let Some((out, packet)) = self.on_way.front().copied()
            && out < until
        {
            // what comes out at the same time makes room first
            self.leave_wire(out + 1, outlet);
            self.on_way.pop_front();
            match &mut self.wire {
                None => outlet.released(self.clock.ns(out), packet),
                Some(wire) => {
                    if !wire.enter(self.clock, out, packet) {
                        outlet.lost_on_wire(packet);
                    }
                }
            }
        }
        self.leave_wire(until, outlet);
    }

    /// Lets out what comes out of the wire before `until`.
    fn leave_wire(&mut self, until: Ticks, outlet: &mut impl Outlet<Held>) {
        let Some(wire) = &mut self.wire else { return };
        while let Some(due) = wire.due()
            && due < until
        {
            outlet.released(self.clock.ns(due), wire.leave());
        }
    }

    fn start_transmission(&mut self, now: Ticks, outlet: &mut impl Outlet<Held>) {
        let now_ns = self.clock.ns(now);
        self.measures.hold(now_ns, self.packets());
        let random = &mut || self.random.next_u64();
        let next = self.queue.depart(now_ns, random, counting!(self, outlet));
        self.ready = (self.queue.ready_ns()).map(|ready_ns| self.clock.ticks(ready_ns));
        let Some(Waiting { packet, since_ns }) = next else {
            return;
        };
        let bytes = packet.bytes.saturating_add(self.settings.overhead_bytes);
        let out = self.transmitter.send(self.clock, now, bytes);
        let end = self.transmitter.free();
        self.sending = Some(end);
        // if the delay was reduced, packets still do not overtake each other
        let last = self.on_way.back().map_or(0, |(out, _)| *out);
        self.on_way.push_back((out.max(last), packet));
        outlet.started(&packet, now_ns - since_ns);
        let times_ns = (now_ns - since_ns, self.clock.ns(end) - since_ns);
        self.measures.send(packet.bytes, times_ns);
        if let Some(bands) = &mut self.bands {
            bands.send(self.queue.served(), packet.bytes, times_ns);
        }
    }
}

/// Returns how many packets a link can hold: those that wait, one in transmission, one that
/// arrives, those on their way, and those on its wire, all of the least length.
pub fn held(link: &LinkSettings) -> u64 {
    let waiting = u64::from(link.buffer.limit);
    let in_bytes = link.buffer.limit_bytes.unwrap_or(u64::MAX) / LEAST_BYTES + 1;
    waiting.min(in_bytes) + 2 + Room::on_link(link).packets + Room::on_wire(link).packets
}
