//! All events other than packets at the ends of links: timers, sources, ticks, samples.
//!
//! Each of hundreds of thousands of flows has a timer, and a flow that paces has one for each packet.
//! So an entry that is not due within the present millisecond is not sorted yet: it is in the bucket
//! of its millisecond, and a whole bucket is sorted at once when its time has come. A bucket is a
//! list of blocks in one common store, so that no memory is allocated for it. Entries that come for
//! the present millisecond are in a heap, those beyond the buckets in another.

use std::{cmp::Reverse, collections::BinaryHeap};

use sluice_aqm::NEVER;
use sluice_link::Ticks;

use crate::ahead::prefetch_entry;

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
    /// The smoothed round trips of TCP are counted.
    RoundTrips,
    /// The warm-up is over.
    WarmedUp,
}

/// Due time, order of entry, task.
type Entry = (Ticks, u64, Task);

/// Width of a bucket, ticks, as a power of two: about a millisecond with the finest clock.
const BUCKET_BITS: u32 = 40;
/// Number of buckets: about four seconds with the finest clock.
const BUCKETS: u64 = 4096;
/// Entries in a block.
const BLOCK: u32 = 8;

/// No block.
const END: u32 = u32::MAX;

/// Tasks in the order of their times. Tasks with the same time keep the order of their entry.
pub struct Agenda {
    /// What was in bucket `present`, the first task last.
    near: Vec<Entry>,
    /// Entries that came later and are due before the end of that bucket.
    added: BinaryHeap<Reverse<Entry>>,
    /// First block of each bucket after the present one. The bucket of an entry is
    /// `due >> BUCKET_BITS`.
    buckets: Vec<u32>,
    /// The entries of all blocks.
    store: Vec<Entry>,
    blocks: Vec<Block>,
    /// First of the free blocks, which are a list, too.
    free: u32,
    in_buckets: usize,
    /// Entries beyond the buckets.
    far: BinaryHeap<Reverse<Entry>>,
    present: u64,
    entered: u64,
}

/// A part of a bucket's entries. With many timers, each block is in no cache: a list of single
/// entries would wait for the memory at each of them.
#[derive(Clone, Copy)]
struct Block {
    entries: u32,
    /// The next block of its list, or [`END`].
    next: u32,
}

impl Agenda {
    /// An empty agenda.
    pub fn new() -> Self {
        Self {
            near: Vec::new(),
            added: BinaryHeap::new(),
            buckets: vec![END; BUCKETS as usize],
            store: Vec::new(),
            blocks: Vec::new(),
            free: END,
            in_buckets: 0,
            far: BinaryHeap::new(),
            present: 0,
            entered: 0,
        }
    }

    /// Enters a task.
    pub fn add(&mut self, due: Ticks, task: Task) {
        let entry = (due, self.entered, task);
        self.entered += 1;
        let bucket = due >> BUCKET_BITS;
        if bucket <= self.present {
            self.added.push(Reverse(entry));
        } else if bucket < self.present + BUCKETS {
            self.put_off(bucket, entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// Puts an entry into a bucket.
    #[inline]
    fn put_off(&mut self, bucket: u64, entry: Entry) {
        let bucket = (bucket % BUCKETS) as usize;
        let mut block = self.buckets[bucket];
        if block == END || self.blocks[block as usize].entries == BLOCK {
            block = self.take_block(block);
            self.buckets[bucket] = block;
        }
        let Block { entries, .. } = &mut self.blocks[block as usize];
        self.store[(block * BLOCK + *entries) as usize] = entry;
        *entries += 1;
        self.in_buckets += 1;
    }

    /// Returns an empty block before `next`.
    fn take_block(&mut self, next: u32) -> u32 {
        let entries = 0;
        let block = self.free;
        if let Some(free) = self.blocks.get_mut(block as usize) {
            self.free = free.next;
            *free = Block { entries, next };
            return block;
        }
        self.blocks.push(Block { entries, next });
        let places = self.blocks.len() * BLOCK as usize;
        self.store.resize(places, (NEVER, 0, Task::Sample));
        self.blocks.len() as u32 - 1
    }

    /// Returns when the first task is due; [`NEVER`] if there is none.
    #[inline]
    pub fn due(&mut self) -> Ticks {
        if self.near.is_empty() && self.added.is_empty() {
            self.turn();
        }
        let near = self.near.last().map_or(NEVER, |(due, ..)| *due);
        let added = self.added.peek().map_or(NEVER, |Reverse((due, ..))| *due);
        near.min(added)
    }

    /// Moves the entries of the next bucket that has any to `near`.
    #[inline(never)]
    fn turn(&mut self) {
        let Some(next) = self.next_bucket() else {
            return;
        };
        self.present = next;
        let mut block = std::mem::replace(&mut self.buckets[(next % BUCKETS) as usize], END);
        while block != END {
            let first = (block * BLOCK) as usize;
            let Block { entries, next } = self.blocks[block as usize];
            prefetch_entry(&self.store, next.wrapping_mul(BLOCK) as usize);
            let entries = &self.store[first..first + entries as usize];
            self.near.extend_from_slice(entries);
            self.in_buckets -= entries.len();
            self.blocks[block as usize].next = self.free;
            self.free = block;
            block = next;
        }
        while let Some(Reverse((due, ..))) = self.far.peek()
            && due >> BUCKET_BITS <= next
        {
            self.near.extend(self.far.pop().map(|Reverse(entry)| entry));
        }
        self.near
            .sort_unstable_by_key(|entry| Reverse((entry.0, entry.1)));
    }

    /// Returns the task that is due after `ahead` others, if it was entered some time ago.
    #[inline]
    pub fn soon(&self, ahead: usize) -> Option<Task> {
        let place = self.near.len().checked_sub(ahead + 1)?;
        Some(self.near[place].2)
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
        let first = self
            .near
            .last()
            .map_or((NEVER, NEVER), |entry| (entry.0, entry.1));
        let is_added = |added: &Reverse<Entry>| (added.0.0, added.0.1) < first;
        if self.added.peek().is_some_and(is_added) {
            return self.added.pop().map(|Reverse((.., task))| task);
        }
        self.near.pop().map(|(.., task)| task)
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
