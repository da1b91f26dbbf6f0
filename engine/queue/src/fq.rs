//! Flow queueing: deficit round robin in which a queue that was empty goes first.
//!
//! RFC 8290, "The flow queue CoDel packet scheduler and active queue management algorithm",
//! section 4.

use std::collections::VecDeque;

pub struct Fq {
    quantum_bytes: i64,
    /// Queues that were empty a short time ago, and the others.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    is_listed: Vec<bool>,
    /// Bytes that each queue may still send; the last packet may exceed them.
    credit_bytes: Vec<i64>,
}

impl Fq {
    pub fn new(queues: usize, quantum_bytes: u32) -> Self {
        Self {
            quantum_bytes: i64::from(quantum_bytes),
            new: VecDeque::new(),
            old: VecDeque::new(),
            is_listed: vec![false; queues],
            credit_bytes: vec![0; queues],
        }
    }

    pub fn queues(&self) -> impl Iterator<Item = usize> {
        self.new.iter().chain(&self.old).copied()
    }

    /// Section 4.1.
    pub fn wake(&mut self, queue: usize) {
        if !self.is_listed[queue] {
            self.is_listed[queue] = true;
            self.credit_bytes[queue] = self.quantum_bytes;
            self.new.push_back(queue);
        }
    }

    /// Section 4.2.
    pub fn next(&mut self, head_bytes: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let queue = *list.front()?;
            let is_spent = self.credit_bytes[queue] <= 0;
            if !is_spent && head_bytes(queue).is_some() {
                return Some(queue);
            }
            list.pop_front();
            if is_spent {
                self.credit_bytes[queue] += self.quantum_bytes;
            }
            // an empty new queue becomes an old one, so that it cannot come back as new each time
            if is_spent || is_new {
                self.old.push_back(queue);
            } else {
                self.is_listed[queue] = false;
            }
        }
    }

    pub fn sent(&mut self, queue: usize, bytes: u32) {
        self.credit_bytes[queue] -= i64::from(bytes);
    }
}
