//! A loaded link with an AQM: a world that is small enough for a test.

use std::collections::VecDeque;

use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use sluice_aqm::{Aqm, Configured, ONE, Running, Verdict, View};

const NEVER: u64 = u64::MAX;

/// The call of the AQM's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Tick,
    Arrive,
    Depart,
    /// A packet joins the waiting packets; `Join` and `Leave` only for AQMs with `occupancy`.
    Join,
    Leave,
}

/// A link whose load changes between nothing and five times its rate.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate_bps: u64,
    pub limit: u32,
    pub ecn: bool,
    /// Sizes of packets, bytes, equally likely.
    pub packet_bytes: &'static [u32],
    /// Hashes of the packets' flows, equally likely.
    pub flows: &'static [u32],
    pub seed: u64,
}

/// 10 Mbit/s, 200 packets of 500 bytes: the bottleneck of the LRED paper.
pub const LINK: Link = Link {
    rate_bps: 10_000_000,
    limit: 200,
    ecn: false,
    packet_bytes: &[500],
    flows: &[0],
    seed: 1,
};

/// Packets of many sizes, some of which can be marked.
pub const MIXED: Link = Link {
    ecn: true,
    packet_bytes: &[40, 500, 1500],
    seed: 2,
    ..LINK
};

/// Eight flows; the first sends more than a third of the packets.
pub const FLOWS: Link = Link {
    flows: &[77, 77, 77, 77, 0, 1, 2, 3, 4, 5, 1 << 31],
    ..MIXED
};

#[derive(Clone, Copy)]
struct Packet {
    arrived_ns: u64,
    bytes: u32,
    flow: u32,
}

struct Station<'a, W> {
    link: &'a Link,
    running: Running,
    watch: W,
    random: StdRng,
    waiting: VecDeque<Packet>,
    completion_ns: u64,
    idle_since_ns: u64,
}

impl<W: FnMut(Event, &View, Verdict, &Running)> Station<'_, W> {
    fn view(&mut self, now_ns: u64, packet_bytes: u32) -> View {
        let view = self.view_of_one(now_ns, packet_bytes);
        // of those that can be marked the largest have ECT(1), the others ECT(0)
        let ect = 2 - u8::from(packet_bytes == 1500);
        View {
            buffer_bytes: view.queue_bytes,
            traffic_class: view.ecn_capable * ect,
            ..view
        }
    }

    fn view_of_one(&mut self, now_ns: u64, packet_bytes: u32) -> View {
        View {
            now_ns,
            idle_since_ns: self.idle_since_ns,
            rate_bps: self.link.rate_bps,
            random: self.random.next_u64(),
            queue_bytes: self
                .waiting
                .iter()
                .map(|packet| u64::from(packet.bytes))
                .sum(),
            queue_packets: self.waiting.len() as u32,
            limit_packets: self.link.limit,
            packet_bytes,
            idle: u8::from(self.completion_ns == NEVER),
            ecn_capable: u8::from(self.link.ecn && self.random.random_bool(0.5)),
            ..View::default()
        }
    }

    fn tick(&mut self, now_ns: u64) {
        let view = self.view(now_ns, 0);
        self.running.tick(&view);
        (self.watch)(Event::Tick, &view, Verdict::Admit, &self.running);
    }

    fn arrive(&mut self, now_ns: u64) {
        let sizes = self.link.packet_bytes;
        let bytes = sizes[self.random.random_range(0..sizes.len())];
        let flow = self.draw(self.link.flows.len());
        let packet = Packet {
            arrived_ns: now_ns,
            bytes,
            flow: self.link.flows[flow],
        };
        let mut view = self.view(now_ns, bytes);
        view.flow_hash = packet.flow;
        view.full = u8::from(view.queue_packets >= view.limit_packets);
        let mut candidate = None;
        if self.running.wants_candidate() && !self.waiting.is_empty() {
            let index = self.draw(self.waiting.len());
            view.candidate_flow_hash = self.waiting[index].flow;
            candidate = Some(index);
        }
        let verdict = self.running.arrive(&view);
        (self.watch)(Event::Arrive, &view, verdict, &self.running);
        if verdict == Verdict::DropBoth {
            let index = candidate.expect("only a candidate can be met");
            self.waiting.remove(index);
        }
        if !verdict.is_drop() {
            self.count(now_ns, packet, Event::Join);
            self.waiting.push_back(packet);
            if self.completion_ns == NEVER {
                self.serve(now_ns);
            }
        }
    }

    /// Draws a number below `count`; for a count of 1 it takes no random word.
    fn draw(&mut self, count: usize) -> usize {
        if count > 1 {
            self.random.random_range(0..count)
        } else {
            0
        }
    }

    fn count(&mut self, now_ns: u64, packet: Packet, event: Event) {
        if self.running.watches_occupancy() {
            let change = if event == Event::Join { 1 } else { -1 };
            let mut view = self.view(now_ns, packet.bytes);
            view.flow_hash = packet.flow;
            self.running.occupancy(&view, change);
            (self.watch)(event, &view, Verdict::Admit, &self.running);
        }
    }

    /// Sends the first packet that the AQM does not drop.
    fn serve(&mut self, now_ns: u64) {
        self.completion_ns = NEVER;
        self.idle_since_ns = now_ns;
        while let Some(packet) = self.waiting.pop_front() {
            self.count(now_ns, packet, Event::Leave);
            let Packet {
                arrived_ns, bytes, ..
            } = packet;
            let sojourn_ns = now_ns - arrived_ns;
            let view = View {
                sojourn_ns,
                idle: 0,
                ..self.view(now_ns, bytes)
            };
            let verdict = self.running.depart(&view);
            (self.watch)(Event::Depart, &view, verdict, &self.running);
            if !verdict.is_drop() {
                self.completion_ns = now_ns + u64::from(bytes) * 8_000_000_000 / self.link.rate_bps;
                return;
            }
        }
    }
}

impl Link {
    /// Offers `packets` packets; `watch` sees each event after the AQM has returned.
    ///
    /// A new load is drawn every 400 packets on average, sometimes after a silence.
    pub fn drive(
        &self,
        configured: &Configured,
        packets: usize,
        watch: impl FnMut(Event, &View, Verdict, &Running),
    ) {
        let mut station = Station {
            link: self,
            running: configured.start(),
            watch,
            random: StdRng::seed_from_u64(self.seed),
            waiting: VecDeque::new(),
            completion_ns: NEVER,
            idle_since_ns: 0,
        };
        let interval_ns = station.running.tick_interval_ns();
        let mean_bytes =
            self.packet_bytes.iter().sum::<u32>() as f64 / self.packet_bytes.len() as f64;
        let packet_ns = mean_bytes * 8e9 / self.rate_bps as f64;
        let (mut arrival_ns, mut tick_ns, mut gap_ns) = (0, interval_ns.unwrap_or(NEVER), 0.0);
        for packet in 0..packets {
            if packet == 0 || station.random.random_bool(1.0 / 400.0) {
                let loads = [0.2, 0.8, 1.0, 1.2, 2.0, 5.0];
                gap_ns = packet_ns / loads[station.random.random_range(0..loads.len())];
                let silence = [0, 0, 0, 50_000_000, 3_000_000_000];
                arrival_ns += silence[station.random.random_range(0..silence.len())];
            }
            let uniform: f64 = station.random.random();
            arrival_ns += (-gap_ns * (1.0 - uniform).ln()) as u64;
            while station.completion_ns.min(tick_ns) <= arrival_ns {
                if tick_ns <= station.completion_ns {
                    station.tick(tick_ns);
                    tick_ns += interval_ns.expect("or there is no tick");
                } else {
                    station.serve(station.completion_ns);
                }
            }
            station.arrive(arrival_ns);
        }
    }
}

/// Counts the verdicts that an oracle could predict.
#[derive(Debug, Default)]
pub struct Told {
    pub drops: usize,
    pub admissions: usize,
    /// Verdicts that were not checked: the random word was too close to the probability.
    pub open: usize,
}

impl Told {
    /// Checks a settled verdict against the probability `p`, known within `slack`, that the AQM
    /// drops this packet by chance.
    pub fn chance(&mut self, view: &View, verdict: Verdict, p: f64, slack: f64) {
        let r = (view.random >> 32) as f64 / ONE as f64;
        let expected = if r < p - slack {
            self.drops += 1;
            Verdict::DropEarly
        } else if r >= p + slack {
            self.admissions += 1;
            Verdict::Admit
        } else {
            self.open += 1;
            return;
        };
        assert_eq!(
            verdict,
            Running::settle(expected, view),
            "p = {p}, {view:?}"
        );
    }

    /// Asserts that the run had both verdicts often, and left few unchecked.
    pub fn assert_telling(&self) {
        let told = self.drops.min(self.admissions);
        assert!(told > 500 && self.open <= 1 + told / 1000, "{self:?}");
    }
}

/// Returns the queue and the packet's weight, in packets, or in bytes divided by the mean size.
pub fn in_unit(view: &View, unit: &str, mean_packet_bytes: f64) -> (f64, f64) {
    if unit == "bytes" {
        (
            view.queue_bytes as f64 / mean_packet_bytes,
            f64::from(view.packet_bytes) / mean_packet_bytes,
        )
    } else {
        (f64::from(view.queue_packets), 1.0)
    }
}
