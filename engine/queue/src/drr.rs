//! Deficit round robin: each queue in turn sends a quantum of bytes.
//!
//! M. Shreedhar, G. Varghese, "Efficient fair queueing using deficit round robin", SIGCOMM 1995.

use std::collections::VecDeque;

pub struct Drr {
    quantum_bytes: u64,
    /// Queues in the order of their turns: the paper's ActiveList.
    turns: VecDeque<usize>,
    has_turn: Vec<bool>,
    /// Bytes that each queue may still send in its turn: DC_i.
    deficit_bytes: Vec<u64>,
    /// True if the queue whose turn it is has got its quantum.
    has_quantum: bool,
}

impl Drr {
    pub fn new(queues: usize, quantum_bytes: u32) -> Self {
        Self {
            quantum_bytes: u64::from(quantum_bytes),
            turns: VecDeque::new(),
            has_turn: vec![false; queues],
            deficit_bytes: vec![0; queues],
            has_quantum: false,
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
            let Some(bytes) = head_bytes(queue) else {
                // its last packets were lost
                self.end_turn(true);
                continue;
            };
            if !self.has_quantum {
                self.deficit_bytes[queue] += self.quantum_bytes;
                self.has_quantum = true;
            }
            if u64::from(bytes) <= self.deficit_bytes[queue] {
                return Some(queue);
            }
            self.end_turn(false);
        }
    }

    pub fn sent(&mut self, queue: usize, bytes: u32, is_empty: bool) {
        self.deficit_bytes[queue] -= u64::from(bytes);
        if is_empty {
            self.end_turn(true);
        }
    }

    /// Ends the present turn; an empty queue leaves the round and loses its deficit.
    fn end_turn(&mut self, is_empty: bool) {
        self.has_quantum = false;
        if let Some(queue) = self.turns.pop_front() {
            self.has_turn[queue] = !is_empty;
            if is_empty {
                self.deficit_bytes[queue] = 0;
            } else {
                self.turns.push_back(queue);
            }
        }
    }
}
