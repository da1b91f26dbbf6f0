//! The queue before a link in a run, with its counts.

use rand::Rng;
use sluice_aqm::{AnyAqm, Aqm, NEVER, Verdict};
use sluice_link::{Service, Ticks};
use sluice_queue::{Event as QueueEvent, Observer, Queue, Waiting};
use sluice_random::Stream;

use crate::{
    bands::{BandTallies, Bands},
    classes::{Classes, ClassesHeld},
    early_acks::Receivers,
    links::Links,
    observation::PortState,
    packet::{Kind, Packet},
    series::PortSeries,
    slab::Aside,
    tally::{Tally, hold, lost},
    topology,
    tournament::Tournament,
    trace::{Event, Step, Trace, noting},
    transit::Transit,
};

/// A queue before a link, the random words for its AQM, and its counts.
pub struct Port {
    site: Site,
    queue: Queue<Transit, AnyAqm>,
    random: Stream,
    /// True while the link sends a packet.
    busy: bool,
    /// When the link looks for a packet next: at the end of a transmission, or when a shaper lets a
    /// packet go; [`NEVER`] if no packet waits.
    next: Ticks,
    /// When the port's event is due.
    event_due: Ticks,
    /// The link's rate if it is constant, how it sends if it varies, and what its rate is now.
    constant_bps: u64,
    service: Option<Service>,
    rate_bps: u64,
    /// When the AQMs get their next tick; [`NEVER`] if they get none.
    pub tick_ns: u64,
    /// Time up to which the queue's length and the link's idle time are counted.
    counted_ns: u64,
    /// Counts from before the present tally.
    earlier: Earlier,
    tally: Tally,
    held: ClassesHeld,
    /// Number of classes; `None` if flows are not counted by class.
    classes: Option<usize>,
    /// Counts by band, where flows are counted by class and the discipline has bands.
    bands: Option<Bands>,
    pub series: PortSeries,
}

/// Where a port is.
#[derive(Clone, Copy)]
pub struct Site {
    /// Its number.
    pub port: usize,
    /// Number of its link in the topology, and of the link's event.
    pub link: usize,
    pub link_event: usize,
    /// Number of the port's event.
    pub event: usize,
    /// How long after its time a transmission may be begun: less than its packet needs to come out
    /// of the link.
    pub slack: Ticks,
}

/// What a port needs of the network around it.
pub struct Around<'a, T> {
    pub links: &'a mut Links,
    pub receivers: &'a mut Receivers,
    pub aside: &'a mut Aside,
    pub classes: &'a Classes,
    pub trace: &'a mut T,
}

/// A port's counts from the start of the run to the start of its present tally.
#[derive(Default)]
struct Earlier {
    arrivals: u64,
    sent: u64,
    sent_bytes: u64,
    sojourn_ns: u128,
    verdicts: [u64; Verdict::COUNT],
}

/// An observer of a port's queue at one moment.
macro_rules! watch {
    ($port:ident, $around:ident, $now_ns:ident) => {
        &mut Watch::<T, BY_CLASS> {
            site: $port.site,
            aside: $around.aside,
            trace: $around.trace,
            classes: $around.classes,
            now_ns: $now_ns,
            tally: &mut $port.tally,
            held: &mut $port.held,
            bands: $port.bands.as_mut(),
        }
    };
}

impl Port {
    /// An empty port before a link that is idle. `classes` as in [`Tally::new`].
    pub fn new(
        site: Site,
        plan: &topology::PortPlan,
        link: &topology::Link,
        random: Stream,
        classes: Option<usize>,
    ) -> Self {
        let bands = classes.and_then(|_| plan.bands());
        let bands = bands.map(|(bands, lanes)| Bands::new(bands, lanes));
        Self {
            site,
            queue: Queue::new(
                plan.discipline,
                plan.scheduler.as_ref(),
                |lane| plan.aqm.start(lane),
                link.rate_bps,
            ),
            constant_bps: link.rate_bps,
            service: link.service.clone(),
            rate_bps: link.rate_bps,
            random,
            busy: false,
            next: NEVER,
            event_due: NEVER,
            tick_ns: NEVER,
            counted_ns: 0,
            earlier: Earlier::default(),
            tally: Tally::new(classes, bands.as_ref().map_or(0, Bands::count)),
            bands,
            held: ClassesHeld::new(classes),
            classes,
            series: PortSeries::default(),
        }
    }

    /// Returns where it is.
    pub fn site(&self) -> Site {
        self.site
    }

    /// Counts the time up to `now_ns` with the present length and state. Must be called before
    /// either changes.
    #[inline]
    fn count(&mut self, now_ns: u64) {
        let ns = now_ns - self.counted_ns;
        hold(&mut self.tally.queue_ns, self.queue.packets(), ns);
        if !self.busy {
            self.tally.idle_ns += ns;
        }
        self.counted_ns = now_ns;
    }

    /// Takes a packet that arrives at `now`; the port has caught up.
    #[inline]
    pub fn arrive<T: Trace, const BY_CLASS: bool>(
        &mut self,
        now: Ticks,
        transit: Transit,
        around: &mut Around<T>,
    ) {
        let now_ns = around.links.clock.ns(now);
        if T::ON {
            around.noting(now, transit)(now, Step::Arrive, self.site.link);
        }
        self.count(now_ns);
        let packet = transit.packet();
        let class = class_of::<BY_CLASS>(around.classes, &packet);
        self.tally.cell(class, &packet).arrivals += 1;
        if BY_CLASS {
            self.held.change(&mut self.tally.classes, class, now_ns, 1);
        }
        let random = &mut self.random;
        let verdict = self.queue.arrive(
            now_ns,
            transit,
            &mut || random.next_u64(),
            watch!(self, around, now_ns),
        );
        if packet.kind == Kind::Ack {
            self.filter_acks::<T, BY_CLASS>(now_ns, around);
        }
        // losses are counted where the packets are known that are lost
        if BY_CLASS && !verdict.is_drop() {
            self.tally.cell(class, &packet).verdicts[verdict as usize] += 1;
        }
        if !self.busy {
            self.next = now;
            self.catch_up::<T, BY_CLASS>(now + 1, around);
            self.wait(&mut around.links.events);
        }
    }

    /// Removes an ACK that the last arrival, if it joined the queue, makes needless. So does one for
    /// which another packet made room.
    #[inline(never)]
    fn filter_acks<T: Trace, const BY_CLASS: bool>(&mut self, now_ns: u64, around: &mut Around<T>) {
        let found = self.queue.needless_ack(|transit| {
            let packet = transit.packet();
            packet.ack_facts(&around.aside.options(&packet))
        });
        if let Some(place) = found {
            self.queue
                .remove_ack(now_ns, place, watch!(self, around, now_ns));
        }
    }

    /// True if the link does something before `until` that is not handled yet.
    #[inline]
    pub fn lags(&self, until: Ticks) -> bool {
        self.next < until
    }

    /// Handles all that the link does before `until`.
    #[inline(never)]
    pub fn catch_up<T: Trace, const BY_CLASS: bool>(
        &mut self,
        until: Ticks,
        around: &mut Around<T>,
    ) {
        while self.next < until {
            let now_ns = around.links.clock.ns(self.next);
            self.count(now_ns);
            self.transmit::<T, BY_CLASS>(self.next, now_ns, around);
        }
    }

    /// Begins the next transmission, if a packet waits.
    #[inline(always)]
    fn transmit<T: Trace, const BY_CLASS: bool>(
        &mut self,
        now: Ticks,
        now_ns: u64,
        around: &mut Around<T>,
    ) {
        let random = &mut self.random;
        let marks = self.queue.verdicts()[Verdict::Mark as usize];
        let next = self.queue.depart(
            now_ns,
            &mut || random.next_u64(),
            watch!(self, around, now_ns),
        );
        let Some(Waiting {
            packet: transit,
            since_ns,
        }) = next
        else {
            let ready_ns = self.queue.ready_ns();
            self.next = ready_ns.map_or(NEVER, |ready_ns| around.links.clock.ticks(ready_ns));
            self.busy = false;
            return;
        };
        let packet = transit.packet();
        let class = class_of::<BY_CLASS>(around.classes, &packet);
        if BY_CLASS {
            self.held.change(&mut self.tally.classes, class, now_ns, -1);
            let marked = self.queue.verdicts()[Verdict::Mark as usize] - marks;
            self.tally.cell(class, &packet).verdicts[Verdict::Mark as usize] += marked;
        }
        let Site { link_event, .. } = self.site;
        if around.carry(now, link_event, transit)
            && let Some(next) = self.queue.head()
        {
            around.receivers.fetch(&next.packet.packet());
        }
        let end = around.links.free(link_event);
        (self.busy, self.next) = (true, end);
        let delay_ns = around.links.clock.ns(end) - since_ns;
        let sojourn_ns = now_ns - since_ns;
        self.tally
            .send::<BY_CLASS>(class, sojourn_ns, delay_ns, &packet);
        if BY_CLASS && let Some(bands) = &mut self.bands {
            let times_ns = (sojourn_ns, delay_ns);
            bands.send(
                &mut self.tally.bands,
                self.queue.served(),
                times_ns,
                &packet,
            );
        }
    }

    /// Sets the port's event if it must be earlier. One that is too early does no harm: it is set
    /// again when it is due.
    #[inline]
    fn wait(&mut self, events: &mut Tournament) {
        let due = self.next.saturating_add(self.site.slack);
        if due < self.event_due {
            self.event_due = due;
            events.set(self.site.event, due);
        }
    }

    /// Sets the port's event, which was due, again.
    pub fn wait_again(&mut self, events: &mut Tournament) {
        self.event_due = self.next.saturating_add(self.site.slack);
        events.set(self.site.event, self.event_due);
    }

    /// Ticks the AQMs.
    pub fn tick<T: Trace, const BY_CLASS: bool>(&mut self, now_ns: u64, around: &mut Around<T>) {
        self.queue.tick(now_ns, watch!(self, around, now_ns));
        self.tick_ns = NEVER;
    }

    /// Goes on under another discipline; see [`Queue::retune`]. Bands may be others from then on, and are
    /// no longer counted.
    pub fn retune(&mut self, now_ns: u64, to: &topology::PortPlan) {
        self.bands = None;
        self.tally.bands = BandTallies::default();
        let random = &mut self.random;
        self.queue.retune(
            now_ns,
            (to.discipline, to.scheduler.as_ref()),
            |lane, aqm| aqm.retune(lane, &to.aqm),
            |lane| to.aqm.start(lane),
            &mut || random.next_u64(),
        );
    }

    /// Sets another constant rate of the link.
    pub fn set_rate(&mut self, rate_bps: u64) {
        (self.constant_bps, self.rate_bps) = (rate_bps, rate_bps);
        self.queue.set_rate(rate_bps);
    }

    /// Returns when the AQMs get their next tick, ns, if it is not yet in the agenda. It is due an
    /// interval from now, or earlier if it already was.
    pub fn next_tick_ns(&mut self, now_ns: u64) -> Option<u64> {
        let interval_ns = self.queue.tick_interval_ns();
        let earliest = interval_ns.map_or(NEVER, |interval_ns| now_ns + interval_ns);
        let is_new = earliest < self.tick_ns;
        if is_new || interval_ns.is_none() {
            self.tick_ns = earliest;
        }
        is_new.then_some(earliest)
    }

    /// Shows the AQMs the link's rate at `now_ns`, and returns when it changes next, if it does.
    pub fn show_rate(&mut self, now_ns: u64) -> Option<u64> {
        let service = self.service.as_ref()?;
        self.rate_bps = service.rate_bps(now_ns, self.constant_bps);
        self.queue.set_rate(self.rate_bps);
        service.next_change_ns(now_ns)
    }

    /// Takes a sample.
    pub fn sample(&mut self) {
        let series = &mut self.series;
        if self.service.is_some() {
            series.rate_bps.push(self.rate_bps);
        }
        series.queue.push(self.queue.packets() as u32);
        series
            .arrivals
            .push(self.earlier.arrivals + self.tally.arrivals_so_far());
        series.losses.push(lost(self.queue.verdicts()));
        series
            .sent_bytes
            .push(self.earlier.sent_bytes + self.tally.sent_bytes_so_far());
        let mut aqms = self.queue.aqms();
        if let (Some(aqm), None) = (aqms.next(), aqms.next()) {
            series.average.extend(aqm.average());
            series.probability.extend(aqm.probability());
        }
        series.probability.extend(self.queue.coupled_probability());
        if let Some(bands) = &self.bands {
            bands.sample(&mut series.bands);
        }
    }

    /// Returns what can be seen of it now.
    pub fn observe(&self) -> PortState {
        PortState {
            link: self.site.link,
            queue: self.queue.state(),
            in_service: self.busy,
            rate_bps: self.rate_bps,
            arrivals: self.earlier.arrivals + self.tally.arrivals_so_far(),
            sent: self.earlier.sent + self.tally.sent_so_far(),
            sent_bytes: self.earlier.sent_bytes + self.tally.sent_bytes_so_far(),
            sojourn_ns: self.earlier.sojourn_ns + self.tally.sojourn.sum(),
        }
    }

    /// Returns the counts since the last call.
    pub fn take_tally(&mut self, now_ns: u64) -> Tally {
        self.count(now_ns);
        self.held.count(&mut self.tally.classes, now_ns);
        if let Some(bands) = &mut self.bands {
            bands.count_time(&mut self.tally.bands, now_ns);
        }
        let bands = self.bands.as_ref().map_or(0, Bands::count);
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(self.classes, bands));
        let all = *self.queue.verdicts();
        let earlier = &self.earlier.verdicts;
        tally.close(std::array::from_fn(|verdict| {
            all[verdict] - earlier[verdict]
        }));
        self.earlier = Earlier {
            arrivals: self.earlier.arrivals + tally.arrivals,
            sent: self.earlier.sent + tally.sent,
            sent_bytes: self.earlier.sent_bytes + tally.sent_bytes,
            sojourn_ns: self.earlier.sojourn_ns + tally.sojourn.sum(),
            verdicts: all,
        };
        tally
    }
}

impl<T: Trace> Around<'_, T> {
    /// Returns a function that notes a packet's steps, known at `now`.
    fn noting(&mut self, now: Ticks, transit: Transit) -> impl FnMut(Ticks, Step, usize) {
        noting(self.links.clock, self.trace, self.aside, now, transit)
    }

    /// Sends a packet over a link, and those that follow on. Returns true if it is
    /// acknowledged at their end, ahead of time.
    #[inline(always)]
    fn carry(&mut self, now: Ticks, link_event: usize, transit: Transit) -> bool {
        let note = noting(self.links.clock, self.trace, self.aside, now, transit);
        let (packed, link) = (transit.packed(), link_event as u32);
        let at_receiver = (self.links).carry::<T, true>(now, link, packed, transit.place, note);
        if let Some(at) = at_receiver {
            (self.receivers).acknowledge(at, packed, self.links, self.aside);
        }
        at_receiver.is_some()
    }
}

/// Returns the class of a packet; 0 if flows are not counted by class.
#[inline(always)]
fn class_of<const BY_CLASS: bool>(classes: &Classes, packet: &Packet) -> usize {
    if BY_CLASS { classes.of(packet) } else { 0 }
}

/// Observes the queue of a port at one moment.
struct Watch<'a, T, const BY_CLASS: bool> {
    site: Site,
    aside: &'a mut Aside,
    trace: &'a mut T,
    classes: &'a Classes,
    now_ns: u64,
    /// The port's counts.
    tally: &'a mut Tally,
    held: &'a mut ClassesHeld,
    bands: Option<&'a mut Bands>,
}

impl<T: Trace, const BY_CLASS: bool> Observer<Transit> for Watch<'_, T, BY_CLASS> {
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
                link: self.site.link,
                id: transit.place.id(),
                packet,
                blocks: self.aside.options(&packet).blocks,
            };
            self.trace.note(self.now_ns, event);
        }
        self.aside.forget(&packet);
    }

    #[inline]
    fn note(&mut self, now_ns: u64, queue: usize, event: QueueEvent<'_>) {
        if BY_CLASS && let Some(bands) = &mut self.bands {
            bands.note(&mut self.tally.bands, now_ns, queue, &event);
        }
        if T::ON {
            self.trace.decide(now_ns, self.site.port, queue, event);
        }
    }
}
