//! The packets that wait before a link, and the rules for them, in one lane or several.

use sluice_aqm::{Aqm, BufferPolicy, Configured, Verdict, Victim};

use crate::{
    ack_filter::{AckFacts, needless},
    below,
    lane::{Lane, Wants},
    observer::{Event, Observer},
    packet::{Packet, Waiting, by_arrival},
    schedule::{Schedule, Several},
    state::{LaneState, Occupancy},
};

/// The lanes of one link. [`Queue`](crate::Queue) documents the functions.
pub struct Buffer<P, A, S: Schedule> {
    limit: u32,
    limit_bytes: u64,
    pub victim: Victim,
    pub lanes: S::Lanes<Lane<P>>,
    /// The AQM of each lane; none if `schedule` judges the packets of all.
    pub aqms: S::Lanes<A>,
    pub schedule: S,
    pub verdicts: [u64; Verdict::COUNT],
    /// The lane that the last arrival joined; `None` if it was lost.
    joined: Option<usize>,
    /// Between two ticks: only parameters change it.
    pub tick_interval_ns: Option<u64>,
}

impl<P: Packet, A: Aqm, S: Schedule> Buffer<P, A, S> {
    pub fn new(
        discipline: BufferPolicy,
        schedule: S,
        start_aqm: impl Fn(u32) -> A,
        lane: impl Fn(u32, Wants) -> Lane<P>,
    ) -> Self {
        let aqms = schedule.aqms(start_aqm);
        Self {
            limit: discipline.limit,
            limit_bytes: discipline.limit_bytes.unwrap_or(u64::MAX),
            victim: discipline.victim,
            lanes: schedule.lanes(|number| lane(number, schedule.wants(aqms.as_ref(), number))),
            tick_interval_ns: schedule.tick_interval_ns(aqms.as_ref()),
            aqms,
            schedule,
            verdicts: [0; Verdict::COUNT],
            joined: None,
        }
    }

    /// Goes on under another discipline with the same lanes; see [`Queue::retune`].
    ///
    /// [`Queue::retune`]: crate::Queue::retune
    pub fn retune(
        &mut self,
        now_ns: u64,
        discipline: &BufferPolicy,
        keep: &impl Fn(u32, &mut A) -> bool,
        start: &impl Fn(u32) -> A,
    ) {
        self.limit = discipline.limit;
        self.limit_bytes = discipline.limit_bytes.unwrap_or(u64::MAX);
        self.victim = discipline.victim;
        for lane in self.lanes.as_mut() {
            lane.retune(discipline);
        }
        let buffer = self.occupancy();
        for number in 0..self.aqms.as_ref().len() {
            if keep(number as u32, &mut self.aqms.as_mut()[number]) {
                continue;
            }
            let aqm = start(number as u32);
            let lane = &mut self.lanes.as_mut()[number];
            let mut before = buffer;
            before -= lane.occupancy();
            let waiting = lane.restart(Wants::of(&aqm));
            self.aqms.as_mut()[number] = aqm;
            for waiting in waiting {
                self.rejoin(now_ns, number, waiting, before);
                before += Occupancy::of_one(waiting.packet.bytes());
            }
        }
        self.tick_interval_ns = self.schedule.tick_interval_ns(self.aqms.as_ref());
    }

    /// Adds a packet to a lane in which, or in another, it has waited under another AQM.
    /// `buffer` is what waits in all lanes before it.
    fn rejoin(&mut self, now_ns: u64, own: usize, waiting: Waiting<P>, buffer: Occupancy) {
        let lane = &mut self.lanes.as_mut()[own];
        if lane.show_change(now_ns, &waiting.packet, buffer) {
            self.aqms.as_mut()[own].occupancy(lane.view(), 1);
        }
        lane.push(waiting.since_ns, waiting.packet);
    }

    /// Takes over what waited, and was decided, under another scheduler, in the order of arrival.
    pub fn take_over<T: Schedule>(
        &mut self,
        now_ns: u64,
        old: &mut Buffer<P, A, T>,
        mut random: &mut dyn FnMut() -> u64,
    ) {
        self.verdicts = old.verdicts;
        let lanes = old.lanes.as_mut().iter_mut();
        let is_serving = lanes.fold(false, |serves, lane| serves | lane.is_serving());
        let mut waiting: Vec<_> = (old.lanes.as_mut().iter_mut())
            .flat_map(Lane::take_all)
            .collect();
        by_arrival(&mut waiting);
        for waiting in waiting {
            let own = self.schedule.classify(now_ns, &waiting.packet, &mut random);
            self.rejoin(now_ns, own, waiting, self.occupancy());
            let lane = &self.lanes.as_ref()[own];
            self.schedule.join(own, lane, waiting.packet.bytes());
        }
        for lane in self.lanes.as_mut() {
            lane.note_idle(now_ns);
        }
        if is_serving {
            self.lanes.as_mut()[self.schedule.served()].serve();
        }
    }

    /// Returns what waits in all lanes.
    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        self.schedule.occupancy(self.lanes.as_ref())
    }

    /// Returns what can be seen of each lane now.
    pub fn states(&self) -> Vec<LaneState> {
        let lane = |(number, lane): (usize, &Lane<P>)| {
            let aqm = self.aqms.as_ref().get(number);
            LaneState {
                packets: lane.packets(),
                bytes: lane.bytes(),
                average: aqm.and_then(Aqm::average),
                probability: aqm.map_or_else(|| self.schedule.probability(), Aqm::probability),
            }
        };
        self.lanes.as_ref().iter().enumerate().map(lane).collect()
    }

    #[inline]
    fn has_room(&self, bytes: u32) -> bool {
        let waiting = self.occupancy();
        // a limit that was lowered may be below what waits
        waiting.packets < self.limit
            && u64::from(bytes) <= self.limit_bytes.saturating_sub(waiting.bytes)
    }

    pub fn tick(&mut self, now_ns: u64, observer: &mut impl Observer<P>) {
        let aqms = self.aqms.as_mut();
        let common_ns = self.tick_interval_ns.unwrap_or(0);
        for (number, lane) in self.lanes.as_mut().iter_mut().enumerate() {
            lane.show_tick(now_ns);
            if (self.schedule).tick(aqms, common_ns, number, lane.view()) {
                observer.note(now_ns, number, Event::Tick(lane.view()));
            }
        }
    }

    /// Returns the verdict for a packet that arrives at lane `own`.
    #[inline(always)]
    pub fn judge(
        &mut self,
        own: usize,
        now_ns: u64,
        packet: &P,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        let full = !self.has_room(packet.bytes());
        let buffer = self.occupancy();
        let lane = &mut self.lanes.as_mut()[own];
        lane.show_arrival(now_ns, packet, full, buffer, random);
        let verdict = self.schedule.arrive(self.aqms.as_mut(), own, lane.view());
        observer.note(now_ns, own, Event::Arrive(lane.view(), verdict));
        self.verdicts[verdict as usize] += 1;
        verdict
    }

    #[inline(always)]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        mut packet: P,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        let own = self.schedule.classify(now_ns, &packet, random);
        let verdict = self.judge(own, now_ns, &packet, random, observer);
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => packet.mark(),
            _ => {
                let bytes = packet.bytes();
                if let Err(why) = self.make_room(now_ns, own, bytes, verdict, random, observer) {
                    self.joined = None;
                    observer.note(now_ns, own, Event::LoseArrival(why));
                    observer.lost(packet, why);
                    return verdict;
                }
            }
        }
        let buffer = self.occupancy();
        let lane = &mut self.lanes.as_mut()[own];
        let told = lane.show_change(now_ns, &packet, buffer);
        if told {
            self.aqms.as_mut()[own].occupancy(lane.view(), 1);
        }
        observer.note(now_ns, own, Event::Join(told.then(|| lane.view())));
        lane.push(now_ns, packet);
        self.schedule.join(own, lane, packet.bytes());
        self.joined = Some(own);
        verdict
    }

    /// Drops the waiting packets that are lost instead of an arrival of `bytes` at lane `own`.
    ///
    /// # Errors
    /// If the arrival itself is lost; the error is its verdict.
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
            if let Some(index) = self.lanes.as_mut()[own].take_candidate() {
                self.verdicts[verdict as usize] += 1;
                self.lose(now_ns, own, index, verdict, false, observer);
            }
            return Err(verdict);
        }
        let mut why = verdict;
        while u64::from(bytes) <= self.limit_bytes {
            let Some((lane, index)) = self.pick_victim(own, bytes, why, random) else {
                break;
            };
            self.lose(now_ns, lane, index, why, false, observer);
            if self.has_room(bytes) {
                return Ok(());
            }
            // there is still no room: another packet is lost
            why = Verdict::DropOverflow;
            self.verdicts[why as usize] += 1;
        }
        Err(why)
    }

    /// Returns lane and index of the waiting packet that is dropped for an arrival of `bytes` at
    /// lane `own`; `None` if the arrival itself is dropped.
    fn pick_victim(
        &mut self,
        own: usize,
        bytes: u32,
        why: Verdict,
        random: &mut impl FnMut() -> u64,
    ) -> Option<(usize, usize)> {
        let lane = match why {
            Verdict::DropOverflow => self.schedule.victim(own, bytes),
            _ => own,
        };
        let waiting = self.lanes.as_ref()[lane].packets() as usize;
        let index = match self.victim {
            Victim::Tail if lane == own => return None,
            Victim::Tail => waiting - 1,
            Victim::Front => 0,
            Victim::Random => below(random(), waiting),
        };
        (index < waiting).then_some((lane, index))
    }

    /// Returns the lane that the last arrival joined and the place there of an ACK that it makes needless.
    pub fn needless_ack(&self, facts: impl Fn(&P) -> Option<AckFacts>) -> Option<(usize, usize)> {
        let filter = self.schedule.ack_filter()?;
        let joined = self.joined?;
        let waiting = self.lanes.as_ref()[joined].packets_in_order();
        let newest = waiting.clone().next_back().and_then(&facts)?;
        Some((joined, needless(filter, waiting.map(facts), &newest)?))
    }

    /// Removes the ACK at the place that `needless_ack` returned.
    pub fn remove_ack(
        &mut self,
        now_ns: u64,
        (lane, index): (usize, usize),
        observer: &mut impl Observer<P>,
    ) {
        let why = Verdict::DropForced;
        self.verdicts[why as usize] += 1;
        self.lose(now_ns, lane, index, why, true, observer);
    }

    /// Drops the waiting packet at `index` of a lane; `is_needless`: an ACK that was filtered.
    fn lose(
        &mut self,
        now_ns: u64,
        lane: usize,
        index: usize,
        why: Verdict,
        is_needless: bool,
        observer: &mut impl Observer<P>,
    ) {
        let from = &mut self.lanes.as_mut()[lane];
        let victim = from.remove(index).expect("a packet at every index");
        from.note_idle(now_ns);
        self.schedule.leave(lane, from, victim.bytes());
        let buffer = self.occupancy();
        let from = &mut self.lanes.as_mut()[lane];
        let told = from.show_change(now_ns, &victim, buffer);
        if told {
            self.aqms.as_mut()[lane].occupancy(from.view(), -1);
        }
        if is_needless {
            from.show_loss(now_ns, &victim, buffer);
            self.schedule.thinned(from.view());
        } else if self.schedule.watches_losses() {
            from.show_loss(now_ns, &victim, buffer);
            self.schedule.lost(from.view());
        }
        observer.note(now_ns, lane, Event::Leave(index, told.then(|| from.view())));
        observer.note(now_ns, lane, Event::LoseLeft(why));
        observer.lost(victim, why);
    }

    #[inline(always)]
    pub fn depart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Option<Waiting<P>> {
        let lanes = self.lanes.as_mut();
        lanes[self.schedule.served()].end_service(now_ns);
        loop {
            let next = self.schedule.next(now_ns, lanes)?;
            let lane = &mut lanes[next];
            let mut head = lane.pop()?;
            self.schedule.leave(next, lane, head.packet.bytes());
            let buffer = self.schedule.occupancy(lanes);
            let lane = &mut lanes[next];
            let told = lane.show_change(now_ns, &head.packet, buffer);
            if told {
                self.aqms.as_mut()[next].occupancy(lane.view(), -1);
            }
            observer.note(now_ns, next, Event::Leave(0, told.then(|| lane.view())));
            if lane.show_departure(now_ns, &head, buffer, random) {
                let verdict = self.schedule.depart(self.aqms.as_mut(), next, lane.view());
                observer.note(now_ns, next, Event::Depart(lane.view(), verdict));
                if verdict != Verdict::Admit {
                    self.verdicts[verdict as usize] += 1;
                }
                if verdict.is_drop() {
                    lane.end_service(now_ns);
                    observer.note(now_ns, next, Event::LoseLeft(verdict));
                    observer.lost(head.packet, verdict);
                    continue;
                }
                if verdict == Verdict::Mark {
                    head.packet.mark();
                }
            }
            self.schedule.send(next, head.packet.bytes());
            return Some(head);
        }
    }
}

impl<P: Packet, A: Aqm> Buffer<P, A, Several> {
    /// Gives the scheduler new parameters; false if its lanes would not be the same.
    pub fn retune_scheduler(&mut self, scheduler: &Configured) -> bool {
        self.schedule.retune(scheduler)
    }

    /// `arrive`, not inlined into the world's loop, so that this stays fast for FIFOs.
    #[inline(never)]
    pub fn arrive_apart(
        &mut self,
        now_ns: u64,
        packet: P,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        self.arrive(now_ns, packet, random, observer)
    }

    /// `depart`, not inlined either. Its answer has another type, so that that of FIFOs stays in
    /// registers.
    #[inline(never)]
    pub fn depart_apart(
        &mut self,
        now_ns: u64,
        random: &mut impl FnMut() -> u64,
        observer: &mut impl Observer<P>,
    ) -> Option<(P, u64)> {
        let sent = self.depart(now_ns, random, observer)?;
        Some((sent.packet, sent.since_ns))
    }
}
