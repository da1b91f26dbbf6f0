//! CAKE against a transcription of Linux's sch_cake.c, with Linux's names and lists, packet by packet:
//! the same packets leave at the same times, and the same ones are lost. Of Linux's chance only the
//! dither of quanta is replaced, by the rest that `aqm/cake.h` carries over.

use std::collections::VecDeque;

use proptest::prelude::*;
use sluice_aqm::Value;

use crate::cake_link::{Link, MS, Sent, number, word};

const WAYS: usize = 8;
const QUEUES: usize = 16;
const NONE: u8 = 0;
const SPARSE: u8 = 1;
const SPARSE_WAIT: u8 = 2;
const BULK: u8 = 3;
const DECAYING: u8 = 4;

const PRECEDENCE: fn(usize) -> usize = |dscp| dscp / 8;
const DIFFSERV8: [usize; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, 1, 2, 1, 2, 1, 2, 1, 2, 5, 2, 4, 2, 4, 2, 4, 2, 3, 2, 3, 2, 3, 2, 3, 2,
    6, 2, 3, 2, 3, 2, 3, 2, 6, 2, 2, 2, 6, 2, 6, 2, 7, 2, 2, 2, 2, 2, 2, 2, 7, 2, 2, 2, 2, 2, 2, 2,
];
const DIFFSERV4: [usize; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0, 2, 0,
    3, 0, 2, 0, 2, 0, 2, 0, 3, 0, 0, 0, 3, 0, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0,
];
const DIFFSERV3: [usize; 64] = [
    0, 1, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
];
const CACHE: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3037000500,
    2479700525,
    2147483647,
    1920767767,
    1753413056,
    1623345051,
    1518500250,
    1431655765,
    1358187914,
    1294981364,
    1239850263,
    1191209601,
    1147878294,
    1108955788,
];

#[derive(Clone, Copy, Default)]
struct Cobalt {
    count: u32,
    rec_inv_sqrt: u32,
    drop_next: i64,
    dropping: bool,
}

#[derive(Clone, Copy, Default)]
struct Params {
    target: i64,
    interval: i64,
    mtu_time: i64,
}

impl Cobalt {
    fn invsqrt(&mut self) {
        self.rec_inv_sqrt = match CACHE.get(self.count as usize) {
            Some(root) => *root,
            None => {
                let root = u64::from(self.rec_inv_sqrt);
                let val = (3_u64 << 32) - u64::from(self.count) * ((root * root) >> 32);
                (((val >> 2) * root) >> 31) as u32
            }
        };
    }

    fn control(&self, t: i64, interval: i64) -> i64 {
        t + ((i128::from(interval) * i128::from(self.rec_inv_sqrt)) >> 32) as i64
    }

    fn queue_empty(&mut self, p: &Params, now: i64) {
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.invsqrt();
            self.drop_next = self.control(self.drop_next, p.interval);
        }
    }

    /// True: drop it.
    fn should_drop(&mut self, p: &Params, now: i64, since: i64, bulk_flows: i64) -> bool {
        let sojourn = now - since;
        let mut schedule = now - self.drop_next;
        let over_target =
            sojourn > p.target && sojourn > p.mtu_time * bulk_flows * 2 && sojourn > p.mtu_time * 4;
        let mut next_due = self.count > 0 && schedule >= 0;
        let mut drop = false;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, p.interval);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        if next_due && self.dropping {
            drop = true;
            self.count += 1;
            self.invsqrt();
            self.drop_next = self.control(self.drop_next, p.interval);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.invsqrt();
                self.drop_next = self.control(self.drop_next, p.interval);
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0;
            }
        }
        if self.count == 0 {
            self.drop_next = now + p.interval;
        } else if schedule > 0 && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[derive(Clone, Default)]
struct Flow {
    packets: VecDeque<(i64, Sent)>,
    deficit: i64,
    set: u8,
    cobalt: Cobalt,
    hosts: [usize; 2],
}

#[derive(Clone, Default)]
struct Tin {
    flows: Vec<Flow>,
    tags: Vec<u32>,
    /// By end: tag and bulk flows.
    hosts: [Vec<(u32, u32)>; 2],
    new_flows: VecDeque<usize>,
    old_flows: VecDeque<usize>,
    decaying_flows: VecDeque<usize>,
    sparse: u32,
    bulk: u32,
    params: Params,
    quantum: i64,
    tin_quantum: i64,
    tin_deficit: i64,
    carry: i64,
    rate: (u64, u32),
    time_next: i64,
}

impl Tin {
    fn backlog(&self) -> usize {
        self.flows.iter().map(|flow| flow.packets.len()).sum()
    }

    fn load(&self, flow: usize, mode: u32) -> i64 {
        let of = |end: usize| self.hosts[end][self.flows[flow].hosts[end]].1;
        let ends = (0..2).filter(|end| is_dual(mode, *end));
        i64::from(ends.map(of).max().unwrap_or(1).max(1))
    }

    fn count_bulk(&mut self, flow: usize, mode: u32, by: i32) {
        for end in (0..2).filter(|end| is_dual(mode, *end)) {
            let host = self.flows[flow].hosts[end];
            self.hosts[end][host].1 = self.hosts[end][host].1.wrapping_add_signed(by);
        }
    }
}

fn is_dual(mode: u32, end: usize) -> bool {
    mode & 4 > 0 && mode & (1 << end) > 0
}

/// cake_set_rate(): ns for a byte, and the shift.
fn rate_of(rate: u64) -> (u64, u32) {
    if rate == 0 {
        return (0, 0);
    }
    let (mut ns, mut shift) = ((1_000_000_000 << 34) / rate.max(64), 34);
    while ns >> 34 > 0 {
        ns >>= 1;
        shift -= 1;
    }
    (ns, shift)
}

struct Cake {
    tins: Vec<Tin>,
    index: Box<dyn Fn(usize) -> usize>,
    mode: u32,
    shaped: bool,
    ingress: bool,
    cur_tin: usize,
    time_next: i64,
    failsafe: i64,
    sent: Vec<(u64, Sent)>,
    lost: Vec<Sent>,
}

impl Cake {
    fn new(diffserv: &str, mode: u32, rate_bps: u64, ingress: bool, rtt: i64, target: i64) -> Self {
        let rate = rate_bps / 8;
        let sevenths = |count: u32| {
            let next = |all: u64, _| (all * 7) >> 3;
            ((0..count).fold(rate, next), (0..count).fold(256, next))
        };
        type Index = Box<dyn Fn(usize) -> usize>;
        let (shares, index): (Vec<(u64, u64)>, Index) = match diffserv {
            "besteffort" => (vec![(rate, 65535)], Box::new(|_| 0)),
            "precedence" => ((0..8).map(sevenths).collect(), Box::new(PRECEDENCE)),
            "diffserv8" => (
                (0..8).map(sevenths).collect(),
                Box::new(|dscp| DIFFSERV8[dscp]),
            ),
            "diffserv4" => (
                [0, 4, 1, 2]
                    .map(|shift| (rate >> shift, 1024 >> shift))
                    .to_vec(),
                Box::new(|dscp| DIFFSERV4[dscp]),
            ),
            _ => (
                [0, 4, 2]
                    .map(|shift| (rate >> shift, 1024 >> shift))
                    .to_vec(),
                Box::new(|dscp| DIFFSERV3[dscp]),
            ),
        };
        let tin = |(rate, quantum): (u64, u64)| {
            let (ns, shift) = rate_of(rate);
            let mtu_time = ((1514 * ns) >> shift) as i64;
            let tin_target = (mtu_time * 3 / 2).max(target);
            Tin {
                flows: vec![Flow::default(); QUEUES],
                tags: vec![0; QUEUES],
                hosts: [vec![(0, 0); QUEUES], vec![(0, 0); QUEUES]],
                params: Params {
                    target: tin_target,
                    interval: (rtt + tin_target - target).max(2 * tin_target),
                    mtu_time,
                },
                quantum: if rate == 0 {
                    1514
                } else {
                    (rate as i64 >> 12).clamp(300, 1514)
                },
                tin_quantum: quantum as i64,
                rate: (ns, shift),
                ..Tin::default()
            }
        };
        Self {
            tins: shares.into_iter().map(tin).collect(),
            index,
            mode,
            shaped: rate > 0,
            ingress,
            cur_tin: 0,
            time_next: 0,
            failsafe: 0,
            sent: Vec::new(),
            lost: Vec::new(),
        }
    }

    fn find<T>(
        entries: &[T],
        hash: u32,
        has: impl Fn(&T) -> bool,
        free: impl Fn(&T) -> bool,
    ) -> usize {
        let reduced = hash as usize % QUEUES;
        let (inner, outer) = (reduced % WAYS, reduced - reduced % WAYS);
        let ways = || (0..WAYS).map(|turn| outer + (inner + turn) % WAYS);
        let found = ways().find(|way| has(&entries[*way]));
        found
            .or_else(|| ways().find(|way| free(&entries[*way])))
            .unwrap_or(reduced)
    }

    /// cake_hash()
    fn hash(&mut self, tin: usize, packet: &Sent) -> usize {
        let mode = self.mode;
        let tin = &mut self.tins[tin];
        let mut hash = if mode & 4 > 0 { packet.flow } else { 0 };
        for end in (0..2).filter(|end| mode & 4 == 0 && mode & (1 << end) > 0) {
            hash ^= packet.hosts[end];
        }
        let entries: Vec<(u32, u8)> = (0..QUEUES)
            .map(|way| (tin.tags[way], tin.flows[way].set))
            .collect();
        let place = Self::find(&entries, hash, |it| it.0 == hash, |it| it.1 == NONE);
        let (tag, set) = entries[place];
        if tag == hash && set != NONE {
            return place;
        }
        if set == BULK {
            tin.count_bulk(place, mode, -1);
        }
        tin.tags[place] = hash;
        for end in (0..2).filter(|end| is_dual(mode, *end)) {
            let wanted = packet.hosts[end];
            let host = Self::find(&tin.hosts[end], wanted, |it| it.0 == wanted, |it| it.1 == 0);
            tin.hosts[end][host].0 = wanted;
            tin.flows[place].hosts[end] = host;
        }
        if set == BULK {
            tin.count_bulk(place, mode, 1);
        }
        place
    }

    fn qlen(&self) -> usize {
        self.tins.iter().map(Tin::backlog).sum()
    }

    fn enqueue(&mut self, now: i64, packet: Sent) {
        let tin = (self.index)(usize::from(packet.dscp));
        let place = self.hash(tin, &packet);
        if self.tins[tin].backlog() == 0 {
            self.tins[tin].time_next = self.tins[tin].time_next.max(now);
            if self.qlen() == 0 && self.time_next < now {
                (self.time_next, self.failsafe) = (now, now);
            }
        }
        let mode = self.mode;
        let b = &mut self.tins[tin];
        b.flows[place].packets.push_back((now, packet));
        match b.flows[place].set {
            set @ (NONE | DECAYING) => {
                if set == DECAYING {
                    b.decaying_flows.retain(|other| *other != place);
                }
                b.new_flows.push_back(place);
                b.flows[place].set = SPARSE;
                b.sparse += 1;
                b.flows[place].deficit = (b.quantum * (65535 / b.load(place, mode))) >> 16;
            }
            SPARSE_WAIT => {
                b.flows[place].set = BULK;
                b.sparse -= 1;
                b.bulk += 1;
                b.count_bulk(place, mode, 1);
            }
            _ => {}
        }
    }

    fn advance_shaper(&mut self, tin: usize, now: i64, bytes: u32, drop: bool) -> i64 {
        let len = u64::from(bytes);
        if self.shaped {
            let of = |(ns, shift): (u64, u32)| ((len * ns) >> shift) as i64;
            let (tin_dur, global_dur) = (of(self.tins[tin].rate), of(self.tins[0].rate));
            let b = &mut self.tins[tin];
            if b.time_next < now {
                b.time_next += tin_dur;
            } else if b.time_next < now + tin_dur {
                b.time_next = now + tin_dur;
            }
            self.time_next += global_dur;
            if !drop {
                self.failsafe += global_dur + (global_dur >> 1);
            }
        }
        len as i64
    }

    /// cake_dequeue(): true if a packet left.
    fn dequeue(&mut self, now: i64) -> bool {
        let mut first_flow = true;
        'begin: loop {
            if self.qlen() == 0 || (self.time_next > now && self.failsafe > now) {
                return false;
            }
            if self.shaped {
                let mut best = i64::MAX;
                for (number, b) in self.tins.iter().enumerate() {
                    let wait = b.time_next - now;
                    if b.sparse + b.bulk > 0 && (wait <= 0 || wait <= best) {
                        (best, self.cur_tin) = (wait, number);
                    }
                }
            } else {
                loop {
                    let count = self.tins.len();
                    let b = &mut self.tins[self.cur_tin];
                    if b.tin_deficit >= 0 && b.sparse + b.bulk > 0 {
                        break;
                    }
                    if b.tin_deficit <= 0 {
                        b.tin_deficit += b.tin_quantum;
                    }
                    self.cur_tin = (self.cur_tin + 1) % count;
                }
            }
            let (tin, mode) = (self.cur_tin, self.mode);
            'retry: loop {
                let b = &mut self.tins[tin];
                let lists = [&b.new_flows, &b.old_flows, &b.decaying_flows];
                let list = match lists.iter().position(|list| !list.is_empty()) {
                    _ if first_flow && !b.decaying_flows.is_empty() => 2,
                    Some(list) => list,
                    None => continue 'begin,
                };
                first_flow = false;
                let at = lists[list][0];
                let unlist = |b: &mut Tin| match list {
                    0 => b.new_flows.pop_front(),
                    1 => b.old_flows.pop_front(),
                    _ => b.decaying_flows.pop_front(),
                };
                if b.flows[at].deficit <= 0 {
                    if b.flows[at].set == SPARSE {
                        if b.flows[at].packets.is_empty() {
                            b.flows[at].set = SPARSE_WAIT;
                        } else {
                            b.sparse -= 1;
                            b.bulk += 1;
                            b.count_bulk(at, mode, 1);
                            b.flows[at].set = BULK;
                        }
                    }
                    let quantum = b.quantum * (65535 / b.load(at, mode)) + b.carry;
                    b.flows[at].deficit += quantum >> 16;
                    b.carry = quantum & 0xffff;
                    unlist(b);
                    b.old_flows.push_back(at);
                    continue 'retry;
                }
                loop {
                    let b = &mut self.tins[tin];
                    let bulk_flows = if self.ingress { i64::from(b.bulk) } else { 0 };
                    let (params, flow) = (b.params, &mut b.flows[at]);
                    let Some((since, packet)) = flow.packets.pop_front() else {
                        flow.cobalt.queue_empty(&params, now);
                        let rests = flow.cobalt.count == 0 && now >= flow.cobalt.drop_next;
                        let set = flow.set;
                        flow.set = if rests { NONE } else { DECAYING };
                        unlist(b);
                        if !rests {
                            b.decaying_flows.push_back(at);
                        }
                        if set == BULK {
                            b.bulk -= 1;
                            b.count_bulk(at, mode, -1);
                        } else if set != DECAYING {
                            b.sparse -= 1;
                        }
                        continue 'begin;
                    };
                    let drops = flow.cobalt.should_drop(&params, now, since, bulk_flows);
                    let is_last = flow.packets.is_empty();
                    if drops && !is_last {
                        self.lost.push(packet);
                        if self.ingress {
                            let len = self.advance_shaper(tin, now, packet.bytes, true);
                            self.tins[tin].flows[at].deficit -= len;
                            self.tins[tin].tin_deficit -= len;
                            continue 'retry;
                        }
                        continue;
                    }
                    let len = self.advance_shaper(tin, now, packet.bytes, false);
                    self.tins[tin].flows[at].deficit -= len;
                    self.tins[tin].tin_deficit -= len;
                    self.sent.push((now as u64, packet));
                    return true;
                }
            }
        }
    }
}

const ISOLATIONS: [&str; 8] = [
    "flowblind",
    "srchost",
    "dsthost",
    "hosts",
    "flows",
    "dual_srchost",
    "dual_dsthost",
    "triple_isolate",
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x51),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn packets_leave_as_from_linux(
        diffserv in prop::sample::select(vec![
            "besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8",
        ]),
        mode in 0_usize..8,
        rate_bps in prop::sample::select(vec![0_u64, 2_000_000, 20_000_000]),
        ingress in any::<bool>(),
        // flow, DSCP, bytes, and the time to the next arrival, us
        steps in prop::collection::vec((0_u32..40, 0_u8..64, 40_u32..1500, 0_u64..3000), 1..1500),
    ) {
        let mut given = vec![
            ("diffserv", word(diffserv)),
            ("isolation", word(ISOLATIONS[mode])),
            ("queues", number(QUEUES as f64)),
            ("ingress", Value::Switch(ingress)),
        ];
        if rate_bps > 0 {
            given.push(("rate_bps", number(rate_bps as f64)));
        }
        let mut ours = Link::new(&given, 100_000);
        let mut linux = Cake::new(diffserv, mode as u32, rate_bps, ingress, 100_000_000, 5_000_000);
        let mut free_ns = 0;
        for (count, (flow, dscp, bytes, gap_us)) in steps.iter().enumerate() {
            let packet = Sent {
                number: count as u32,
                flow: flow * 7,
                hosts: [1 + flow % 5, 11 + flow % 3],
                bytes: *bytes,
                dscp: *dscp,
            };
            linux.enqueue(ours.now_ns as i64, packet);
            ours.arrive(packet);
            // a link of 5 Mbit/s asks when it is free and at arrivals
            let until_ns = ours.now_ns + gap_us * 1000;
            loop {
                ours.now_ns = ours.now_ns.max(free_ns);
                if ours.now_ns > until_ns {
                    break;
                }
                let sent = ours.send();
                prop_assert_eq!(sent, linux.dequeue(ours.now_ns as i64));
                if sent {
                    free_ns = ours.now_ns + u64::from(ours.sent.last().unwrap().1.bytes) * 1600;
                } else if let Some(ready_ns) = ours.queue.ready_ns() {
                    free_ns = ready_ns;
                } else {
                    break;
                }
            }
            ours.now_ns = until_ns;
        }
        prop_assert_eq!(&ours.sent, &linux.sent);
        prop_assert_eq!(&ours.lost, &linux.lost);
        let waits = ours.queue.packets();
        prop_assert_eq!(waits, linux.qlen());
        prop_assert!(ours.now_ns < 10_000_000 * MS);
    }
}
