//! Stochastic fair queueing: each queue in turn sends one packet.
//!
//! P. McKenney, "Stochastic fairness queueing", INFOCOM 1990.

use std::collections::VecDeque;

pub struct Sfq {
    /// Queues in the order of their turns.
    turns: VecDeque<usize>,
    /// For each queue, true if it is in `turns`.
    has_turn: Vec<bool>,
}

impl Sfq {
    pub fn new(queues: usize) -> Self {
        Self {
            turns: VecDeque::new(),
            has_turn: vec![false; queues],
        }
    }

    pub fn queues(&self) -> impl Iterator<Item = usize> {
        self.turns.iter().copied()
    }

    pub fn wake(&mut self, queue: usize) {
        if !self.has_turn[queue] {
            self.has_turn[queue] = true;
            self.turns.push_back(queue);
        }
    }

    pub fn next(&mut self, head_bytes: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        loop {
            let queue = *self.turns.front()?;
            if head_bytes(queue).is_some() {
                return Some(queue);
            }
            // its last packets were lost
            self.end_turn(true);
        }
    }

    pub fn sent(&mut self, is_empty: bool) {
        self.end_turn(is_empty);
    }

    fn end_turn(&mut self, is_empty: bool) {
        if let Some(queue) = self.turns.pop_front() {
            self.has_turn[queue] = !is_empty;
            if !is_empty {
                self.turns.push_back(queue);
            }
        }
    }
}
