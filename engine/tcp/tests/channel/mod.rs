//! A deterministic channel between one sender and one receiver: two links with a rate, a delay
//! and an unlimited queue, and lists of packets to lose or to mark as they enter.

use std::collections::VecDeque;
use std::ops::Range;

use sluice_ecn::Ecn;
use sluice_tcp::{Ack, Config, Receiver, Segment, Sender};

/// What the sender did, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// Sent a packet.
    Send { time_ns: u64, seq: u32 },
    /// Windows, packets, after an ACK or a time-out was processed.
    Window {
        time_ns: u64,
        cwnd: f64,
        ssthresh: f64,
        /// The congestion control's estimate of the share of packets that are marked.
        marked_share: Option<f64>,
    },
}

/// The path in both directions. The lists count the packets that enter, from 0.
#[derive(Clone, Debug)]
pub struct Channel {
    pub rate_bps: u64,
    pub delay_ns: u64,
    pub data_bytes: u64,
    pub data_lost: Vec<u32>,
    pub data_marked: Vec<u32>,
    /// A data packet that has to wait longer than this is marked, too.
    pub mark_above_ns: Option<u64>,
    pub acks_lost: Vec<u32>,
}

const HEADER_BYTES: u64 = 40;
const SACK_BLOCK_BYTES: u64 = 8;

/// One direction.
struct Link<T> {
    channel: Channel,
    entered: u32,
    free_ns: u64,
    flying: VecDeque<(u64, T)>,
}

impl<T> Link<T> {
    fn new(channel: &Channel) -> Link<T> {
        Link {
            channel: channel.clone(),
            entered: 0,
            free_ns: 0,
            flying: VecDeque::new(),
        }
    }

    /// Counts the packet that enters now; true if it is on the list.
    fn is_hit(&mut self, list: &[u32]) -> bool {
        self.entered += 1;
        list.contains(&(self.entered - 1))
    }

    fn carry(&mut self, now_ns: u64, bytes: u64, packet: T) {
        let transmission_ns = bytes * 8 * 1_000_000_000 / self.channel.rate_bps;
        self.free_ns = self.free_ns.max(now_ns) + transmission_ns;
        let arrival_ns = self.free_ns + self.channel.delay_ns;
        self.flying.push_back((arrival_ns, packet));
    }

    fn wait_ns(&self, now_ns: u64) -> u64 {
        self.free_ns.saturating_sub(now_ns)
    }

    fn arrival_ns(&self) -> u64 {
        self.flying
            .front()
            .map_or(u64::MAX, |(arrival_ns, _)| *arrival_ns)
    }

    fn take(&mut self) -> T {
        self.flying.pop_front().unwrap().1
    }
}

/// Runs a transfer until all is acknowledged, or to `until_ns`, and returns what the sender did.
pub fn run(channel: &Channel, config: &Config, sender: Sender, until_ns: u64) -> Vec<Event> {
    run_from(0, 0..0, channel, config, sender, until_ns)
}

/// As `run`, from a time on, with all ACKs lost that are sent in `silent_ns`.
pub fn run_from(
    start_ns: u64,
    silent_ns: Range<u64>,
    channel: &Channel,
    config: &Config,
    mut sender: Sender,
    until_ns: u64,
) -> Vec<Event> {
    config.check().unwrap();
    let mut receiver = Receiver::new();
    let mut data = Link::<Segment>::new(channel);
    let mut acks = Link::<Ack>::new(channel);
    let mut events = vec![];
    let mut now_ns = start_ns;
    let mut sent = vec![];
    let mut release_ns = u64::MAX;
    sender.start(config, now_ns, &mut |segment| sent.push(segment));
    loop {
        release_ns = sender.take_release().unwrap_or(release_ns);
        for mut segment in sent.drain(..) {
            events.push(Event::Send {
                time_ns: now_ns,
                seq: segment.seq,
            });
            let listed = channel.data_marked.contains(&data.entered);
            let waits = |limit_ns| data.wait_ns(now_ns) > limit_ns;
            if segment.ecn.is_capable() && (listed || channel.mark_above_ns.is_some_and(waits)) {
                segment.ecn = Ecn::Ce;
            }
            if data.is_hit(&channel.data_lost) {
                continue;
            }
            let bytes = if segment.syn {
                HEADER_BYTES
            } else {
                channel.data_bytes
            };
            data.carry(now_ns, bytes, segment);
        }
        events.push(Event::Window {
            time_ns: now_ns,
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            marked_share: sender.marked_share(),
        });

        let timer_ns = sender.deadline().unwrap_or(u64::MAX);
        let held_ns = receiver.deadline().unwrap_or(u64::MAX);
        now_ns = timer_ns
            .min(held_ns)
            .min(release_ns)
            .min(data.arrival_ns())
            .min(acks.arrival_ns());
        if sender.is_done() || now_ns > until_ns {
            return events;
        }
        let send = &mut |segment| sent.push(segment);
        let mut replies = vec![];
        // Of events at the same time, the one scheduled first comes first, as in ns-2: timers are
        // scheduled earlier than packets.
        if timer_ns == now_ns {
            sender.on_timer(config, now_ns, send);
        } else if release_ns == now_ns {
            release_ns = u64::MAX;
            sender.on_release(config, now_ns, send);
        } else if held_ns == now_ns {
            replies.extend(receiver.on_timer(config, now_ns));
        } else if acks.arrival_ns() == now_ns {
            sender.on_ack(config, now_ns, &acks.take(), send);
        } else {
            let segment = data.take();
            receiver.on_segment(config, now_ns, &segment, &mut |ack| replies.push(ack));
        }
        for ack in replies {
            let is_lost = acks.is_hit(&channel.acks_lost) || silent_ns.contains(&now_ns);
            if !is_lost {
                let blocks = ack.sack.iter().filter(|block| !block.is_empty()).count();
                acks.carry(now_ns, HEADER_BYTES + SACK_BLOCK_BYTES * blocks as u64, ack);
            }
        }
    }
}
