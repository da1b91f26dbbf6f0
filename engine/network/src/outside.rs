//! The applications of one replication, for senders outside the simulator: the same users and players
//! with the same random draws, told what happens to real packets.

use std::ops::Range;

use sluice_scream::{Feedback, Unit};

use crate::{
    agenda::Agenda,
    endpoints::Endpoints,
    error::NetworkError,
    plan::Plan,
    reception::Reception,
    run::{ClassCounts, Counts, Period},
    sources::{Caller, Source, Supply},
};

/// A packet of a call that leaves.
#[derive(Clone, Copy, Debug)]
pub struct FramePacket {
    /// Its number and its size.
    pub unit: Unit,
    /// True if it is the last of its frame.
    pub ends: bool,
}

/// The applications of one replication. Times are of the run, ns.
pub struct Outside {
    ends: Endpoints,
    /// For each class, whether all of its flows are of applications that transfer objects.
    completes: Vec<bool>,
}

impl Outside {
    /// Draws the applications of a replication of `plan`, from the random streams of the simulation.
    ///
    /// # Errors
    /// If the plan is refused.
    pub fn new(plan: &Plan, replication: u32) -> Result<Self, NetworkError> {
        let (routes, clock) = plan.check()?;
        let mut agenda = Agenda::new();
        let ends = Endpoints::new(plan, &routes, u64::from(replication), clock, &mut agenda)?;
        let mut completes = vec![true; ends.classes.count.unwrap_or(0)];
        for (class, group) in plan.classes.iter().zip(&plan.groups) {
            let is_application = matches!(
                group.source,
                Source::Web(_) | Source::Video(_) | Source::Call(_)
            );
            completes[usize::from(*class)] &= is_application;
        }
        Ok(Self { ends, completes })
    }

    fn check(&self, flow: u32) -> Result<(), NetworkError> {
        match self.ends.applications.has(flow) {
            true => Ok(()),
            false => Err(NetworkError(format!("flow {flow} has no application"))),
        }
    }

    /// A flow's application gives it packets.
    ///
    /// # Errors
    /// If it has none.
    pub fn supply(&mut self, flow: u32, now_ns: u64) -> Result<Supply, NetworkError> {
        self.check(flow)?;
        Ok(self.ends.applications.supply(flow, now_ns))
    }

    /// All that its application gave a flow is there. Returns when which flows get packets.
    ///
    /// # Errors
    /// If it has none.
    pub fn arrived(
        &mut self,
        flow: u32,
        now_ns: u64,
    ) -> Result<Option<(u64, Range<u32>)>, NetworkError> {
        self.check(flow)?;
        Ok(self.ends.note_end(flow, now_ns))
    }

    /// Returns a call by its number.
    ///
    /// # Errors
    /// If there is none.
    fn call(&mut self, number: u32) -> Result<&mut Caller, NetworkError> {
        match self.ends.calls.get_mut(number as usize) {
            Some(call) => Ok(&mut call.caller),
            None => Err(NetworkError(format!("there is no call {number}"))),
        }
    }

    /// The sender of a call makes a frame. Returns when it makes the next; `None` if this was the last.
    ///
    /// # Errors
    /// If there is no such call; so for all that follow.
    pub fn make_frame(&mut self, call: u32, now_ns: u64) -> Result<Option<u64>, NetworkError> {
        Ok(self.call(call)?.make(now_ns))
    }

    /// Returns the packets of a call that leave now, and when the next one may.
    ///
    /// # Errors
    /// See `make_frame`.
    pub fn send_video(
        &mut self,
        call: u32,
        now_ns: u64,
    ) -> Result<(Vec<FramePacket>, Option<u64>), NetworkError> {
        let caller = self.call(call)?;
        let mut packets = Vec::new();
        while let Some(unit) = caller.sender.send(now_ns) {
            let ends = caller.ends(unit.seq);
            packets.push(FramePacket { unit, ends });
        }
        Ok((packets, caller.sender.release_ns()))
    }

    /// The receiver of a call takes a packet. Returns feedback if it is due.
    ///
    /// # Errors
    /// See `make_frame`.
    pub fn take_video(
        &mut self,
        call: u32,
        now_ns: u64,
        (seq, marked, ends): (u32, bool, bool),
    ) -> Result<Option<Feedback>, NetworkError> {
        let receiver = &mut self.call(call)?.receiver;
        Ok(receiver.on_packet(now_ns, seq, marked, ends))
    }

    /// Returns feedback of the receiver of a call if it is due by time alone, and when it will be.
    ///
    /// # Errors
    /// See `make_frame`.
    pub fn feedback_due(
        &mut self,
        call: u32,
        now_ns: u64,
    ) -> Result<(Option<Feedback>, Option<u64>), NetworkError> {
        let receiver = &mut self.call(call)?.receiver;
        let feedback = receiver.on_timer(now_ns);
        Ok((feedback, receiver.deadline_ns()))
    }

    /// The sender of a call takes feedback.
    ///
    /// # Errors
    /// See `make_frame`; also if it is none of the receiver's, which any host may send.
    pub fn learn(
        &mut self,
        call: u32,
        now_ns: u64,
        feedback: &Feedback,
    ) -> Result<(), NetworkError> {
        let sender = &mut self.call(call)?.sender;
        if !sender.may_be(now_ns, feedback) {
            return Err(NetworkError(format!(
                "call {call}: feedback of a packet that was not sent by then, {}",
                feedback.highest
            )));
        }
        sender.on_feedback(now_ns, feedback);
        Ok(())
    }

    /// Counts a packet of a call that arrived, where both ends are known: after the run.
    ///
    /// # Errors
    /// See `make_frame`.
    pub fn count_arrival(&mut self, call: u32, now_ns: u64, seq: u32) -> Result<(), NetworkError> {
        if let Some(frame_ns) = self.call(call)?.arrived(now_ns, seq).frame_ns {
            self.ends.note_frame(call, frame_ns);
        }
        Ok(())
    }

    /// Returns what was counted of the applications of each class since the last call, and nothing of
    /// classes with other flows. With `last` also what is unfinished.
    pub fn take(&mut self, now_ns: u64, last: bool) -> Period {
        let completions = self.ends.take_completions(now_ns, last);
        let felt = self.ends.take_felt(now_ns);
        let classes = completions.into_iter().zip(felt).zip(&self.completes);
        let counts = |((completions, felt), completes): ((_, _), &bool)| ClassCounts {
            counts: Counts::default(),
            acknowledged_bytes: 0,
            reception: Reception::default(),
            completions: if *completes {
                completions
            } else {
                Default::default()
            },
            felt,
        };
        Period {
            ports: Vec::new(),
            wires: Vec::new(),
            counts: Counts::default(),
            classes: classes.map(counts).collect(),
        }
    }
}
