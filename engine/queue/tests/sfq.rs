//! Compares SFQ with a plain model.

use std::{cell::RefCell, collections::VecDeque};

use proptest::prelude::*;
use sluice_aqm::{BufferPolicy, Victim};
use sluice_queue::Queue;

use crate::common::{Numbered, Step, disciplines, drop_tail, repeatable, scheduler, steps, words};

/// A plain model of McKenney 1990.
struct Plain {
    discipline: BufferPolicy,
    buckets: Vec<VecDeque<Numbered>>,
    turns: Vec<usize>,
    salt: Option<u64>,
}

impl Plain {
    fn bucket(&self, flow: u32) -> usize {
        let word = u64::from(flow) ^ self.salt.unwrap();
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let word = word ^ (word >> 31);
        ((u128::from(word) * self.buckets.len() as u128) >> 64) as usize
    }

    fn is_over(&self) -> bool {
        let packets = self.buckets.iter().flatten();
        let bytes: u64 = packets.clone().map(|packet| u64::from(packet.bytes)).sum();
        packets.count() > self.discipline.limit as usize
            || bytes > self.discipline.limit_bytes.unwrap_or(u64::MAX)
    }

    /// Handles an arriving packet and returns the packets that are lost.
    fn arrive(&mut self, packet: Numbered, random: &mut impl FnMut() -> u64) -> Vec<Numbered> {
        let own = self.bucket(packet.flow);
        random(); // the AQM's word
        if u64::from(packet.bytes) > self.discipline.limit_bytes.unwrap_or(u64::MAX) {
            return vec![packet];
        }
        self.buckets[own].push_back(packet);
        let mut lost = Vec::new();
        while self.is_over() {
            let longest = self.buckets.iter().map(VecDeque::len).max().unwrap();
            let is_longest = |queue: &usize| self.buckets[*queue].len() == longest;
            let from = Some(own).filter(is_longest);
            let from = from
                .or_else(|| self.turns.iter().copied().find(is_longest))
                .unwrap();
            let bucket = &mut self.buckets[from];
            // a random victim is never the arriving packet, unless it is alone in its bucket
            let waiting = bucket.len() - usize::from(from == own);
            let index = match self.discipline.victim {
                Victim::Tail => bucket.len() - 1,
                Victim::Front => 0,
                Victim::Random => ((u128::from(random()) * waiting as u128) >> 64) as usize,
            };
            lost.extend(bucket.remove(index));
            if lost.last() == Some(&packet) {
                return lost;
            }
        }
        if !self.turns.contains(&own) {
            self.turns.push(own);
        }
        lost
    }

    fn depart(&mut self) -> Option<Numbered> {
        while !self.turns.is_empty() {
            let bucket = self.turns.remove(0);
            if let Some(packet) = self.buckets[bucket].pop_front() {
                if !self.buckets[bucket].is_empty() {
                    self.turns.push(bucket);
                }
                return Some(packet);
            }
        }
        None
    }
}

proptest! {
    #![proptest_config(repeatable(400))]

    #[test]
    fn sfq_is_the_plain_model(
        discipline in disciplines(),
        queues in 1_u32..12,
        perturbation_ns in prop_oneof![Just(0), 1_u64..400],
        steps in steps(15),
        seed: u64,
    ) {
        let perturbation_s = perturbation_ns as f64 / 1e9;
        let sfq = [("queues", queues.into()), ("perturbation_s", perturbation_s)];
        let sfq = scheduler("sfq", &sfq);
        let mut queue = Queue::new(discipline, Some(&sfq), |_| drop_tail(), 1_000_000);
        let mut plain = Plain {
            discipline,
            buckets: vec![VecDeque::new(); queues as usize],
            turns: Vec::new(),
            salt: None,
        };
        let (mut random, mut plain_random) = (words(seed), words(seed));
        let (lost, mut epoch) = (RefCell::new(Vec::new()), 0);
        for (now_ns, step) in (0_u64..).zip(steps) {
            if let Step::Arrive(packet) = step {
                let now_epoch = now_ns.checked_div(perturbation_ns).unwrap_or(0);
                if plain.salt.is_none() || now_epoch != epoch {
                    plain.salt = Some(plain_random());
                    epoch = now_epoch;
                }
                queue.arrive(now_ns, packet, &mut random, &mut |gone, _| {
                    lost.borrow_mut().push(gone);
                });
                prop_assert_eq!(lost.take(), plain.arrive(packet, &mut plain_random));
            } else {
                let sent = queue.depart(now_ns, &mut random, &mut |_, _| ());
                prop_assert_eq!(sent.map(|sent| sent.packet), plain.depart());
            }
        }
    }
}
