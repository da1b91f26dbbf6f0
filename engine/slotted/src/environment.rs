//! Environments for learning: many queues that stop before each arrival and ask what becomes of it.
//!
//! Each is a replication of the plan, run by the same events as any other run. The place of the AQM
//! is taken by a drop probability that comes from outside before each verdict.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use sluice_aqm::{Aqm, Verdict, View};

use crate::{
    replica::{Progress, begin},
    run::Plan,
};

/// What happened from one arrival to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Slots that passed.
    pub slots: u64,
    /// Waiting packets, summed over the ends of these slots.
    pub packet_slots: u64,
    /// Packets that were lost.
    pub lost: u64,
    /// Services that started.
    pub started: u64,
    /// Of these, packets that had waited for more than the deadline.
    pub late: u64,
}

/// What a packet finds that arrives, before its verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Slot of its arrival.
    pub slot: u64,
    /// Packets that wait.
    pub packets: u32,
    /// True if a packet is in service.
    pub is_busy: bool,
    /// Slots that the packet waited whose service started last.
    pub sojourn: u64,
    /// Slots that the packet at the head has waited; 0 if none waits. An AQM sees it only when the
    /// packet leaves.
    pub head_age: u64,
    /// Slots until the service ends; 0 if none is going on. No AQM sees it.
    pub service_left: u64,
}

/// Says yes or no as it is told.
struct Given(Arc<AtomicI64>);

impl Aqm for Given {
    fn arrive(&mut self, view: &View) -> Verdict {
        let drops = (view.random >> 32) as i64;
        let verdict = if drops < self.0.load(Ordering::Relaxed) {
            Verdict::DropEarly
        } else {
            Verdict::Admit
        };
        Self::settle(verdict, view)
    }
}

struct Environment {
    replica: Box<dyn Progress<Given> + Send>,
    /// Drop probability for the next verdict, Q31.32.
    probability: Arc<AtomicI64>,
    /// True if all slots of the episode are over.
    is_over: bool,
}

/// Several environments of one plan, each with random streams of its own.
pub struct Environments {
    plan: Plan,
    deadline: u64,
    each: Vec<Environment>,
    /// Episodes begun since the last reset.
    episodes: u32,
}

impl Environments {
    /// `count` environments before their first arrival; services that start after more than
    /// `deadline` slots count as late. An episode has the plan's slots.
    pub fn new(plan: Plan, count: usize, deadline: u64) -> Self {
        let mut environments = Self {
            plan,
            deadline,
            each: Vec::with_capacity(count),
            episodes: 0,
        };
        for _ in 0..count {
            let begun = environments.begin();
            environments.each.push(begun);
        }
        environments
    }

    /// Begins all anew, with the random streams of `seed`.
    pub fn reset(&mut self, seed: u64) {
        self.plan.seed = seed;
        self.episodes = 0;
        for number in 0..self.each.len() {
            self.each[number] = self.begin();
        }
    }

    fn begin(&mut self) -> Environment {
        let probability = Arc::new(AtomicI64::new(0));
        let words = self.plan.aqm_words(self.episodes);
        let start = |_| Given(probability.clone());
        let mut replica = begin(&self.plan, self.episodes, start, words, ());
        replica.step(false, self.plan.slots, self.deadline);
        self.episodes += 1;
        Environment {
            is_over: replica.found().slot >= self.plan.slots,
            replica,
            probability,
        }
    }

    /// Decides about the packet that arrives in each environment, with a drop probability (Q31.32)
    /// each, and runs to the next one. An environment whose episode was over begins the next episode
    /// instead.
    pub fn step(&mut self, probabilities: &[i64], mut tell: impl FnMut(Step, Found, bool)) {
        for (number, probability) in probabilities.iter().enumerate() {
            if self.each[number].is_over {
                self.each[number] = self.begin();
                let begun = &self.each[number];
                tell(Step::default(), begun.replica.found(), begun.is_over);
                continue;
            }
            let environment = &mut self.each[number];
            environment
                .probability
                .store(*probability, Ordering::Relaxed);
            let step = environment
                .replica
                .step(true, self.plan.slots, self.deadline);
            let found = environment.replica.found();
            environment.is_over = found.slot >= self.plan.slots;
            tell(step, found, environment.is_over);
        }
    }

    /// Tells what is found in each environment now.
    pub fn found(&self) -> impl Iterator<Item = (Found, bool)> {
        let each = self.each.iter();
        each.map(|environment| (environment.replica.found(), environment.is_over))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrivals, Monitor, Service, Session};
    use sluice_aqm::{BufferPolicy, Configured, Victim, find};

    fn plan(slots: u64) -> Plan {
        Plan {
            arrivals: Arrivals::Geometric { rate: 0.5 },
            packet_bytes: 500,
            service: Service::Geometric { mu: 0.5 },
            discipline: BufferPolicy {
                limit: 20,
                limit_bytes: None,
                victim: Victim::Tail,
                ecn: false,
            },
            scheduler: None,
            slots,
            replications: 1,
            seed: 5,
            slot_ns: 1_000_000,
        }
    }

    #[test]
    fn admitting_all_is_drop_tail_to_the_packet() {
        let plan = plan(100_000);
        let mut environments = Environments::new(plan.clone(), 1, 7);
        let (found, mut over) = environments.found().next().unwrap();
        let mut sum = Step {
            slots: found.slot,
            ..Step::default()
        };
        let mut steps = 0;
        while !over {
            environments.step(&[0], |step, found, is_over| {
                assert!(found.packets <= 20);
                sum.slots += step.slots;
                sum.packet_slots += step.packet_slots;
                sum.lost += step.lost;
                sum.started += step.started;
                sum.late += step.late;
                over = is_over;
            });
            steps += 1;
        }
        let drop_tail = Configured::new(find("drop_tail").unwrap(), &[]).unwrap();
        let mut session = Session::new(plan, drop_tail.into());
        session.advance(100_000, &Monitor::default()).unwrap();
        let seen = session.observe();
        assert_eq!(steps, seen.arrivals);
        assert_eq!(sum.lost, seen.queue.verdicts[3]);
        assert_eq!(sum.started, seen.served + u64::from(seen.in_service));
        assert_eq!(sum.slots, 100_000);
        // what is not served yet: at most 21 packets, each waiting 42 slots with a deviation of 6.5
        let waited = u128::from(sum.packet_slots) - seen.sojourn;
        assert!(waited < 21 * 100, "{waited}");
        assert!(sum.late > 0 && sum.late < sum.started);
    }

    #[test]
    fn the_same_seed_gives_the_same_episode() {
        let run = |seed: u64| {
            let mut environments = Environments::new(plan(1000), 3, 7);
            environments.reset(seed);
            let mut seen = Vec::new();
            for _ in 0..600 {
                environments.step(&[1 << 30; 3], |step, found, over| {
                    seen.push((step, found, over))
                });
            }
            seen
        };
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
        // environments beside each other differ
        let first: Vec<_> = run(3)
            .chunks(3)
            .map(|each| each[0].0 == each[1].0)
            .collect();
        assert!(first.iter().any(|same| !same));
    }

    #[test]
    fn dropping_all_leaves_nothing() {
        let mut environments = Environments::new(plan(1000), 1, 7);
        environments.step(&[1 << 32], |step, found, _| {
            assert_eq!((step.lost, step.started, found.packets), (1, 0, 0));
        });
    }
}
