//! The packets that arrived out of order: runs with gaps before and between them.
//!
//! There may be hundreds of runs. They are in the order of their numbers, so that a packet finds its
//! place with few steps, and each knows when it changed last: a receiver reports the three runs that
//! changed last (RFC 2018, section 4).

use std::collections::VecDeque;

use crate::segment::Block;

/// Memory for so many runs is kept when they are over.
const FEW: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    block: Block,
    /// Number of its last change; all changes have numbers from 1 on.
    changed: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// In the order of their numbers.
    runs: VecDeque<Run>,
    /// The three that changed last, the last one first; empty ones if there are fewer.
    latest: [Block; 3],
    changes: u32,
}

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// True if it has more memory than a few runs need.
    pub fn is_large(&self) -> bool {
        self.runs.capacity() > FEW
    }

    /// The three runs that changed last, the last one first; empty ones if there are fewer.
    pub fn latest(&self) -> [Block; 3] {
        self.latest
    }

    /// Records a packet. One that arrived before only changes which run is reported first.
    pub fn insert(&mut self, seq: u32) {
        if self.grows_at_edge(seq) {
            return;
        }
        let mut block = Block {
            start: seq,
            end: seq + 1,
        };
        let place = self.first_from(seq);
        let beside = self.runs.get(place).map(|run| run.block);
        if let Some(beside) = beside.filter(|beside| beside.start <= block.end) {
            block.start = block.start.min(beside.start);
            block.end = block.end.max(beside.end);
            let after = self.runs.get(place + 1).map(|run| run.block);
            if let Some(after) = after.filter(|after| after.start == block.end) {
                block.end = after.end;
                self.runs.remove(place + 1);
            }
        } else {
            self.make_room();
            self.runs.insert(place, Run::default());
        }
        self.changes += 1;
        self.runs[place] = Run {
            block,
            changed: self.changes,
        };
        self.report_first(block);
    }

    /// Records a packet if it follows the last run, which was the last to change: mostly it does.
    fn grows_at_edge(&mut self, seq: u32) -> bool {
        match self.runs.back_mut() {
            Some(last) if last.block.end == seq && self.latest[0].end == seq => {
                last.block.end += 1;
                self.latest[0].end += 1;
                true
            }
            _ => false,
        }
    }

    /// Removes the first run if it begins at `start`; returns its end.
    pub fn take_first(&mut self, start: u32) -> Option<u32> {
        let first = self.runs.front()?.block;
        if first.start != start {
            return None;
        }
        self.runs.pop_front();
        let mut others = self.latest.into_iter().filter(|other| *other != first);
        let mut next = || others.next().unwrap_or_default();
        self.latest = [next(), next(), next()];
        self.complete_latest();
        Some(first.end)
    }

    /// Returns the place of the first run that ends at `seq` or after it.
    fn first_from(&self, seq: u32) -> usize {
        match self.runs.back() {
            Some(last) if last.block.end >= seq => {
                self.runs.partition_point(|run| run.block.end < seq)
            }
            _ => self.runs.len(),
        }
    }

    fn make_room(&mut self) {
        if self.runs.len() == self.runs.capacity() {
            // do not double the capacity: in a burst of losses all flows need memory at once
            self.runs.reserve_exact(self.runs.len() / 2 + FEW);
        }
    }

    /// Reports a run first; others may have become a part of it.
    fn report_first(&mut self, block: Block) {
        let is_apart = |other: &Block| other.start < block.start || other.end > block.end;
        let mut others = self.latest.into_iter().filter(is_apart);
        let mut next = || others.next().unwrap_or_default();
        self.latest = [block, next(), next()];
        self.complete_latest();
    }

    /// Looks for the runs that changed before those known, if too few are known.
    fn complete_latest(&mut self) {
        let known = self.latest.iter().filter(|block| !block.is_empty()).count();
        if known < self.runs.len().min(3) {
            self.find_latest();
        }
    }

    #[cold]
    fn find_latest(&mut self) {
        let mut latest = [Run::default(); 3];
        for run in &self.runs {
            if let Some(place) = latest.iter().position(|other| other.changed < run.changed) {
                latest[place..].rotate_right(1);
                latest[place] = *run;
            }
        }
        self.latest = latest.map(|run| run.block);
    }
}
