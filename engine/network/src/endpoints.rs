//! The endpoints of all flows.

use std::ops::Range;

use sluice_aqm::NEVER;
use sluice_link::Clock;
use sluice_random::{Stream, stream};
use sluice_tcp::{Config, GREEDY, Receiver, Sender};

use crate::{
    agenda::{Agenda, Task},
    classes::Classes,
    completions::{self, BySize, Ended, Ideal},
    error::NetworkError,
    marker::Markers,
    observation::GroupState,
    pages::ask_for_large_pages,
    plan::Plan,
    routes::Routes,
    run::{DatagramOutcome, TcpOutcome},
    sources::{
        Application, Applications, Call, Caller, DatagramSource, Felt, Group, MOST_FLOWS, ShortTcp,
        Source, TcpFlow, TcpKind, Writer, spread,
    },
    timer::Timer,
};

/// The sending end of a TCP flow. It takes four cache lines; most ACKs need three of them.
#[repr(C, align(64))]
pub struct TcpSender {
    pub timer: Timer,
    /// Place in the table of hops where its route starts; the receiver has that of the route back.
    pub route: u32,
    /// Index of its kind in `Endpoints::kinds`.
    pub kind: u32,
    pub endpoint: Sender,
}

impl TcpSender {
    /// Returns the data packets that are acknowledged in sequence.
    #[inline]
    pub fn acknowledged(&self, config: &Config) -> u32 {
        let syn = u32::from(config.syn);
        self.endpoint.acknowledged().saturating_sub(syn)
    }
}

const _: () = assert!(size_of::<TcpSender>() == 256);

/// The receiving end of a TCP flow, in one cache line. Its timer is elsewhere, since few receivers
/// need one.
#[repr(align(64))]
pub struct TcpReceiver {
    pub endpoint: Receiver,
    pub route: u32,
    pub kind: u32,
}

const _: () = assert!(size_of::<TcpReceiver>() == 64);

/// A sender of the datagrams of one or several flows.
pub struct DatagramSender {
    pub source: DatagramSource,
    pub route: u32,
    /// Index of its first flow.
    pub first: u32,
}

/// A flow of datagrams.
#[derive(Clone, Copy, Default)]
pub struct DatagramFlow {
    /// When it sent its first datagram; `None` before that.
    pub start_ns: Option<u64>,
    pub sent: u64,
    pub received: u64,
    /// Place of the call whose video it is, if it is a call's.
    pub call: Option<u32>,
}

/// Both ends of a video call.
pub struct CallEnds {
    pub caller: Caller,
    /// Index of the flow of its video.
    pub flow: u32,
    /// Where the routes there and back start.
    pub routes: [u32; 2],
    /// When the sender's and the receiver's timers run out; `None` if they are not set.
    pub sends_ns: Option<u64>,
    pub answers_ns: Option<u64>,
    /// Feedback sent.
    pub answers: u32,
    /// Bytes of video that arrived, on the wire.
    pub received_bytes: u64,
}

/// All flows of a run, in the order of their groups.
#[derive(Default)]
pub struct Endpoints {
    pub kinds: Vec<TcpKind>,
    /// For each of the kinds.
    ideals: Vec<Ideal>,
    pub senders: Vec<TcpSender>,
    pub receivers: Vec<TcpReceiver>,
    /// The receivers' timers; empty as long as no receiver needs one.
    receiver_timers: Vec<Timer>,
    pub applications: Applications,
    pub datagram_senders: Vec<DatagramSender>,
    pub datagrams: Vec<DatagramFlow>,
    pub calls: Vec<CallEnds>,
    /// When each TCP flow starts, and when it finished ([`NEVER`] if it has not).
    pub starts_ns: Vec<u64>,
    pub ends_ns: Vec<u64>,
    /// Data packets that each TCP flow has to send in all, and whether it ends at a given time.
    sizes: Vec<u32>,
    stops: Vec<bool>,
    /// Data packets of all TCP flows that were acknowledged in sequence.
    pub acknowledged: u64,
    /// Index of the group of each TCP flow, and of each datagram flow.
    pub tcp_groups: Vec<u32>,
    pub datagram_groups: Vec<u32>,
    pub markers: Markers,
    pub classes: Classes,
    /// How long flows and objects of each class took; empty if they are not counted by class.
    completions: Vec<BySize>,
    /// What people feel of the applications of each class.
    felt: Vec<Felt>,
}

impl Endpoints {
    /// Draws the flows of one replication and enters their starts in the agenda.
    ///
    /// # Errors
    /// If more than `MOST_FLOWS` flows arrive. With heavy-tailed gaps there can be far more than
    /// their mean suggests.
    pub fn new(
        plan: &Plan,
        routes: &Routes,
        replication: u64,
        clock: Clock,
        agenda: &mut Agenda,
    ) -> Result<Self, NetworkError> {
        let (groups, end_ns) = (&plan.groups, plan.duration_ns);
        let mut all = Self::default();
        let is_long = |group: &&Group| matches!(group.source, Source::Long(_));
        let long: usize = groups
            .iter()
            .filter(is_long)
            .map(|group| group.count as usize)
            .sum();
        all.senders.reserve_exact(long);
        all.receivers.reserve_exact(long);
        ask_for_large_pages(&mut all.senders);
        ask_for_large_pages(&mut all.receivers);
        for (index, group) in groups.iter().enumerate() {
            for number in 0..group.count {
                let mut random = stream(plan.seed, &format!("flow {index}.{number}"), replication);
                match &group.source {
                    Source::Long(long) => {
                        let flow = long.draw(&mut random);
                        let add = (index, group, &long.kind, flow);
                        all.add_tcp(add, routes, &mut random, (clock, agenda));
                        if let Some(gap_ns) = long.gap_ns {
                            all.limit(gap_ns, &flow, &mut random, (clock, agenda));
                        }
                    }
                    Source::Short(short) => {
                        for flow in all.arrivals((index, short), &mut random, end_ns)? {
                            let add = (index, group, &short.kind, flow);
                            all.add_tcp(add, routes, &mut random, (clock, agenda));
                        }
                    }
                    Source::Web(web) => {
                        let first = all.senders.len() as u32;
                        let flows = web.draw(&mut random);
                        for flow in &flows {
                            let add = (index, group, &web.kind, *flow);
                            all.add_tcp(add, routes, &mut random, (clock, agenda));
                        }
                        let user = Application::User(web.user(random, &flows));
                        all.applications
                            .add(first..first + flows.len() as u32, user);
                    }
                    Source::Video(video) => {
                        let first = all.senders.len() as u32;
                        let flow = video.draw(&mut random);
                        let add = (index, group, &video.kind, flow);
                        all.add_tcp(add, routes, &mut random, (clock, agenda));
                        let player = Application::Player(Box::new(video.player(&flow)));
                        all.applications.add(first..first + 1, player);
                    }
                    Source::Datagrams(datagrams) => {
                        let sender = datagrams.start(random, end_ns);
                        all.add_datagrams((index, group, sender), routes, (clock, agenda));
                    }
                    Source::Call(call) => {
                        all.add_call((index, group, call), routes, random, (clock, agenda));
                    }
                    Source::Replay(replay) => {
                        let sender = replay.start(random, end_ns);
                        all.add_datagrams((index, group, sender), routes, (clock, agenda));
                    }
                }
            }
        }
        all.markers = Markers::new(&plan.markers, groups.len());
        all.classes = Classes::new(&plan.classes, &all.tcp_groups, &all.datagram_groups);
        all.completions = vec![BySize::default(); all.classes.count.unwrap_or(0)];
        all.felt = vec![Felt::default(); all.classes.count.unwrap_or(0)];
        let of_kinds = all.senders.iter().zip(&all.tcp_groups);
        for (sender, group) in of_kinds {
            if sender.kind as usize == all.ideals.len() {
                let (group, kind) = (&groups[*group as usize], &all.kinds[sender.kind as usize]);
                all.ideals
                    .push(Ideal::new(&plan.topology, routes, group, kind));
            }
        }
        Ok(all)
    }

    /// Draws the flows of one arrival process.
    fn arrivals(
        &self,
        (index, short): (usize, &ShortTcp),
        random: &mut Stream,
        end_ns: u64,
    ) -> Result<Vec<TcpFlow>, NetworkError> {
        let most = MOST_FLOWS.saturating_sub(self.senders.len());
        let flows = short.draw(random, end_ns, most);
        if flows.len() > most {
            return Err(NetworkError(format!(
                "flows.{index}: more than {MOST_FLOWS:e} flows would arrive"
            )));
        }
        Ok(flows)
    }

    fn add_tcp(
        &mut self,
        (index, group, kind, flow): (usize, &Group, &TcpKind, TcpFlow),
        routes: &Routes,
        random: &mut Stream,
        (clock, agenda): (Clock, &mut Agenda),
    ) {
        if self.tcp_groups.last() != Some(&(index as u32)) {
            self.kinds.push(kind.clone());
        }
        let number = self.senders.len() as u32;
        agenda.add(clock.ticks(flow.start_ns), Task::Start(number));
        if flow.stop_ns != NEVER {
            agenda.add(clock.ticks(flow.stop_ns), Task::Stop(number));
        }
        let kind_index = self.kinds.len() as u32 - 1;
        // the clocks of hosts tick at different times
        let clock_phase_ns = spread(kind.config.tick_ns, random);
        self.senders.push(TcpSender {
            endpoint: Sender::new(&kind.config, flow.packets, clock_phase_ns),
            timer: Timer::new(),
            route: routes.start(group.from, group.to),
            kind: kind_index,
        });
        self.receivers.push(TcpReceiver {
            endpoint: Receiver::new(),
            route: routes.start(group.to, group.from),
            kind: kind_index,
        });
        self.tcp_groups.push(index as u32);
        self.starts_ns.push(flow.start_ns);
        self.ends_ns.push(NEVER);
        self.sizes.push(flow.packets);
        self.stops.push(flow.stop_ns != NEVER);
    }

    /// Limits the flow that was added last: its application gives it a packet each `gap_ns`.
    fn limit(
        &mut self,
        gap_ns: f64,
        flow: &TcpFlow,
        random: &mut Stream,
        (clock, agenda): (Clock, &mut Agenda),
    ) {
        let number = self.senders.len() as u32 - 1;
        let sender = &mut self.senders[number as usize];
        let config = &self.kinds[sender.kind as usize].config;
        sender.endpoint = Sender::new(config, 0, spread(config.tick_ns, random));
        let writer = Writer::new(gap_ns, flow.packets, flow.stop_ns);
        let application = Application::Writer(writer);
        self.applications.add(number..number + 1, application);
        // none is sent from `stop_ns` on
        if flow.start_ns < flow.stop_ns {
            agenda.add(clock.ticks(flow.start_ns), Task::Supply(number));
        }
    }

    /// Returns the timer of a receiver.
    #[inline]
    pub fn receiver_timer(&mut self, flow: u32) -> &mut Timer {
        if self.receiver_timers.is_empty() {
            self.receiver_timers = vec![Timer::new(); self.receivers.len()];
        }
        &mut self.receiver_timers[flow as usize]
    }

    fn add_datagrams(
        &mut self,
        (index, group, (source, first_ns)): (usize, &Group, (DatagramSource, Option<u64>)),
        routes: &Routes,
        (clock, agenda): (Clock, &mut Agenda),
    ) {
        if let Some(first_ns) = first_ns {
            let number = self.datagram_senders.len() as u32;
            agenda.add(clock.ticks(first_ns), Task::Datagram(number));
        }
        let flows = self.datagrams.len() + source.flows() as usize;
        self.datagram_senders.push(DatagramSender {
            source,
            route: routes.start(group.from, group.to),
            first: self.datagrams.len() as u32,
        });
        self.datagrams.resize(flows, DatagramFlow::default());
        self.datagram_groups.resize(flows, index as u32);
    }

    fn add_call(
        &mut self,
        (index, group, call): (usize, &Group, &Call),
        routes: &Routes,
        random: Stream,
        (clock, agenda): (Clock, &mut Agenda),
    ) {
        let (caller, start_ns) = call.start(random);
        let number = self.calls.len() as u32;
        // no frame is made from `stop_ns` on
        if start_ns < call.stop_ns {
            agenda.add(clock.ticks(start_ns), Task::Frame(number));
        }
        self.calls.push(CallEnds {
            caller,
            flow: self.datagrams.len() as u32,
            routes: [
                routes.start(group.from, group.to),
                routes.start(group.to, group.from),
            ],
            sends_ns: None,
            answers_ns: None,
            answers: 0,
            received_bytes: 0,
        });
        self.datagrams.push(DatagramFlow {
            call: Some(number),
            ..DatagramFlow::default()
        });
        self.datagram_groups.push(index as u32);
    }

    /// Notes that a TCP flow has nothing left to send or to wait for. Returns when which flows get
    /// packets of its application, ns.
    pub fn note_end(&mut self, flow: u32, now_ns: u64) -> Option<(u64, Range<u32>)> {
        if let Some(turn) = self.applications.acknowledged(flow, now_ns) {
            if let Some(object) = turn.ended {
                let took_ns = now_ns - object.start_ns;
                self.note_completion(flow, object.packets, took_ns, Some(object.first));
            }
            if let (Some(page_ns), Some(class)) = (turn.page_ns, self.class_of(flow)) {
                self.felt[class].pages.add(page_ns);
            }
            return turn.next;
        }
        let end_ns = &mut self.ends_ns[flow as usize];
        let sender = &self.senders[flow as usize];
        let config = &self.kinds[sender.kind as usize].config;
        // a flow that was stopped before it sent anything does not count as finished
        if *end_ns == NEVER && sender.acknowledged(config) > 0 {
            *end_ns = now_ns;
            let took_ns = now_ns - self.starts_ns[flow as usize];
            let (packets, sized) = self.size(flow);
            self.note_completion(flow, packets, took_ns, sized.then_some(true));
        }
        None
    }

    /// Returns the size of a flow in data packets, or, if only a time ends it, those that were
    /// acknowledged; and whether it is its own size.
    fn size(&self, flow: u32) -> (u32, bool) {
        let sender = &self.senders[flow as usize];
        match self.sizes[flow as usize] {
            GREEDY => {
                let config = &self.kinds[sender.kind as usize].config;
                (sender.acknowledged(config), false)
            }
            packets => (packets, true),
        }
    }

    /// Returns the class of a TCP flow; `None` if flows are not counted by class.
    fn class_of(&self, flow: u32) -> Option<usize> {
        let class = self.classes.tcp().get(flow as usize);
        class.copied().map(usize::from)
    }

    /// Counts a flow or an object that ended. `opens`: whether it began with the handshake, if it
    /// has a size of its own.
    fn note_completion(&mut self, flow: u32, packets: u32, took_ns: u64, opens: Option<bool>) {
        let Some(class) = self.class_of(flow) else {
            return;
        };
        let kind = self.senders[flow as usize].kind as usize;
        let ended = Ended {
            bytes: u64::from(packets) * u64::from(self.kinds[kind].packet_bytes),
            took_ns,
            ideal_ns: opens.map(|opens| self.ideals[kind].time_ns(packets, opens)),
        };
        completions::end(&mut self.completions[class], &ended);
    }

    /// Counts the flows and objects that have begun and not ended; not those without an end.
    fn note_unfinished(&mut self, now_ns: u64) {
        for (flow, class) in self.classes.tcp().iter().enumerate() {
            let sender = &self.senders[flow];
            let packets = match self.applications.transfers(flow as u32) {
                Some(packets) => packets,
                None => {
                    let (packets, sized) = self.size(flow as u32);
                    let ends = sized || self.stops[flow];
                    (ends && !sender.endpoint.is_done()).then_some(packets)
                }
            };
            if let Some(packets) = packets
                && self.starts_ns[flow] <= now_ns
            {
                let kind = &self.kinds[sender.kind as usize];
                let bytes = u64::from(packets) * u64::from(kind.packet_bytes);
                completions::leave(&mut self.completions[usize::from(*class)], bytes);
            }
        }
    }

    /// Returns the completions of each class since the last call; at the end of the run also what
    /// is unfinished.
    pub fn take_completions(&mut self, now_ns: u64, last: bool) -> Vec<BySize> {
        if last {
            self.note_unfinished(now_ns);
        }
        let fresh = vec![BySize::default(); self.completions.len()];
        std::mem::replace(&mut self.completions, fresh)
    }

    /// Counts a frame of a call that is all there, if flows are counted by class.
    pub fn note_frame(&mut self, call: u32, frame_ns: u64) {
        let flow = self.calls[call as usize].flow as usize;
        if let Some(class) = self.classes.datagrams().get(flow) {
            self.felt[usize::from(*class)].frames.add(frame_ns);
        }
    }

    /// Returns what people felt of each class since the last call.
    pub fn take_felt(&mut self, now_ns: u64) -> Vec<Felt> {
        let classes = self.classes.tcp();
        if !classes.is_empty() {
            let class_of = |flow: u32| usize::from(classes[flow as usize]);
            self.applications.count(now_ns, class_of, &mut self.felt);
        }
        if self.classes.count.is_some() {
            for call in &mut self.calls {
                let class = self.classes.datagrams()[call.flow as usize];
                call.caller
                    .count(now_ns, &mut self.felt[usize::from(class)]);
            }
        }
        let fresh = vec![Felt::default(); self.felt.len()];
        std::mem::replace(&mut self.felt, fresh)
    }

    /// Returns the mean congestion window of the active TCP flows, packets; NaN if there are none.
    pub fn mean_window(&self, now_ns: u64) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for (sender, start_ns) in self.senders.iter().zip(&self.starts_ns) {
            if *start_ns <= now_ns && !sender.endpoint.is_done() {
                sum += sender.endpoint.cwnd();
                count += 1.0;
            }
        }
        sum / count
    }

    /// Tells the class and the smoothed round trip of each TCP flow that has begun and not finished,
    /// if it has one.
    pub fn smoothed_round_trips(&self, now_ns: u64, mut tell: impl FnMut(usize, u64)) {
        for (flow, class) in self.classes.tcp().iter().enumerate() {
            let TcpSender { endpoint, kind, .. } = &self.senders[flow];
            let smoothed_ns = endpoint.srtt_ns(&self.kinds[*kind as usize].config);
            if self.starts_ns[flow] < now_ns && !endpoint.is_done() && smoothed_ns > 0 {
                tell(usize::from(*class), smoothed_ns);
            }
        }
    }

    /// Returns what can be seen of each group of flows at `now_ns`.
    pub fn observe(&self, groups: &[Group], now_ns: u64) -> Vec<GroupState> {
        let mut states: Vec<GroupState> = groups.iter().map(GroupState::new).collect();
        for (flow, group) in self.tcp_groups.iter().enumerate() {
            let sender = &self.senders[flow];
            let kind = &self.kinds[sender.kind as usize];
            let acknowledged = sender.acknowledged(&kind.config);
            let state = &mut states[*group as usize];
            state.flows += 1;
            state.add_tcp(acknowledged, kind.packet_bytes, &sender.endpoint);
            if self.starts_ns[flow] < now_ns && !sender.endpoint.is_done() {
                state.windows.push(sender.endpoint.cwnd());
                state.srtts_ns.push(sender.endpoint.srtt_ns(&kind.config));
            }
        }
        for (flow, group) in self.datagrams.iter().zip(&self.datagram_groups) {
            let state = &mut states[*group as usize];
            state.flows += 1;
            state.add_datagrams(flow.received, &groups[*group as usize].source);
        }
        for call in &self.calls {
            let group = self.datagram_groups[call.flow as usize];
            states[group as usize].add_bytes(call.received_bytes);
        }
        states
    }

    /// Returns the outcome of each TCP flow.
    pub fn tcp_outcomes(&self) -> Vec<TcpOutcome> {
        let outcome = |(flow, sender): (usize, &TcpSender)| {
            let (start_ns, end_ns) = (self.starts_ns[flow], self.ends_ns[flow]);
            TcpOutcome {
                group: self.tcp_groups[flow],
                acknowledged: sender.acknowledged(&self.kinds[sender.kind as usize].config),
                retransmissions: sender.endpoint.retransmissions(),
                timeouts: sender.endpoint.timeouts(),
                start_ns,
                completion_ns: (end_ns != NEVER).then(|| end_ns - start_ns),
            }
        };
        self.senders.iter().enumerate().map(outcome).collect()
    }

    /// Returns the outcome of each datagram flow.
    pub fn datagram_outcomes(&self) -> Vec<DatagramOutcome> {
        let outcome = |(flow, group): (&DatagramFlow, &u32)| DatagramOutcome {
            group: *group,
            sent: flow.sent,
            received: flow.received,
            start_ns: flow.start_ns,
        };
        let flows = self.datagrams.iter().zip(&self.datagram_groups);
        flows.map(outcome).collect()
    }
}
