//! What is due at a time of its own: timers, sources, ticks, samples.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::tournament::NEVER;

/// What there is to do; the index says for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A TCP flow starts.
    Start(u32),
    /// A TCP flow's application has no more to send.
    Stop(u32),
    /// A sender's timer may have run out.
    SenderTimer(u32),
    /// A receiver's timer may have run out.
    ReceiverTimer(u32),
    /// A datagram flow sends.
    Datagram(u32),
    /// The AQM of a port wants its tick.
    Tick(u32),
    /// The queues are sampled.
    Sample,
    /// The first half of the run is over.
    Half,
}

/// Tasks in the order of their time, and of their entry where times are equal.
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Task)>>,
    entered: u64,
}

impl Agenda {
    /// Enters a task; true if it has become the first.
    pub fn add(&mut self, due_ns: u64, task: Task) -> bool {
        let first = due_ns < self.due_ns();
        self.heap.push(Reverse((due_ns, self.entered, task)));
        self.entered += 1;
        first
    }

    /// When the first task is due; [`NEVER`] if there is none.
    pub fn due_ns(&self) -> u64 {
        self.heap.peek().map_or(NEVER, |Reverse((due, ..))| *due)
    }

    /// Takes out the first task.
    pub fn pop(&mut self) -> Option<Task> {
        self.heap.pop().map(|Reverse((.., task))| task)
    }
}
