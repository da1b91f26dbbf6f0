//! The queue in front of a link.

use sluice_aqm::{Aqm, Discipline, Verdict, Victim};

use crate::{
    below,
    classify::Classifier,
    lane::Lane,
    packet::{Packet, Waiting},
    scheduler::{Order, Scheduler},
};

/// All that waits in front of one link, and the rules that it waits under.
pub struct Queue<P, A> {
    discipline: Discipline,
    /// The scheduler's queues.
    lanes: Vec<Lane<P, A>>,
    classifier: Classifier,
    order: Order,
    /// The lane whose packet the link sends.
    serving: Option<usize>,
    packets: usize,
    bytes: u64,
    verdicts: [u64; Verdict::COUNT],
}

impl<P: Packet, A: Aqm> Queue<P, A> {
    /// An empty queue in front of an idle link of `rate_bps` bits/s. `start_aqm` gives each of
    /// the scheduler's queues its own AQM.
    pub fn new(
        discipline: Discipline,
        scheduler: Scheduler,
        start_aqm: impl Fn() -> A,
        rate_bps: u64,
    ) -> Self {
        let Discipline { limit, ecn, .. } = discipline;
        Self {
            discipline,
            lanes: (0..scheduler.queues())
                .map(|_| Lane::new(start_aqm(), limit, rate_bps, ecn))
                .collect(),
            classifier: Classifier::new(scheduler.queues(), scheduler.perturbation_ns()),
            order: Order::new(scheduler),
            serving: None,
            packets: 0,
            bytes: 0,
            verdicts: [0; Verdict::COUNT],
        }
    }

    /// Waiting packets, without the one that the link sends.
    #[inline]
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The AQM of each of the scheduler's queues; with `fifo` there is one.
    pub fn aqms(&self) -> impl Iterator<Item = &A> {
        self.lanes.iter().map(Lane::aqm)
    }

    /// How often each verdict was given: one for every arrival, and one for every packet that was
    /// lost as a candidate, or marked or dropped as it left.
    pub fn verdicts(&self) -> &[u64; Verdict::COUNT] {
        &self.verdicts
    }

    /// How often [`Queue::tick`] is to be called, ns; never if `None`.
    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.lanes[0].tick_interval_ns()
    }

    /// Ticks every AQM.
    pub fn tick(&mut self, now_ns: u64) {
        for lane in &mut self.lanes {
            lane.tick(now_ns);
        }
    }

    /// Takes in a packet; an idle link is then to ask for its next with [`Queue::depart`].
    ///
    /// `random` gives 64 fresh random bits a call. `lost` gets each packet that is lost and why;
    /// it need not be the arriving one. Returns the verdict on the arrival.
    #[inline]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        mut packet: P,
        random: &mut impl FnMut() -> u64,
        lost: &mut impl FnMut(P, Verdict),
    ) -> Verdict {
        let own = match self.order {
            Order::Fifo => 0,
            _ => self.classifier.queue(now_ns, packet.flow_hash(), random),
        };
        let mut verdict = self.lanes[own].judge(now_ns, &packet, random);
        if !verdict.is_drop() && self.packets >= self.discipline.limit as usize {
            verdict = Verdict::DropOverflow;
        }
        self.verdicts[verdict as usize] += 1;
        if verdict.is_drop() {
            let victim = self.take_victim(now_ns, own, packet.bytes(), verdict, random);
            if let Some(victim) = victim {
                lost(victim, verdict);
            }
            if victim.is_none() || verdict == Verdict::DropBoth {
                lost(packet, verdict);
                return verdict;
            }
        } else if verdict == Verdict::Mark {
            packet.mark();
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes());
        self.lanes[own].push(now_ns, packet);
        self.order.wake(own);
        verdict
    }

    /// The longest lane, a packet of `arriving_bytes` counted as the last of lane `own`.
    fn longest(&self, own: usize, arriving_bytes: u32) -> usize {
        if self.lanes.len() == 1 {
            return own;
        }
        let length = |index: usize| {
            let lane = &self.lanes[index];
            let (arriving, bytes) = if index == own {
                (1, arriving_bytes)
            } else {
                (0, 0)
            };
            match self.order.counts_bytes() {
                true => lane.bytes() + u64::from(bytes),
                false => lane.packets() as u64 + arriving,
            }
        };
        let mut longest = own;
        for index in self.order.queues() {
            if length(index) > length(longest) {
                longest = index;
            }
        }
        longest
    }

    /// Takes out the waiting packet that `verdict` on an arrival at lane `own` makes the victim;
    /// `None` where that is the arriving packet, of `arriving_bytes`.
    #[inline(never)]
    fn take_victim(
        &mut self,
        now_ns: u64,
        own: usize,
        arriving_bytes: u32,
        verdict: Verdict,
        random: &mut impl FnMut() -> u64,
    ) -> Option<P> {
        let from = match verdict {
            Verdict::DropBoth => return self.take_candidate(now_ns, own),
            Verdict::DropOverflow => self.longest(own, arriving_bytes),
            _ => own,
        };
        let index = match self.discipline.victim {
            Victim::Tail if from == own => return None,
            Victim::Tail => self.lanes[from].packets() - 1,
            Victim::Front => 0,
            Victim::Random => below(random(), self.lanes[from].packets()),
        };
        let victim = self.lanes[from].remove(now_ns, index)?;
        self.forget(&victim);
        Some(victim)
    }

    /// Takes the candidate out of lane `from`; it's counted here, as its companion is by `arrive`.
    fn take_candidate(&mut self, now_ns: u64, from: usize) -> Option<P> {
        let candidate = self.lanes[from].remove_candidate(now_ns)?;
        self.forget(&candidate);
        self.verdicts[Verdict::DropBoth as usize] += 1;
        Some(candidate)
    }

    #[inline]
    fn forget(&mut self, gone: &P) {
        self.packets -= 1;
        self.bytes -= u64::from(gone.bytes());
    }

    /// The packet that the link is to send next, and since when it waited; to be called whenever
    /// the link is free, and so also as each transmission ends.
    ///
    /// Packets that the AQM drops as they would leave go to `lost`.
    #[inline]
    pub fn depart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        lost: &mut impl FnMut(P, Verdict),
    ) -> Option<Waiting<P>> {
        if let Some(lane) = self.serving.take() {
            self.lanes[lane].end_service(now_ns);
        }
        loop {
            let next = self.order.next(|lane| self.lanes[lane].head_bytes())?;
            let (mut head, verdict) = self.lanes[next].pop(now_ns, random)?;
            self.forget(&head.packet);
            if verdict != Verdict::Admit {
                self.verdicts[verdict as usize] += 1;
            }
            if verdict.is_drop() {
                lost(head.packet, verdict);
                continue;
            }
            if verdict == Verdict::Mark {
                head.packet.mark();
            }
            self.order
                .sent(next, head.packet.bytes(), self.lanes[next].packets() == 0);
            self.serving = Some(next);
            return Some(head);
        }
    }
}
