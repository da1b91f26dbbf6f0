//! The queue in front of a link.

use sluice_aqm::{Aqm, Discipline, Verdict, Victim};

use crate::{lane::Lane, packet::Packet, scheduler::Scheduler};

/// All that waits in front of one link, and the rules that it waits under.
pub struct Queue<P, A> {
    discipline: Discipline,
    lanes: Vec<Lane<P, A>>,
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
        let lanes = match scheduler {
            Scheduler::Fifo => 1,
        };
        Self {
            discipline,
            lanes: (0..lanes)
                .map(|_| Lane::new(start_aqm(), limit, rate_bps, ecn))
                .collect(),
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
    /// marked or dropped as it left.
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
        let own = 0;
        let verdict = self.lanes[own].judge(now_ns, &packet, random());
        self.verdicts[verdict as usize] += 1;
        if verdict == Verdict::Mark {
            packet.mark();
        } else if verdict.is_drop() {
            match self.take_victim(now_ns, own, random) {
                Some(victim) => lost(victim, verdict),
                None => {
                    lost(packet, verdict);
                    return verdict;
                }
            }
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes());
        self.lanes[own].push(now_ns, packet);
        verdict
    }

    /// Takes the victim out of lane `from`; `None` where it is the arriving packet.
    fn take_victim(
        &mut self,
        now_ns: u64,
        from: usize,
        random: &mut impl FnMut() -> u64,
    ) -> Option<P> {
        let index = match self.discipline.victim {
            Victim::Tail => return None,
            Victim::Front => 0,
            Victim::Random => below(random(), self.lanes[from].packets()),
        };
        let victim = self.lanes[from].remove(now_ns, index)?;
        self.forget(&victim);
        Some(victim)
    }

    #[inline]
    fn forget(&mut self, gone: &P) {
        self.packets -= 1;
        self.bytes -= u64::from(gone.bytes());
    }

    /// The packet that the link is to send next; to be called whenever the link is free, and so
    /// also as each transmission ends.
    ///
    /// Packets that the AQM drops as they would leave go to `lost`.
    #[inline]
    pub fn depart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        lost: &mut impl FnMut(P, Verdict),
    ) -> Option<P> {
        if let Some(lane) = self.serving.take() {
            self.lanes[lane].end_service(now_ns);
        }
        loop {
            let next = 0;
            let (mut packet, verdict) = self.lanes[next].pop(now_ns, random)?;
            self.forget(&packet);
            if verdict != Verdict::Admit {
                self.verdicts[verdict as usize] += 1;
            }
            if verdict.is_drop() {
                lost(packet, verdict);
                continue;
            }
            if verdict == Verdict::Mark {
                packet.mark();
            }
            self.serving = Some(next);
            return Some(packet);
        }
    }
}

/// Uniform on 0 .. `count`: the upper half of a random word's product with it.
#[inline]
fn below(random: u64, count: usize) -> usize {
    ((u128::from(random) * count as u128) >> 64) as usize
}
