//! For tests: a path with a bottleneck, a sender at one end and a receiver at the other.

use std::collections::VecDeque;

use crate::config::{Config, MS, Variant};
use crate::congestion::{CongestionControl, hash};
use crate::receiver::Receiver;
use crate::segment::{Ack, Segment};
use crate::sender::Sender;

/// Drops what comes faster than its rate, once its tokens are used up.
pub(crate) struct TokenBucket {
    pub packets_per_ns: f64,
    pub tokens: f64,
    pub depth: f64,
    pub since_ns: u64,
}

impl TokenBucket {
    fn passes(&mut self, now_ns: u64) -> bool {
        let filled = self.packets_per_ns * (now_ns - self.since_ns) as f64;
        self.tokens = (self.tokens + filled).min(self.depth);
        self.since_ns = now_ns;
        let passes = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(passes));
        passes
    }
}

/// By default a path of 100 ms with a bottleneck that sends a packet each millisecond.
pub(crate) struct Path {
    pub config: Config,
    pub sender: Sender,
    receiver: Receiver,
    pub service_ns: u64,
    pub delay_ns: u64,
    /// Packets that may wait.
    pub limit: u64,
    pub policer: Option<TokenBucket>,
    pub marks: bool,
    /// One in so many packets is marked, by a hash of its number.
    pub mark_every: Option<u32>,
    /// Numbers of the packets that are lost, as they enter.
    pub lost: Vec<u32>,
    pub entered: u32,
    pub dropped: u32,
    pub marked: u32,
    free_ns: u64,
    acks: VecDeque<(u64, Ack)>,
    release_ns: Option<u64>,
    pub now_ns: u64,
}

impl Path {
    pub fn new(
        control: CongestionControl,
        packets: u32,
        lost: &[u32],
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let mut config = Config {
            delayed_ack_ns: None,
            ..Config::rfc(Variant::Rack).with(control)
        };
        change(&mut config);
        Self {
            sender: Sender::new(&config, packets, 0),
            config,
            receiver: Receiver::new(),
            service_ns: MS,
            delay_ns: 99 * MS,
            limit: u64::MAX,
            policer: None,
            marks: false,
            mark_every: None,
            lost: lost.to_vec(),
            entered: 0,
            dropped: 0,
            marked: 0,
            free_ns: 0,
            acks: VecDeque::new(),
            release_ns: None,
            now_ns: 0,
        }
    }

    /// Packets that wait or are being sent.
    pub fn queue(&self) -> u64 {
        self.free_ns
            .saturating_sub(self.now_ns)
            .div_ceil(self.service_ns)
    }

    /// Runs a call of the sender, and carries what it sends.
    pub fn drive(&mut self, call: impl FnOnce(&mut Sender, &Config, u64, &mut Vec<Segment>)) {
        let mut sent = vec![];
        call(&mut self.sender, &self.config, self.now_ns, &mut sent);
        for segment in sent {
            self.carry(segment);
        }
        self.release_ns = self.sender.take_release().or(self.release_ns);
    }

    fn carry(&mut self, mut segment: Segment) {
        self.entered += 1;
        let now_ns = self.now_ns;
        let passes = self.policer.as_mut().is_none_or(|of| of.passes(now_ns));
        if !passes || self.lost.contains(&(self.entered - 1)) || self.queue() > self.limit {
            self.dropped += 1;
            return;
        }
        let hash = hash(u64::from(self.entered));
        let is_next = self
            .mark_every
            .is_some_and(|of| hash.is_multiple_of(u64::from(of)));
        if (self.marks || is_next) && segment.ecn.is_capable() {
            segment.ecn = sluice_ecn::Ecn::Ce;
            self.marked += 1;
        }
        self.free_ns = self.free_ns.max(now_ns) + self.service_ns;
        let due_ns = self.free_ns + self.delay_ns;
        let acks = &mut self.acks;
        self.receiver
            .on_segment(&self.config, due_ns, &segment, &mut |ack| {
                acks.push_back((due_ns, ack));
            });
    }

    /// Runs to a time, and shows the path after each event.
    pub fn watch(&mut self, until_ns: u64, mut show: impl FnMut(&Self)) {
        if self.now_ns == 0 {
            self.drive(|sender, config, now, sent| {
                sender.start(config, now, &mut |segment| sent.push(segment));
            });
        }
        loop {
            let timer_ns = self.sender.deadline().unwrap_or(u64::MAX);
            let release_ns = self.release_ns.unwrap_or(u64::MAX);
            let ack_ns = self.acks.front().map_or(u64::MAX, |(due_ns, _)| *due_ns);
            let next_ns = timer_ns.min(ack_ns).min(release_ns);
            if next_ns > until_ns {
                self.now_ns = until_ns;
                return;
            }
            self.now_ns = next_ns;
            if release_ns == next_ns {
                self.release_ns = None;
                self.drive(|sender, config, now, sent| {
                    sender.on_release(config, now, &mut |segment| sent.push(segment));
                });
            } else if ack_ns == next_ns {
                let (_, ack) = self.acks.pop_front().unwrap();
                self.drive(|sender, config, now, sent| {
                    sender.on_ack(config, now, &ack, &mut |segment| sent.push(segment));
                });
            } else {
                self.drive(|sender, config, now, sent| {
                    sender.on_timer(config, now, &mut |segment| sent.push(segment));
                });
            }
            show(self);
        }
    }

    pub fn run(&mut self, until_ns: u64) {
        self.watch(until_ns, |_| {});
    }
}
