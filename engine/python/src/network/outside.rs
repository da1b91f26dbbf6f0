//! The applications of a replication, for Python's senders.

use std::sync::Mutex;

use pyo3::prelude::*;
use sluice_network::{Feedback, FramePacket, NetworkError, Outside, Plan};

use super::classes::ClassCounts;
use crate::scenario::{PyDiscipline, PyScenario, refused};

/// A packet of a call: its number, its size, and whether it is the last one of its frame.
type Video = (u32, u16, bool);

/// Feedback of a call: the highest number that arrived, when, and which of those before it arrived and
/// were marked, a bit for each.
type Report = (u32, u64, u32, u32);

fn report(of: Feedback) -> Report {
    (of.highest, of.arrived_ns, of.received, of.marked)
}

/// The applications of one replication: the users and players of the network world, told what happens
/// to real packets. Times are of the run, ns.
#[pyclass(frozen, module = "sluicegate._engine")]
pub struct Applications(Mutex<Outside>);

impl Applications {
    /// Calls with what it holds.
    fn with<T>(&self, act: impl FnOnce(&mut Outside) -> T) -> T {
        let mut held = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        act(&mut held)
    }

    /// Likewise, where that may be refused.
    fn attempt<T>(&self, act: impl FnOnce(&mut Outside) -> Result<T, NetworkError>) -> PyResult<T> {
        self.with(act).map_err(refused)
    }
}

#[pymethods]
impl Applications {
    #[new]
    fn new(scenario: &PyScenario, discipline: &PyDiscipline, replication: u32) -> PyResult<Self> {
        let plan = Plan::of(scenario.network()?, &discipline.0).map_err(refused)?;
        let outside = Outside::new(&plan, replication).map_err(refused)?;
        Ok(Self(Mutex::new(outside)))
    }

    /// A TCP flow's application gives it packets. Returns how many, and when it gives the next
    /// whatever becomes of them; None if that decides.
    fn supply(&self, flow: u32, now_ns: u64) -> PyResult<(u32, Option<u64>)> {
        let supply = self.attempt(|held| held.supply(flow, now_ns))?;
        Ok((supply.packets, supply.again_ns))
    }

    /// All that its application gave a TCP flow is there. Returns when which flows get packets: the
    /// time, the first flow, and that after the last; None if none does.
    fn arrived(&self, flow: u32, now_ns: u64) -> PyResult<Option<(u64, u32, u32)>> {
        let next = self.attempt(|held| held.arrived(flow, now_ns))?;
        Ok(next.map(|(due_ns, flows)| (due_ns, flows.start, flows.end)))
    }

    /// The sender of a call makes a frame. Returns when it makes the next; None if this was the last.
    fn make_frame(&self, call: u32, now_ns: u64) -> PyResult<Option<u64>> {
        self.attempt(|held| held.make_frame(call, now_ns))
    }

    /// The packets of a call that leave now, and when the next one may; None if none waits.
    fn send_video(&self, call: u32, now_ns: u64) -> PyResult<(Vec<Video>, Option<u64>)> {
        let (packets, next_ns) = self.attempt(|held| held.send_video(call, now_ns))?;
        let packets = packets.into_iter();
        let video = packets.map(|FramePacket { unit, ends }| (unit.seq, unit.bytes, ends));
        Ok((video.collect(), next_ns))
    }

    /// The receiver of a call takes a packet. Returns feedback if it is due.
    fn take_video(
        &self,
        call: u32,
        now_ns: u64,
        seq: u32,
        marked: bool,
        ends: bool,
    ) -> PyResult<Option<Report>> {
        let feedback = self.attempt(|held| held.take_video(call, now_ns, (seq, marked, ends)))?;
        Ok(feedback.map(report))
    }

    /// Feedback of a call that is due by time alone, and when it will be.
    fn feedback_due(&self, call: u32, now_ns: u64) -> PyResult<(Option<Report>, Option<u64>)> {
        let (feedback, due_ns) = self.attempt(|held| held.feedback_due(call, now_ns))?;
        Ok((feedback.map(report), due_ns))
    }

    /// The sender of a call takes feedback; what its receiver cannot have sent is refused.
    fn learn(&self, call: u32, now_ns: u64, report: Report) -> PyResult<()> {
        let (highest, arrived_ns, received, marked) = report;
        let feedback = Feedback {
            highest,
            arrived_ns,
            received,
            marked,
        };
        self.attempt(|held| held.learn(call, now_ns, &feedback))
    }

    /// Counts a packet of a call that arrived, where both ends are known: after the run.
    fn count_arrival(&self, call: u32, now_ns: u64, seq: u32) -> PyResult<()> {
        self.attempt(|held| held.count_arrival(call, now_ns, seq))
    }

    /// What was counted of the applications of each class since the last call; with `last` also what
    /// is unfinished.
    fn take(&self, py: Python<'_>, now_ns: u64, last: bool) -> PyResult<Vec<Py<ClassCounts>>> {
        let period = self.with(|held| held.take(now_ns, last));
        let classes = 0..period.classes.len();
        classes
            .map(|class| ClassCounts::new(py, &period, class))
            .collect()
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Applications>()
}
