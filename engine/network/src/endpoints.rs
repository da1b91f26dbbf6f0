//! The flows' two ends at work.

use sluice_random::{Stream, stream};
use sluice_tcp::{Receiver, Sender};

use crate::{
    agenda::{Agenda, Task},
    clock::Clock,
    routes::Routes,
    sources::{Group, Pacer, Source, TcpFlow, TcpKind, spread},
    timer::Timer,
    tournament::NEVER,
};

/// The sending end of a TCP flow, in four cache lines of which most ACKs need three.
#[repr(C, align(64))]
pub struct TcpSender {
    pub timer: Timer,
    /// Start of its way, and of its receiver's way back.
    pub way: u32,
    /// Index of its kind.
    pub kind: u32,
    pub endpoint: Sender,
}

const _: () = assert!(size_of::<TcpSender>() == 256);

/// The receiving end, in one cache line; its timer is elsewhere, since few need it.
#[repr(align(64))]
pub struct TcpReceiver {
    pub endpoint: Receiver,
    pub way: u32,
    pub kind: u32,
}

const _: () = assert!(size_of::<TcpReceiver>() == 64);

/// A flow of datagrams, both ends.
pub struct DatagramFlow {
    pub pacer: Pacer,
    pub way: u32,
    pub bytes: u16,
    pub sent: u64,
    pub received: u64,
}

/// All flows of a run, in the order of their groups.
#[derive(Default)]
pub struct Endpoints {
    pub kinds: Vec<TcpKind>,
    pub senders: Vec<TcpSender>,
    pub receivers: Vec<TcpReceiver>,
    /// The receivers' timers; empty as long as none needs one.
    receiver_timers: Vec<Timer>,
    pub datagrams: Vec<DatagramFlow>,
    /// The group of each TCP flow, and of each datagram flow.
    pub tcp_groups: Vec<u32>,
    pub datagram_groups: Vec<u32>,
}

impl Endpoints {
    /// Draws the flows of one replication and enters their starts in the agenda.
    pub fn new(
        groups: &[Group],
        routes: &Routes,
        (seed, replication): (u64, u64),
        clock: Clock,
        agenda: &mut Agenda,
    ) -> Self {
        let mut all = Self::default();
        let is_long = |group: &&Group| matches!(group.source, Source::Long(_));
        let long: usize = groups
            .iter()
            .filter(is_long)
            .map(|group| group.count as usize)
            .sum();
        all.senders.reserve_exact(long);
        all.receivers.reserve_exact(long);
        for (index, group) in groups.iter().enumerate() {
            for number in 0..group.count {
                let mut random = stream(seed, &format!("flow {index}.{number}"), replication);
                match &group.source {
                    Source::Long(long) => {
                        let flow = long.draw(&mut random);
                        let add = (index, group, &long.kind, flow);
                        all.add_tcp(add, routes, &mut random, (clock, agenda));
                    }
                    Source::Short(short) => {
                        for flow in short.draw(&mut random) {
                            let add = (index, group, &short.kind, flow);
                            all.add_tcp(add, routes, &mut random, (clock, agenda));
                        }
                    }
                    Source::Datagrams(datagrams) => {
                        let (pacer, first_ns) = datagrams.start(random);
                        if first_ns < datagrams.stop_ns {
                            agenda.add(
                                clock.ticks(first_ns),
                                Task::Datagram(all.datagrams.len() as u32),
                            );
                        }
                        all.datagram_groups.push(index as u32);
                        all.datagrams.push(DatagramFlow {
                            pacer,
                            way: routes.start(group.from, group.to),
                            bytes: datagrams.bytes,
                            sent: 0,
                            received: 0,
                        });
                    }
                }
            }
        }
        all
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
        // hosts' clocks tick at different instants
        let clock_phase_ns = spread(kind.config.tick_ns, random);
        self.senders.push(TcpSender {
            endpoint: Sender::new(&kind.config, flow.packets, clock_phase_ns),
            timer: Timer::new(),
            way: routes.start(group.from, group.to),
            kind: kind_index,
        });
        self.receivers.push(TcpReceiver {
            endpoint: Receiver::new(),
            way: routes.start(group.to, group.from),
            kind: kind_index,
        });
        self.tcp_groups.push(index as u32);
    }

    /// The timer of a receiver.
    #[inline]
    pub fn receiver_timer(&mut self, flow: u32) -> &mut Timer {
        if self.receiver_timers.is_empty() {
            self.receiver_timers = vec![Timer::new(); self.receivers.len()];
        }
        &mut self.receiver_timers[flow as usize]
    }

    /// Data packets of a TCP flow that were acknowledged, in sequence.
    pub fn acknowledged(&self, flow: usize) -> u32 {
        let sender = &self.senders[flow];
        let syn = u32::from(self.kinds[sender.kind as usize].config.syn);
        sender.endpoint.acknowledged().saturating_sub(syn)
    }
}
