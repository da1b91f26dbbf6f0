//! What several tests need: packets, AQMs and reproducible random words.

use std::collections::HashMap;

use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};
use sluice_aqm::{
    Aqm, BufferPolicy, Configured, Running, Value, Verdict, Victim, View, find, find_scheduler,
};
use sluice_ecn::Ecn;
use sluice_queue::Packet;

/// A packet with a number that identifies it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    pub number: usize,
    pub flow: u32,
    pub bytes: u32,
    pub dscp: u8,
    pub ecn_capable: bool,
    pub marked: bool,
}

impl Packet for Numbered {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn flow_hash(&self) -> u32 {
        self.flow
    }

    fn traffic_class(&self) -> u8 {
        let ecn = if self.ecn_capable {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        };
        self.dscp << 2 | ecn.bits()
    }

    fn mark(&mut self) {
        self.marked = true;
    }
}

/// Proptest with a fixed seed, so that every run tries the same cases.
pub fn repeatable(cases: u32) -> Config {
    Config {
        cases,
        rng_seed: RngSeed::Fixed(0x51_u64),
        failure_persistence: None,
        ..Config::default()
    }
}

/// SplitMix64 (Steele, Lea & Flood 2014).
pub fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

fn values(given: &[(&str, f64)]) -> Vec<(String, Value)> {
    given
        .iter()
        .map(|(name, number)| ((*name).to_owned(), Value::Number(*number)))
        .collect()
}

/// RED with these parameters.
pub fn red(given: &[(&str, f64)]) -> Running {
    Configured::new(find("red").unwrap(), &values(given))
        .unwrap()
        .start()
}

/// The scheduler of this name with these parameters.
pub fn scheduler(name: &str, given: &[(&str, f64)]) -> Configured {
    Configured::new(find_scheduler(name).unwrap(), &values(given)).unwrap()
}

/// Drop-tail.
pub fn drop_tail() -> Running {
    Configured::new(find("drop_tail").unwrap(), &[])
        .unwrap()
        .start()
}

/// An AQM with all functions of the contract: RED at arrivals, but a flow has at most
/// `most_of_a_flow` packets waiting, and an arrival whose candidate is of the same flow is dropped
/// together with it. Packets that waited for more than `late_ns` are marked or dropped at
/// departure.
pub struct Everything {
    pub red: Running,
    pub most_of_a_flow: i64,
    pub late_ns: u64,
    pub waiting_of: HashMap<u32, i64>,
}

impl Aqm for Everything {
    fn arrive(&mut self, view: &View) -> Verdict {
        if *self.waiting_of.entry(view.flow_hash).or_default() >= self.most_of_a_flow {
            return Verdict::DropForced;
        }
        if view.queue_packets > 5 && view.candidate_flow_hash == view.flow_hash {
            return Verdict::DropBoth;
        }
        self.red.arrive(view)
    }

    fn wants_candidate(&self) -> bool {
        true
    }

    fn watches_occupancy(&self) -> bool {
        true
    }

    fn occupancy(&mut self, view: &View, change: i64) {
        *self.waiting_of.entry(view.flow_hash).or_default() += change;
    }

    fn watches_departures(&self) -> bool {
        true
    }

    fn depart(&mut self, view: &View) -> Verdict {
        match view.sojourn_ns > self.late_ns {
            false => Verdict::Admit,
            true if view.ecn_capable == 1 => Verdict::Mark,
            true => Verdict::DropEarly,
        }
    }
}

/// An event at the queue.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet arrives.
    Arrive(Numbered),
    /// The link has sent its packet.
    Sent,
}

/// Draws arrivals of `flows` flows, and ends of transmissions, about as many.
pub fn steps(flows: u32) -> impl Strategy<Value = Vec<Step>> {
    let packet = (0..flows, 40_u32..1500, any::<bool>());
    let step = prop_oneof![
        5 => packet.prop_map(|(flow, bytes, ecn_capable)| Step::Arrive(Numbered {
            number: 0,
            flow,
            bytes,
            ecn_capable,
            ..Numbered::default()
        })),
        4 => Just(Step::Sent),
    ];
    prop::collection::vec(step, 1..1500).prop_map(|mut steps| {
        for (count, step) in steps.iter_mut().enumerate() {
            if let Step::Arrive(packet) = step {
                packet.number = count;
            }
        }
        steps
    })
}

/// Draws a discipline: a limit below 40 packets, perhaps one in bytes, any victim, marking or not.
pub fn disciplines() -> impl Strategy<Value = BufferPolicy> {
    let victims = vec![Victim::Tail, Victim::Front, Victim::Random];
    (
        1_u32..40,
        prop::option::of(1000_u64..20_000),
        prop::sample::select(victims),
        any::<bool>(),
    )
        .prop_map(|(limit, limit_bytes, victim, ecn)| BufferPolicy {
            limit,
            limit_bytes,
            victim,
            ecn,
        })
}
