//! SFB: against an oracle in floating point after Linux's sch_sfb.c, and what becomes of an
//! unresponsive flow beside others.

use sluice_aqm::{Aqm, Running, Verdict, View};

use crate::common::{configured, number};

const LEVELS: usize = 8;
const BINS: usize = 16;
const MS: u64 = 1_000_000;

fn view(now_ns: u64, flow_hash: u32, random: u64) -> View {
    View {
        now_ns,
        flow_hash,
        random,
        rate_bps: 1_000_000,
        ..View::default()
    }
}

/// SplitMix64's finaliser.
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[derive(Clone, Copy, Default)]
struct Bin {
    p: f64,
    packets: u32,
}

#[derive(Clone, Copy, Default)]
struct Set {
    salt: u64,
    unseen: u32,
    bins: [[Bin; BINS]; LEVELS],
}

impl Set {
    fn of(&mut self, flow: u32) -> impl Iterator<Item = &mut Bin> {
        let hash = mix(u64::from(flow) ^ self.salt) as u32;
        let levels = self.bins.iter_mut().enumerate();
        levels.map(move |(level, bins)| &mut bins[(hash >> (4 * level)) as usize % BINS])
    }
}

/// Steps of the probabilities are powers of 1/2, so that both have the same numbers.
const D1: f64 = 1.0 / 32.0;
const D2: f64 = 1.0 / 256.0;
const TARGET: u32 = 3;
const MOST: u32 = 6;
const REHASH_NS: u64 = 2000 * MS;
const WARM_UP_NS: u64 = 500 * MS;
const PENALTY_NS: u64 = 100 * MS;
const BURST: u64 = 4;

fn sfb() -> Running {
    let given = [
        ("d1", D1),
        ("d2", D2),
        ("bin_size", f64::from(TARGET)),
        ("bin_max", f64::from(MOST)),
        ("rehash", 2.0),
        ("warm_up", 0.5),
        ("penalty_rate", 10.0),
        ("penalty_burst", BURST as f64),
    ];
    configured("sfb", &given.map(|(name, value)| (name, number(value)))).start()
}

#[derive(Default)]
struct Oracle {
    sets: [Set; 2],
    active: usize,
    waiting: Vec<u32>,
    next_ns: Option<u64>,
    tokens: u64,
    token_ns: u64,
    /// How often each branch was taken: bin, penalty, let in, early, dropped as marks do not help.
    met: [u32; 5],
}

impl Oracle {
    fn occupancy(&mut self, flow: u32, joins: bool) {
        for set in &mut self.sets {
            if !joins && set.unseen > 0 {
                set.unseen -= 1;
                continue;
            }
            for bin in set.of(flow) {
                bin.packets = if joins {
                    bin.packets + 1
                } else {
                    bin.packets.saturating_sub(1)
                };
            }
        }
    }

    fn draw(&mut self, place: usize, random: u64) {
        self.sets[place] = Set {
            salt: mix(random),
            unseen: self.waiting.len() as u32,
            ..Set::default()
        };
    }

    fn shift(bin: &mut Bin) {
        if bin.packets == 0 {
            bin.p = (bin.p - D2).max(0.0);
        } else if bin.packets >= TARGET {
            bin.p = (bin.p + D1).min(1.0);
        }
    }

    fn arrive(&mut self, now_ns: u64, flow: u32, random: u64) -> Verdict {
        match self.next_ns {
            None => {
                self.draw(0, random);
                self.draw(1, !random);
                (self.tokens, self.token_ns) = (BURST, now_ns);
                self.next_ns = Some(now_ns + REHASH_NS);
            }
            Some(next_ns) if now_ns > next_ns => {
                self.draw(self.active, random);
                self.active ^= 1;
                self.next_ns = Some(now_ns + REHASH_NS);
            }
            Some(_) => {}
        }
        let (mut shortest, mut p) = (u32::MAX, 1.0_f64);
        for bin in self.sets[self.active].of(flow) {
            Self::shift(bin);
            shortest = shortest.min(bin.packets);
            p = p.min(bin.p);
        }
        if shortest >= MOST {
            self.met[0] += 1;
            return Verdict::DropForced;
        }
        if p >= 1.0 {
            if now_ns + WARM_UP_NS > self.next_ns.unwrap() {
                self.sets[self.active ^ 1].of(flow).for_each(Self::shift);
            }
            let came = (now_ns - self.token_ns) / PENALTY_NS;
            self.token_ns += came * PENALTY_NS;
            self.tokens = (self.tokens + came).min(BURST);
            self.met[if self.tokens > 0 { 2 } else { 1 }] += 1;
            if self.tokens == 0 {
                return Verdict::DropForced;
            }
            self.tokens -= 1;
            return Verdict::Admit;
        }
        let chance = (random >> 32) as f64 / 2_f64.powi(32);
        if chance >= p {
            Verdict::Admit
        } else if chance < 2.0 * (p - 0.5) {
            self.met[4] += 1;
            Verdict::DropForced
        } else {
            self.met[3] += 1;
            Verdict::DropEarly
        }
    }
}

#[test]
fn all_decisions_are_those_of_the_oracle() {
    let (mut sfb, mut oracle) = (sfb(), Oracle::default());
    let mut random = 1;
    let mut draw = || {
        random = mix(random + 0x9e37_79b9_7f4a_7c15 % 1_000_003);
        random
    };
    let mut now_ns = 0;
    for step in 0..60_000 {
        // a flow that sends more and more, and twenty others
        now_ns += draw() % (2 * MS);
        let flow = if draw() % 3 == 0 { 7 } else { draw() % 20 } as u32;
        if draw() % 5 < 2 + u64::from(oracle.waiting.len() > 20) {
            if !oracle.waiting.is_empty() {
                let leaves = oracle.waiting.remove(0);
                oracle.occupancy(leaves, false);
                sfb.occupancy(&view(now_ns, leaves, 0), -1);
            }
            continue;
        }
        let word = draw();
        let wanted = oracle.arrive(now_ns, flow, word);
        let got = sfb.arrive(&view(now_ns, flow, word));
        assert_eq!(got, wanted, "step {step}");
        if wanted == Verdict::Admit {
            oracle.occupancy(flow, true);
            oracle.waiting.push(flow);
            sfb.occupancy(&view(now_ns, flow, 0), 1);
        }
    }
    assert!(
        oracle.met.iter().all(|count| *count > 20),
        "{:?}",
        oracle.met
    );
}

/// A flow that does not respond gets what the others leave of the link, and these lose nothing.
#[test]
fn an_unresponsive_flow_pays_alone() {
    let mut sfb = configured("sfb", &[("d1", number(0.01))]).start();
    let (mut waiting, mut lost, mut sent) = (std::collections::VecDeque::new(), [0; 2], [0; 2]);
    let mut random = 5;
    for tick in 0..60_000_u64 {
        let now_ns = tick * MS;
        random = mix(random + 1);
        // the link sends a packet each ms; the flood has two, and ten flows have half of one
        let flood = [(1, true), (1, true)];
        let others = (tick % 2 == 0).then(|| (100 + (tick / 2 % 10) as u32, false));
        for (flow, is_flood) in flood.into_iter().chain(others) {
            let seen = View {
                full: u8::from(waiting.len() >= 100),
                ..view(now_ns, flow, mix(random ^ u64::from(flow)))
            };
            let is_admitted = sfb.arrive(&seen) == Verdict::Admit;
            // after the time in which its probability rises
            if tick > 30_000 {
                let place = usize::from(is_flood);
                sent[place] += 1;
                lost[place] += u32::from(!is_admitted);
            }
            if is_admitted {
                waiting.push_back(flow);
                sfb.occupancy(&view(now_ns, flow, 0), 1);
            }
        }
        if let Some(flow) = waiting.pop_front() {
            sfb.occupancy(&view(now_ns, flow, 0), -1);
        }
    }
    assert_eq!(lost[0], 0, "{sent:?}");
    // of 1000 packets a second 500; it sends 2000
    let passed = f64::from(sent[1] - lost[1]) / 30.0;
    assert!((300.0..=500.0).contains(&passed), "{passed}");
}

/// A new `rehash` counts from the last hash: nothing waits for the old time.
#[test]
fn a_new_time_of_hashing_is_taken_at_once() {
    let with_rehash = |rehash_s: f64| {
        let given = [
            ("d1", 0.25),
            ("bin_size", 1.0),
            ("rehash", rehash_s),
            ("warm_up", 0.0),
        ];
        configured("sfb", &given.map(|(name, value)| (name, number(value))))
    };
    let mut sfb = with_rehash(600.0).start();
    sfb.arrive(&view(0, 7, u64::MAX));
    sfb.occupancy(&view(0, 7, 0), 1);
    // a packet waits: each of the next arrivals raises the probability
    for _ in 0..3 {
        sfb.arrive(&view(0, 7, u64::MAX));
    }
    assert_eq!(sfb.probability(), Some(0.75));
    assert!(sfb.retune(&with_rehash(2.0)));
    sfb.arrive(&view(2000 * MS, 7, 0));
    assert_eq!(sfb.probability(), Some(1.0));
    // the other set knows the packet that waits, and nothing else
    sfb.arrive(&view(2001 * MS, 7, 0));
    assert_eq!(sfb.probability(), Some(0.25));
}
