//! The packets that arrived out of order: runs with gaps before and between them.
//!
//! A receiver reports the three runs that changed last (RFC 2018, section 4). Mostly there are one or
//! two, which are in the receiver itself, without another access to memory. But there may be
//! hundreds: then they are in the order of their numbers, so that a packet finds its place with few
//! steps, and each knows when it changed last.

use std::collections::VecDeque;

use crate::segment::Block;

/// The runs of a receiver.
#[derive(Clone, Debug)]
pub(crate) enum Runs {
    /// The one that changed last comes first; empty ones follow.
    Few([Block; 2]),
    Many(Box<Many>),
}

impl Default for Runs {
    fn default() -> Self {
        Self::Few(Default::default())
    }
}

impl Runs {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Few(runs) => runs[0].is_empty(),
            Self::Many(_) => false,
        }
    }

    /// The three runs that changed last, the last one first; empty ones if there are fewer.
    pub fn latest(&self) -> [Block; 3] {
        match self {
            Self::Few([first, second]) => [*first, *second, Block::default()],
            Self::Many(many) => many.latest,
        }
    }

    /// All of them, in the order of their numbers.
    #[cfg(test)]
    pub fn all(&self) -> Vec<Block> {
        let mut all: Vec<_> = match self {
            Self::Few(runs) => runs.to_vec(),
            Self::Many(many) => many.runs.iter().map(|run| run.block).collect(),
        };
        all.retain(|run| !run.is_empty());
        all.sort_by_key(|run| run.start);
        all
    }

    /// Records a packet. One that arrived before only changes which run is reported first.
    pub fn insert(&mut self, seq: u32) {
        match self {
            Self::Few(runs) => {
                if !insert_in_few(runs, seq) {
                    *self = Self::many(*runs, seq);
                }
            }
            Self::Many(many) => many.insert(seq),
        }
    }

    #[cold]
    fn many([second, first]: [Block; 2], seq: u32) -> Self {
        let mut many = Box::<Many>::default();
        many.add(first);
        many.add(second);
        many.insert(seq);
        Self::Many(many)
    }

    /// Removes the first run if it begins at `start`; returns its end.
    pub fn take_first(&mut self, start: u32) -> Option<u32> {
        match self {
            Self::Few([first, second]) => {
                let taken = if first.start == start {
                    std::mem::replace(first, *second)
                } else {
                    *second
                };
                (taken.start == start).then(|| {
                    *second = Block::default();
                    taken.end
                })
            }
            Self::Many(many) => {
                let end = many.take_first(start);
                if many.runs.is_empty() {
                    *self = Self::default();
                }
                end
            }
        }
    }
}

/// Records a packet among at most two runs; false, and nothing is changed, if it would be a third.
fn insert_in_few(runs: &mut [Block; 2], seq: u32) -> bool {
    let mut joined = Block {
        start: seq,
        end: seq + 1,
    };
    let mut other = Block::default();
    for run in *runs {
        if run.is_empty() {
            break;
        }
        if run.start <= joined.end && joined.start <= run.end {
            joined.start = joined.start.min(run.start);
            joined.end = joined.end.max(run.end);
        } else if other.is_empty() {
            other = run;
        } else {
            return false;
        }
    }
    *runs = [joined, other];
    true
}

/// So many runs more have room when there are as many as have.
const MORE: usize = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    block: Block,
    /// Number of its last change; all changes have numbers from 1 on.
    changed: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Many {
    /// In the order of their numbers.
    runs: VecDeque<Run>,
    /// The three that changed last, the last one first; empty ones if there are fewer.
    latest: [Block; 3],
    changes: u32,
}

impl Many {
    /// Adds a run that touches no other.
    fn add(&mut self, block: Block) {
        let place = self.first_from(block.start);
        self.changes += 1;
        let changed = self.changes;
        self.make_room();
        self.runs.insert(place, Run { block, changed });
        self.report_first(block);
    }

    /// Records a packet. One that arrived before only changes which run is reported first.
    fn insert(&mut self, seq: u32) {
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
    fn take_first(&mut self, start: u32) -> Option<u32> {
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
            self.runs.reserve_exact(self.runs.len() / 2 + MORE);
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
