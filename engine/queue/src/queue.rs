//! The queue in front of a link.

use sluice_aqm::{Aqm, Discipline, Verdict, Victim};

use crate::{
    below,
    classify::Classifier,
    lane::Lane,
    observer::{Event, Observer},
    packet::{Packet, Waiting},
    scheduler::{Order, Scheduler},
};

/// All that waits in front of one link, and the rules that it waits under.
pub struct Queue<P, A> {
    pub(crate) limit: usize,
    pub(crate) limit_bytes: u64,
    pub(crate) victim: Victim,
    /// The scheduler's queues.
    pub(crate) lanes: Vec<Lane<P, A>>,
    classifier: Classifier,
    pub(crate) order: Order,
    /// The lane whose packet the link sends.
    serving: Option<usize>,
    pub(crate) packets: usize,
    pub(crate) bytes: u64,
    pub(crate) verdicts: [u64; Verdict::COUNT],
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
            limit: limit as usize,
            limit_bytes: discipline.limit_bytes.unwrap_or(u64::MAX),
            victim: discipline.victim,
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
    /// lost as a candidate, or in addition to make room in bytes, or marked or dropped as it left.
    /// So every packet that is lost counts once.
    pub fn verdicts(&self) -> &[u64; Verdict::COUNT] {
        &self.verdicts
    }

    /// How often [`Queue::tick`] is to be called, ns; never if `None`.
    pub fn tick_interval_ns(&self) -> Option<u64> {
        self.lanes[0].tick_interval_ns()
    }

    /// Ticks every AQM.
    pub fn tick(&mut self, now_ns: u64, observer: &mut impl Observer<P>) {
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            lane.tick(now_ns);
            observer.note(now_ns, number, Event::Tick(lane.view()));
        }
    }

    #[inline]
    fn has_room(&self, bytes: u32) -> bool {
        self.packets < self.limit && u64::from(bytes) <= self.limit_bytes - self.bytes
    }

    /// Takes in a packet; an idle link is then to ask for its next with [`Queue::depart`].
    ///
    /// `random` gives 64 fresh random bits a call. `observer` gets each packet that is lost, and
    /// why: the arriving one or those that make room for it. Returns the verdict on the arrival.
    #[inline]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        mut packet: P,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        let own = match self.order {
            Order::Fifo => 0,
            _ => self.classifier.queue(now_ns, packet.flow_hash(), random),
        };
        let full = !self.has_room(packet.bytes());
        let lane = &mut self.lanes[own];
        let verdict = lane.judge(now_ns, &packet, full, random);
        observer.note(now_ns, own, Event::Arrive(lane.view(), verdict));
        self.verdicts[verdict as usize] += 1;
        if verdict.is_drop() {
            let bytes = packet.bytes();
            if let Err(why) = self.make_room(now_ns, own, bytes, verdict, random, observer) {
                observer.note(now_ns, own, Event::LoseArrival(why));
                observer.lost(packet, why);
                return verdict;
            }
        } else if verdict == Verdict::Mark {
            packet.mark();
        }
        self.packets += 1;
        self.bytes += u64::from(packet.bytes());
        let lane = &mut self.lanes[own];
        lane.push(now_ns, packet);
        observer.note(now_ns, own, Event::Join(lane.occupancy_view()));
        self.order.wake(own);
        verdict
    }

    /// Drops the waiting packets that go in place of an arrival of `bytes` at lane `own`.
    ///
    /// # Errors
    /// Why the arrival is lost, if it is that.
    #[inline(never)]
    fn make_room(
        &mut self,
        now_ns: u64,
        own: usize,
        bytes: u32,
        verdict: Verdict,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Result<(), Verdict> {
        if verdict == Verdict::DropBoth {
            if let Some(index) = self.lanes[own].take_candidate() {
                self.verdicts[verdict as usize] += 1;
                self.lose(now_ns, own, index, verdict, observer);
            }
            return Err(verdict);
        }
        let mut why = verdict;
        while u64::from(bytes) <= self.limit_bytes {
            let Some((lane, index)) = self.pick_victim(own, bytes, why, random) else {
                break;
            };
            self.lose(now_ns, lane, index, why, observer);
            if self.has_room(bytes) {
                return Ok(());
            }
            // one packet more is lost
            why = Verdict::DropOverflow;
            self.verdicts[why as usize] += 1;
        }
        Err(why)
    }

    /// Lane and index of the waiting packet that is dropped for an arrival of `bytes` at lane
    /// `own`; `None` where the arrival itself is.
    fn pick_victim(
        &self,
        own: usize,
        bytes: u32,
        why: Verdict,
        random: &mut impl FnMut() -> u64,
    ) -> Option<(usize, usize)> {
        let lane = match why {
            Verdict::DropOverflow => self.longest(own, bytes),
            _ => own,
        };
        let waiting = self.lanes[lane].packets();
        let index = match self.victim {
            Victim::Tail if lane == own => return None,
            Victim::Tail => waiting - 1,
            Victim::Front => 0,
            Victim::Random => below(random(), waiting),
        };
        (index < waiting).then_some((lane, index))
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

    /// Drops the waiting packet at `index` of a lane.
    fn lose(
        &mut self,
        now_ns: u64,
        lane: usize,
        index: usize,
        why: Verdict,
        observer: &mut impl Observer<P>,
    ) {
        let Some(victim) = self.lanes[lane].remove(now_ns, index) else {
            return;
        };
        self.forget(&victim);
        let told = self.lanes[lane].occupancy_view();
        observer.note(now_ns, lane, Event::Leave(index, told));
        observer.note(now_ns, lane, Event::LoseLeft(why));
        observer.lost(victim, why);
    }

    #[inline]
    pub(crate) fn forget(&mut self, gone: &P) {
        self.packets -= 1;
        self.bytes -= u64::from(gone.bytes());
    }

    /// The packet that the link is to send next, and since when it waited; to be called whenever
    /// the link is free, and so also as each transmission ends.
    ///
    /// Packets that the AQM drops as they would leave go to `observer`.
    #[inline]
    pub fn depart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Option<Waiting<P>> {
        if let Some(lane) = self.serving.take() {
            self.lanes[lane].end_service(now_ns);
        }
        loop {
            let next = self.order.next(|lane| self.lanes[lane].head_bytes())?;
            let lane = &mut self.lanes[next];
            let mut head = lane.pop(now_ns)?;
            observer.note(now_ns, next, Event::Leave(0, lane.occupancy_view()));
            let verdict = lane.judge_departure(now_ns, &head, random);
            if let Some(verdict) = verdict {
                observer.note(now_ns, next, Event::Depart(lane.view(), verdict));
            }
            self.forget(&head.packet);
            match verdict {
                None | Some(Verdict::Admit) => {}
                Some(Verdict::Mark) => {
                    self.verdicts[Verdict::Mark as usize] += 1;
                    head.packet.mark();
                }
                Some(why) => {
                    self.verdicts[why as usize] += 1;
                    self.lanes[next].end_service(now_ns);
                    observer.note(now_ns, next, Event::LoseLeft(why));
                    observer.lost(head.packet, why);
                    continue;
                }
            }
            let is_empty = self.lanes[next].packets() == 0;
            self.order.sent(next, head.packet.bytes(), is_empty);
            self.serving = Some(next);
            return Some(head);
        }
    }
}
