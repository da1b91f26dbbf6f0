//! All events other than packets at the ends of links: timers, sources, ticks, samples.
//!
//! Each of hundreds of thousands of flows has a timer, and most timers are only put off when they
//! are due. So an entry that is not due within the present millisecond is not sorted yet: it is in
//! the bucket of its millisecond. A bucket is a list in one common store, so that no memory is
//! allocated for it. Entries beyond the buckets are in a second heap.

use std::{cmp::Reverse, collections::BinaryHeap};

use sluice_aqm::NEVER;
use sluice_link::Ticks;

/// A task; the index is the number of its flow, sender or port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// A TCP flow starts.
    Start(u32),
    /// A TCP flow's application has no more to send.
    Stop(u32),
    /// A TCP flow's application gives it packets.
    Supply(u32),
    /// A sender's timer may have run out.
    SenderTimer(u32),
    /// A packet of a sender that paces may leave.
    Release(u32),
    /// A receiver's timer may have run out.
    ReceiverTimer(u32),
    /// A sender of datagrams sends.
    Datagram(u32),
    /// A video call makes a frame.
    Frame(u32),
    /// The sender of a video call may send.
    CallSends(u32),
    /// The receiver of a video call may have feedback to send.
    CallAnswers(u32),
    /// The AQMs of a port get a tick.
    Tick(u32),
    /// The rate of a port's link changes.
    Rate(u32),
    /// The queues are sampled.
    Sample,
    /// The warm-up is over.
    WarmedUp,
}

/// Due time, order of entry, task.
type Entry = Reverse<(Ticks, u64, Task)>;

/// Width of a bucket, ticks, as a power of two: about a millisecond with the finest clock.
const BUCKET_BITS: u32 = 40;
/// Number of buckets: about four seconds with the finest clock.
const BUCKETS: u64 = 4096;

/// The end of a list in the store.
const END: u32 = u32::MAX;

/// Tasks in the order of their times. Tasks with the same time keep the order of their entry.
pub struct Agenda {
    /// Entries that are due before the end of bucket `present`.
    near: BinaryHeap<Entry>,
    /// Place of the first entry of each bucket after the present one. The bucket of an entry is
    /// `due >> BUCKET_BITS`.
    buckets: Vec<u32>,
    /// The entries of all buckets, each with the place of the next one of its list; free places are
    /// a list, too.
    store: Vec<(Entry, u32)>,
    free: u32,
    in_buckets: usize,
    /// Entries beyond the buckets.
    far: BinaryHeap<Entry>,
    present: u64,
    entered: u64,
}

impl Agenda {
    /// An empty agenda.
    pub fn new() -> Self {
        Self {
            near: BinaryHeap::new(),
            buckets: vec![END; BUCKETS as usize],
            store: Vec::new(),
            free: END,
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
            self.put_off(bucket, entry);
        } else {
            self.far.push(entry);
        }
    }

    /// Puts an entry into a bucket.
    #[inline]
    fn put_off(&mut self, bucket: u64, entry: Entry) {
        let first = &mut self.buckets[(bucket % BUCKETS) as usize];
        let place = self.free;
        if let Some(free) = self.store.get_mut(place as usize) {
            self.free = std::mem::replace(free, (entry, *first)).1;
            *first = place;
        } else {
            self.store.push((entry, *first));
            *first = self.store.len() as u32 - 1;
        }
        self.in_buckets += 1;
    }

    /// Returns when the first task is due; [`NEVER`] if there is none.
    #[inline]
    pub fn due(&mut self) -> Ticks {
        if self.near.is_empty() {
            self.turn();
        }
        self.near.peek().map_or(NEVER, |Reverse((due, ..))| *due)
    }

    /// Moves the entries of the next bucket that has any to `near`.
    #[inline(never)]
    fn turn(&mut self) {
        let Some(next) = self.next_bucket() else {
            return;
        };
        self.present = next;
        let mut place = std::mem::replace(&mut self.buckets[(next % BUCKETS) as usize], END);
        while place != END {
            let (entry, after) = self.store[place as usize];
            self.near.push(entry);
            self.in_buckets -= 1;
            self.store[place as usize].1 = self.free;
            self.free = place;
            place = after;
        }
        while let Some(Reverse((due, ..))) = self.far.peek()
            && due >> BUCKET_BITS <= next
        {
            self.near.extend(self.far.pop());
        }
    }

    /// Returns up to three tasks that are due soon, among them the next two.
    #[inline]
    pub fn soon(&self) -> impl Iterator<Item = Task> {
        // the root of the heap and its two children, one of which is the second task
        let first = self.near.as_slice().iter().take(3);
        first.map(|Reverse((.., task))| *task)
    }

    /// Returns the first bucket after the present one that has an entry.
    fn next_bucket(&self) -> Option<u64> {
        let far = self.far.peek().map(|Reverse((due, ..))| due >> BUCKET_BITS);
        let mut bucketed = self.present + 1..self.present + BUCKETS;
        let near = (self.in_buckets > 0)
            .then(|| bucketed.find(|at| self.buckets[(at % BUCKETS) as usize] != END))
            .flatten();
        match (near, far) {
            (Some(near), Some(far)) => Some(near.min(far)),
            (near, far) => near.or(far),
        }
    }

    /// Takes out the first task.
    pub fn pop(&mut self) -> Option<Task> {
        // the first task may still be in a bucket; this moves it to `near`
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
