//! The event loop of one replication: endpoints, network and agenda.

mod calls;

use std::sync::Arc;

use sluice_link::{Clock, Instant, Ticks};
use sluice_tcp::{Ack, Segment};

use crate::{
    agenda::{Agenda, Task},
    ahead::{prefetch, prefetch_entry},
    early_acks::EarlyAcks,
    endpoints::Endpoints,
    error::NetworkError,
    network::Network,
    observation::Observation,
    packet::{Kind, Packet},
    plan::Plan,
    reception::Receptions,
    routes::Routes,
    run::{ClassCounts, Counts, Monitor, Period, Replication},
    series::FlowSeries,
    sources::Supply,
    topology,
    trace::Trace,
};

/// How often the smoothed round trips of TCP are counted, as by `iperf3`.
const ROUND_TRIPS_NS: u64 = 1_000_000_000;

/// `BY_CLASS`: whether flows are counted by class. Those who do not ask for it pay nothing.
pub struct World<T, const BY_CLASS: bool> {
    plan: Arc<Plan>,
    network: Network<T, BY_CLASS>,
    ends: Endpoints,
    agenda: Agenda,
    /// Due time of the agenda's first task.
    task_due: Ticks,
    reported_ns: u64,
    receptions: Receptions,
    /// Counts of each class since the start of the run, at the end of the last period, and the
    /// bytes acknowledged.
    classes_before: Vec<(Counts, u64)>,
    finished: Vec<Period>,
    series: FlowSeries,
}

impl<T: Trace, const BY_CLASS: bool> World<T, BY_CLASS> {
    /// A replication before its start.
    ///
    /// # Errors
    /// If too many flows arrive.
    pub fn new(
        plan: &Arc<Plan>,
        (routes, clock): (Routes, Clock),
        early: &EarlyAcks,
        replication: u32,
        mut trace: T,
    ) -> Result<Self, NetworkError> {
        let streams = (plan.seed, u64::from(replication));
        let mut agenda = Agenda::new();
        let mut ends = Endpoints::new(plan, &routes, streams.1, clock, &mut agenda)?;
        trace.begin(&ends.tcp_groups, &ends.datagram_groups);
        let on_the_way = (routes, ends.classes.clone());
        let receivers = (early, &mut ends);
        let mut network =
            Network::new(&plan.topology, on_the_way, receivers, clock, streams, trace);
        for port in 0..network.ports() {
            if let Some(next_ns) = network.next_tick_ns(0, port) {
                agenda.add(clock.ticks(next_ns), Task::Tick(port as u32));
            }
        }
        for port in 0..network.ports() {
            if let Some(next_ns) = network.show_rate(clock.at(0), port) {
                agenda.add(clock.ticks(next_ns), Task::Rate(port as u32));
            }
        }
        agenda.add(0, Task::Sample);
        if BY_CLASS {
            agenda.add(clock.ticks(ROUND_TRIPS_NS), Task::RoundTrips);
        }
        if plan.warm_up_ns > 0 {
            agenda.add(clock.ticks(plan.warm_up_ns), Task::WarmedUp);
        }
        Ok(Self {
            plan: plan.clone(),
            network,
            receptions: Receptions::new(&ends.classes),
            classes_before: vec![Default::default(); ends.classes.count.unwrap_or(0)],
            ends,
            task_due: agenda.due(),
            agenda,
            reported_ns: 0,
            finished: Vec::new(),
            series: FlowSeries::default(),
        })
    }

    /// Does all that comes before `until_ns`, in the same order whatever the times of the calls.
    /// Returns false if the run was cancelled meanwhile; it can then go on.
    ///
    /// # Errors
    /// If too many packets are in transit.
    pub fn advance(&mut self, until_ns: u64, monitor: &Monitor) -> Result<bool, NetworkError> {
        let clock = self.network.clock();
        let until = clock.ticks(until_ns);
        loop {
            let (event_due, event) = self.network.first();
            if self.task_due <= event_due {
                if self.task_due >= until {
                    break;
                }
                self.work(clock.at(self.task_due), monitor);
                if monitor.is_cancelled() {
                    return Ok(false);
                }
                if let Some(link) = self.network.overfull() {
                    return Err(self.plan.topology.overfull(link));
                }
            } else if event_due >= until {
                break;
            } else if let Some(packet) = self.network.step(event_due, event) {
                self.fetch_ahead(event);
                self.deliver(clock.at(event_due), packet);
            }
        }
        self.network.catch_up(until);
        Ok(true)
    }

    /// Returns the result of a run that has come to its end.
    pub fn end(mut self, monitor: &Monitor) -> Replication {
        let end_ns = self.plan.duration_ns;
        monitor.add(end_ns - self.reported_ns);
        let clock = self.network.clock();
        self.finish(clock.at(clock.ticks(end_ns)));
        Replication {
            periods: self.finished,
            // before the flows' outcomes: this frees the network's memory
            ports: self.network.into_series(),
            tcp: self.ends.tcp_outcomes(),
            datagrams: self.ends.datagram_outcomes(),
            flows: self.series,
        }
    }

    /// Puts the queue of a port under another discipline at `now_ns`, the time of the last `advance`.
    pub fn retune(&mut self, now_ns: u64, port: usize, to: &topology::PortPlan) {
        self.network.retune(now_ns, port, to);
        if let Some(next_ns) = self.network.next_tick_ns(now_ns, port) {
            self.enter_at(next_ns, Task::Tick(port as u32));
        }
    }

    /// Sets another constant rate of the link behind a port.
    pub fn set_rate(&mut self, port: usize, rate_bps: u64, delay_ns: u64) {
        self.network.set_rate(port, rate_bps, delay_ns);
    }

    /// Returns what can be seen at `now_ns`, the time of the last `advance`.
    pub fn observe(&self, now_ns: u64) -> Observation {
        Observation {
            now_ns,
            ports: self.network.observe(),
            groups: self.ends.observe(&self.plan.groups, now_ns),
        }
    }

    /// Delivers a packet at the end of its route.
    #[inline]
    fn deliver(&mut self, now: Instant, packet: Packet) {
        if let Some((class, sent_ns)) = self.network.account(&packet) {
            self.receptions.count(class, &packet, now.ns, sent_ns);
        }
        match packet.kind {
            Kind::Data => self.receive(now, packet),
            Kind::Ack => self.acknowledge(now, packet),
            Kind::Datagram => self.receive_datagram(now, &packet),
            Kind::Feedback => self.learn_of_video(now, &packet),
        }
    }

    /// Prefetches the flow of a packet that will soon come out of this link: with many flows it is
    /// in no cache.
    #[inline]
    fn fetch_ahead(&self, link: usize) {
        if self.ends.senders.len() <= IN_CACHE {
            return;
        }
        if let Some(packet) = self.network.on_way(link, AHEAD) {
            match packet.kind {
                Kind::Data => prefetch_entry(&self.ends.receivers, packet.flow as usize),
                Kind::Ack => prefetch(&self.ends.senders[packet.flow as usize]),
                Kind::Datagram | Kind::Feedback => {}
            }
        }
        if let Some(packet) = self.network.on_way(link, 0)
            && packet.kind == Kind::Ack
            && let Some(pacer) = self.ends.senders[packet.flow as usize]
                .endpoint
                .pacer_apart()
        {
            prefetch(pacer);
        }
    }

    #[inline]
    fn receive_datagram(&mut self, now: Instant, packet: &Packet) {
        let flow = &mut self.ends.datagrams[packet.flow as usize];
        flow.received += 1;
        if let Some(number) = flow.call {
            self.show_video(now, number, packet);
        }
    }

    #[inline(never)]
    fn receive(&mut self, now: Instant, packet: Packet) {
        let receiver = &mut self.ends.receivers[packet.flow as usize];
        let kind = &self.ends.kinds[receiver.kind as usize];
        let (network, route) = (&mut self.network, receiver.route);
        let mut answer = move |ack: Ack| {
            let kept = &mut network.aside.options;
            let reply = Packet::ack(
                packet.flow,
                kind.bytes_of(&ack),
                &ack,
                kind.traffic_class,
                kept,
            );
            network.send(now.ticks, route, reply.with_syn(packet.is_syn()));
        };
        receiver
            .endpoint
            .on_segment(&kind.config, now.ns, &packet.segment(), &mut answer);
        if receiver.endpoint.deadline().is_some() {
            self.arm_receiver(now, packet.flow);
        }
    }

    #[inline]
    fn acknowledge(&mut self, now: Instant, packet: Packet) {
        if BY_CLASS {
            let class = usize::from(self.ends.classes.tcp()[packet.flow as usize]);
            self.receptions.acknowledge(class, &packet, now.ns);
        }
        let ack = packet.acknowledgement(&mut self.network.aside.options);
        self.drive_inlined(now, packet.flow, Stimulus::Ack(ack));
    }

    /// Passes a stimulus to a sender, sends its packets, and updates its timer.
    #[inline(never)]
    fn drive(&mut self, now: Instant, flow: u32, stimulus: Stimulus) {
        self.drive_inlined(now, flow, stimulus);
    }

    // inlined for ACKs, the most frequent stimulus, so that an ACK is not copied
    #[inline(always)]
    fn drive_inlined(&mut self, now: Instant, flow: u32, stimulus: Stimulus) {
        let sender = &mut self.ends.senders[flow as usize];
        let kind = &self.ends.kinds[sender.kind as usize];
        let (config, network, route) = (&kind.config, &mut self.network, sender.route);
        let (markers, groups) = (&mut self.ends.markers, &self.ends.tcp_groups);
        let mut send = move |segment: Segment| {
            let bytes = if segment.syn {
                network.aside.syns = network.aside.syns.wrapping_add(1);
                kind.ack_bytes
            } else {
                kind.packet_bytes
            };
            let mut packet = Packet::data(flow, bytes, segment, kind.traffic_class);
            markers.mark(groups, now.ns, &mut packet);
            network.send(now.ticks, route, packet);
        };
        match stimulus {
            Stimulus::Start => sender.endpoint.start(config, now.ns, &mut send),
            Stimulus::Ack(ack) => {
                let before = sender.acknowledged(config);
                sender.endpoint.on_ack(config, now.ns, &ack, &mut send);
                self.ends.acknowledged += u64::from(sender.acknowledged(config) - before);
            }
            Stimulus::Timer => sender.endpoint.on_timer(config, now.ns, &mut send),
            Stimulus::Release => sender.endpoint.on_release(config, now.ns, &mut send),
            // what an application gave by then waits in its socket, and is sent
            Stimulus::Stop if self.ends.applications.has(flow) => {}
            Stimulus::Stop => sender.endpoint.stop(),
            Stimulus::More(supply) => {
                let (endpoint, packets) = (&mut sender.endpoint, supply.packets);
                match supply.idle_ns {
                    Some(idle_ns) => endpoint.resume(config, now.ns, packets, idle_ns, &mut send),
                    None => endpoint.write(config, now.ns, packets, &mut send),
                }
            }
        }
        let clock = self.network.clock();
        let (deadline, waits) = (sender.endpoint.deadline(), sender.endpoint.waits_anew());
        if let Some(due) = sender.timer.follow(clock, now, deadline) {
            self.enter(due, Task::SenderTimer(flow));
        } else if deadline.is_none()
            && let Some((due_ns, flows)) = self.ends.note_end(flow, now.ns)
        {
            flows.for_each(|each| self.enter_at(due_ns, Task::Supply(each)));
        }
        if waits {
            self.arm_release(flow);
        }
    }

    #[cold]
    fn arm_release(&mut self, flow: u32) {
        let sender = &mut self.ends.senders[flow as usize].endpoint;
        if let Some(release_ns) = sender.take_release() {
            self.enter_at(release_ns, Task::Release(flow));
        }
    }

    #[inline(never)]
    fn arm_receiver(&mut self, now: Instant, flow: u32) {
        let deadline = self.ends.receivers[flow as usize].endpoint.deadline();
        let timer = self.ends.receiver_timer(flow);
        if let Some(due) = timer.follow(self.network.clock(), now, deadline) {
            self.enter(due, Task::ReceiverTimer(flow));
        }
    }

    fn enter(&mut self, due: Ticks, task: Task) {
        self.agenda.add(due, task);
        self.task_due = self.task_due.min(due);
    }

    fn enter_at(&mut self, due_ns: u64, task: Task) {
        self.enter(self.network.clock().ticks(due_ns), task);
    }

    /// Handles the agenda's first task.
    fn work(&mut self, now: Instant, monitor: &Monitor) {
        let task = self.agenda.pop().expect("a task is due");
        self.task_due = self.agenda.due();
        self.fetch_for_timers();
        match task {
            Task::Start(flow) => self.drive(now, flow, Stimulus::Start),
            Task::Stop(flow) => self.drive(now, flow, Stimulus::Stop),
            Task::Supply(flow) => {
                let supply = self.ends.applications.supply(flow, now.ns);
                if let Some(again_ns) = supply.again_ns {
                    self.enter_at(again_ns, task);
                }
                self.drive(now, flow, Stimulus::More(supply));
            }
            Task::SenderTimer(flow) => {
                let timer = &mut self.ends.senders[flow as usize].timer;
                if let Some(now) = timer.comes_up(now) {
                    self.drive(now, flow, Stimulus::Timer);
                }
            }
            Task::Release(flow) => self.drive(now, flow, Stimulus::Release),
            Task::ReceiverTimer(flow) => self.receiver_timer(now, flow),
            Task::Datagram(number) => self.send_datagram(now, number),
            Task::Frame(number) => self.make_frame(now, number),
            Task::CallSends(number) => self.call_may_send(now, number),
            Task::CallAnswers(number) => self.call_may_answer(now, number),
            Task::Tick(port) => {
                if let Some(next_ns) = self.network.tick(now, port as usize) {
                    self.enter_at(next_ns, task);
                }
            }
            Task::Rate(port) => {
                if let Some(next_ns) = self.network.show_rate(now, port as usize) {
                    self.enter_at(next_ns, task);
                }
            }
            Task::Sample => {
                self.sample(now);
                monitor.add(now.ns - self.reported_ns);
                self.reported_ns = now.ns;
                self.enter_at(now.ns + self.plan.sample_ns, task);
            }
            Task::RoundTrips => {
                let count = |class, ns| self.receptions.count_smoothed(class, ns);
                self.ends.smoothed_round_trips(now.ns, count);
                self.enter_at(now.ns + ROUND_TRIPS_NS, task);
            }
            Task::WarmedUp => self.finish(now),
        }
    }

    /// Prefetches the senders whose timers are due soon, and the pacing of those that pace.
    #[inline]
    fn fetch_for_timers(&self) {
        if self.ends.senders.len() <= IN_CACHE {
            return;
        }
        let sender = |ahead| match self.agenda.soon(ahead)? {
            Task::SenderTimer(flow) | Task::Release(flow) => {
                Some(&self.ends.senders[flow as usize])
            }
            _ => None,
        };
        if let Some(later) = sender(2 * AHEAD as usize) {
            prefetch(later);
        }
        if let Some(soon) = sender(AHEAD as usize)
            && let Some(pacer) = soon.endpoint.pacer_apart()
        {
            prefetch(pacer);
        }
    }

    fn sample(&mut self, now: Instant) {
        self.network.sample(now.ticks);
        self.series.acknowledged.push(self.ends.acknowledged);
        if self.plan.windows {
            self.series.window.push(self.ends.mean_window(now.ns));
        }
    }

    fn receiver_timer(&mut self, now: Instant, flow: u32) {
        let Some(now) = self.ends.receiver_timer(flow).comes_up(now) else {
            return;
        };
        let receiver = &mut self.ends.receivers[flow as usize];
        let kind = &self.ends.kinds[receiver.kind as usize];
        if let Some(ack) = receiver.endpoint.on_timer(&kind.config, now.ns) {
            let bytes = kind.bytes_of(&ack);
            let kept = &mut self.network.aside.options;
            let reply = Packet::ack(flow, bytes, &ack, kind.traffic_class, kept);
            self.network.send(now.ticks, receiver.route, reply);
        }
        if receiver.endpoint.deadline().is_some() {
            self.arm_receiver(now, flow);
        }
    }

    fn send_datagram(&mut self, now: Instant, number: u32) {
        let sender = &mut self.ends.datagram_senders[number as usize];
        let (datagram, next_ns) = sender.source.send(now.ns);
        let (route, flow) = (sender.route, sender.first + datagram.flow);
        let at = &mut self.ends.datagrams[flow as usize];
        let sequence = at.sent as u32;
        at.sent += 1;
        at.start_ns.get_or_insert(now.ns);
        if let Some(next_ns) = next_ns {
            self.enter_at(next_ns, Task::Datagram(number));
        }
        let mut packet = Packet::datagram(flow, sequence, datagram.bytes, datagram.traffic_class);
        let groups = &self.ends.datagram_groups;
        self.ends.markers.mark(groups, now.ns, &mut packet);
        self.network.send(now.ticks, route, packet);
    }

    /// Ends a period of the run and keeps its counts.
    fn finish(&mut self, now: Instant) {
        let sum = |count: fn(&sluice_tcp::Sender) -> u32| {
            let senders = self.ends.senders.iter();
            senders
                .map(|sender| u64::from(count(&sender.endpoint)))
                .sum()
        };
        let mut counts = Counts {
            acknowledged: self.ends.acknowledged,
            retransmissions: sum(sluice_tcp::Sender::retransmissions),
            timeouts: sum(sluice_tcp::Sender::timeouts),
            datagrams_sent: self.ends.datagrams.iter().map(|flow| flow.sent).sum(),
            datagrams_received: self.ends.datagrams.iter().map(|flow| flow.received).sum(),
        };
        for earlier in &self.finished {
            counts = counts.without(&earlier.counts);
        }
        let classes = self.take_classes(now.ns);
        self.finished.push(Period {
            ports: self.network.take_tallies(now),
            wires: self.network.take_wire_tallies(),
            counts,
            classes,
        });
    }

    /// Returns the counts of each class in the period that ends.
    fn take_classes(&mut self, now_ns: u64) -> Vec<ClassCounts> {
        let ends = &self.ends;
        let mut all = vec![(Counts::default(), 0); self.classes_before.len()];
        for (sender, class) in ends.senders.iter().zip(ends.classes.tcp()) {
            let kind = &ends.kinds[sender.kind as usize];
            let acknowledged = sender.acknowledged(&kind.config);
            let (counts, bytes) = &mut all[usize::from(*class)];
            counts.add_tcp(acknowledged, &sender.endpoint);
            *bytes += u64::from(acknowledged) * u64::from(kind.packet_bytes);
        }
        for (flow, class) in ends.datagrams.iter().zip(ends.classes.datagrams()) {
            let (counts, _) = &mut all[usize::from(*class)];
            counts.datagrams_sent += flow.sent;
            counts.datagrams_received += flow.received;
        }
        let before = std::mem::replace(&mut self.classes_before, all.clone());
        let last = now_ns == self.plan.duration_ns;
        let completions = self.ends.take_completions(now_ns, last);
        let felt = self.ends.take_felt(now_ns).into_iter();
        let of_ends = self
            .receptions
            .take()
            .into_iter()
            .zip(completions)
            .zip(felt);
        all.iter()
            .zip(&before)
            .zip(of_ends)
            .map(
                |((now, before), ((reception, completions), felt))| ClassCounts {
                    counts: now.0.without(&before.0),
                    acknowledged_bytes: now.1 - before.1,
                    reception,
                    completions,
                    felt,
                },
            )
            .collect()
    }
}

/// Returns where data is acknowledged ahead of time. A trace has the arrivals at receivers, so there it
/// is nowhere.
fn early_acks_of<T: Trace>(plan: &Plan, routes: &Routes, _: &T) -> EarlyAcks {
    if T::ON {
        EarlyAcks::default()
    } else {
        EarlyAcks::find(plan, routes)
    }
}

/// Runs one replication. Returns `None` if the run was cancelled meanwhile.
///
/// # Errors
/// If too many flows arrive, or if too many packets are in transit.
pub fn replicate(
    plan: &Arc<Plan>,
    checked: (Routes, Clock),
    replication: u32,
    monitor: &Monitor,
    trace: impl Trace,
) -> Result<Option<Replication>, NetworkError> {
    fn whole<T: Trace, const BY_CLASS: bool>(
        mut world: World<T, BY_CLASS>,
        monitor: &Monitor,
    ) -> Result<Option<Replication>, NetworkError> {
        let ended = world.advance(world.plan.duration_ns, monitor)?;
        Ok(ended.then(|| world.end(monitor)))
    }
    if plan.classes.is_empty() {
        let early = early_acks_of(plan, &checked.0, &trace);
        let world = World::<_, false>::new(plan, checked, &early, replication, trace)?;
        whole(world, monitor)
    } else {
        let early = EarlyAcks::default();
        let world = World::<_, true>::new(plan, checked, &early, replication, trace)?;
        whole(world, monitor)
    }
}

/// So many TCP flows stay in the cache of a core by themselves: a flow takes 320 bytes.
const IN_CACHE: usize = 1024;
/// How many packets ahead flows are prefetched.
const AHEAD: u32 = 2;

/// A cause for a sender to act.
enum Stimulus {
    Start,
    Ack(Ack),
    Timer,
    Release,
    Stop,
    More(Supply),
}
