//! What is due at a time of its own: timers, sources, ticks, samples.
//!
//! Flows by the hundred thousand have a timer each, which mostly comes up only to be put off. So
//! what is not due within the present millisecond is not sorted yet: it lies in the bucket of its
//! millisecond, and what is beyond the buckets in a heap of its own.

use std::{cmp::Reverse, collections::BinaryHeap};

use sluice_aqm::NEVER;
use sluice_link::Ticks;

/// What there is to do; the index says for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A TCP flow starts.
    Start(u32),
    /// A TCP flow's application has no more to send.
    Stop(u32),
    /// A user of the web fetches an object over this TCP flow.
    Fetch(u32),
    /// A sender's timer may have run out.
    SenderTimer(u32),
    /// A receiver's timer may have run out.
    ReceiverTimer(u32),
    /// A sender of datagrams sends.
    Datagram(u32),
    /// The AQM of a port wants its tick.
    Tick(u32),
    /// The queues are sampled.
    Sample,
    /// The warm-up is over.
    WarmedUp,
}

/// Due time, order of entry, task.
type Entry = Reverse<(Ticks, u64, Task)>;

/// Width of a bucket, as a power of two: about a millisecond of the finest clock.
const BUCKET_BITS: u32 = 40;
/// Buckets: about four seconds.
const BUCKETS: u64 = 4096;

/// Tasks in the order of their time, and of their entry where times are equal.
pub struct Agenda {
    /// All that is due before the end of bucket `present`.
    near: BinaryHeap<Entry>,
    /// Bucket of every time, `due >> BUCKET_BITS`, behind the present one.
    buckets: Vec<Vec<Entry>>,
    in_buckets: usize,
    /// All that lies beyond the buckets.
    far: BinaryHeap<Entry>,
    present: u64,
    entered: u64,
}

impl Agenda {
    /// Nothing to do.
    pub fn new() -> Self {
        Self {
            near: BinaryHeap::new(),
            buckets: vec![Vec::new(); BUCKETS as usize],
            in_buckets: 0,
            far: BinaryHeap::new(),
            present: 0,
            entered: 0,
        }
    }

    /// Enters a task.
    pub fn add(&mut self, due: Ticks, task: Task) {
        let entry = Reverse((due, self.entered, task));
        self.entered += 1;
        let bucket = due >> BUCKET_BITS;
        if bucket <= self.present {
            self.near.push(entry);
        } else if bucket < self.present + BUCKETS {
            self.buckets[(bucket % BUCKETS) as usize].push(entry);
            self.in_buckets += 1;
        } else {
            self.far.push(entry);
        }
    }

    /// When the first task is due; [`NEVER`] if there is none.
    pub fn due(&mut self) -> Ticks {
        while self.near.is_empty() {
            let Some(next) = self.next_bucket() else {
                return NEVER;
            };
            self.present = next;
            // its memory is given back: the buckets together would hold several times what is due
            let bucket = std::mem::take(&mut self.buckets[(next % BUCKETS) as usize]);
            self.in_buckets -= bucket.len();
            self.near.extend(bucket);
            while let Some(Reverse((due, ..))) = self.far.peek()
                && due >> BUCKET_BITS <= next
            {
                self.near.extend(self.far.pop());
            }
        }
        self.near.peek().map_or(NEVER, |Reverse((due, ..))| *due)
    }

    /// Tasks that come up soon, among them the next and the one after it.
    #[inline]
    pub fn soon(&self) -> impl Iterator<Item = Task> {
        // of a heap the root, and below it the second
        let first = self.near.as_slice().iter().take(3);
        first.map(|Reverse((.., task))| *task)
    }

    /// The first bucket behind the present one in which something is due.
    fn next_bucket(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse((due, ..))| due >> BUCKET_BITS);
        let mut bucketed = self.present + 1..self.present + BUCKETS;
        let near = (self.in_buckets > 0)
            .then(|| bucketed.find(|at| !self.buckets[(at % BUCKETS) as usize].is_empty()))
            .flatten();
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// Takes out the first task.
    pub fn pop(&mut self) -> Option<Task> {
        // the first may still lie in a bucket
        self.due();
        self.near.pop().map(|Reverse((.., task))| task)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_the_order_of_one_heap(
            steps in prop::collection::vec((0_u32..3, 0_u64..1 << 54), 1..400),
        ) {
            let (mut agenda, mut model) = (Agenda::new(), BinaryHeap::new());
            let mut now = 0;
            for (number, (step, ahead)) in steps.into_iter().enumerate() {
                if step > 0 {
                    // near, bucketed and far entries, many of them at the same time
                    let due = now + [ahead % 3, ahead % (1 << 42), ahead][number % 3];
                    agenda.add(due, Task::Tick(number as u32));
                    model.push(Reverse((due, number, Task::Tick(number as u32))));
                } else if let Some(Reverse((due, _, task))) = model.pop() {
                    if number % 2 == 0 {
                        prop_assert_eq!(agenda.due(), due);
                    }
                    prop_assert_eq!(agenda.pop(), Some(task));
                    now = due;
                } else {
                    prop_assert_eq!(agenda.due(), NEVER);
                }
            }
        }
    }
}
