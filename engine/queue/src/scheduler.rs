//! Schedulers: how many queues there are, and which of them sends next.

use crate::{drr::Drr, fq::Fq, sfq::Sfq};

/// How packets are spread over queues and which queue sends next.
///
/// All schedulers except `Fifo` spread flows over `queues` queues by a hash with a random salt.
/// Each queue has an AQM of its own, and all share the limit. When the limit is reached, the
/// longest queue loses a packet: the longest in packets with `Sfq`, in bytes with the others. The
/// discipline's victim says which of its packets is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One queue, first in, first out.
    Fifo,
    /// Stochastic fair queueing, McKenney 1990: each queue in turn sends one packet.
    ///
    /// ns-2's `SFQ` differs (sfq.cc). It hashes the addresses of nodes, not flows, has 16 buckets,
    /// and holds 40 packets (`maxqueue_`), whatever its `limit_` is. It never drops a waiting
    /// packet. It drops the arriving one if its bucket holds at least half as many packets as there
    /// are free places, or, once there are fewer free places than buckets, if its bucket holds more
    /// than its fair share, `maxqueue_` / 16 packets.
    Sfq {
        /// At least 1.
        queues: u32,
        /// Time between two salts, ns; 0: there is only one salt. Waiting packets stay in their
        /// queues, so packets of one flow may be reordered.
        perturbation_ns: u64,
    },
    /// Deficit round robin, Shreedhar & Varghese 1995: each queue in turn sends `quantum_bytes`.
    Drr {
        /// At least 1.
        queues: u32,
        /// At least 1; if it is at least the largest packet, each turn sends a packet.
        quantum_bytes: u32,
    },
    /// Flow queueing of RFC 8290: deficit round robin in which a queue that was empty goes first,
    /// for one quantum. With CoDel in each queue, and drops from the front, it is FQ-CoDel.
    Fq {
        /// At least 1.
        queues: u32,
        /// As with `Drr`.
        quantum_bytes: u32,
    },
}

impl Scheduler {
    pub(crate) fn queues(self) -> u32 {
        match self {
            Self::Fifo => 1,
            Self::Sfq { queues, .. } | Self::Drr { queues, .. } | Self::Fq { queues, .. } => queues,
        }
    }

    pub(crate) fn perturbation_ns(self) -> u64 {
        match self {
            Self::Sfq {
                perturbation_ns, ..
            } => perturbation_ns,
            _ => 0,
        }
    }
}

/// The state of a scheduler: the order in which queues send.
pub enum Order {
    Sfq(Sfq),
    Drr(Drr),
    Fq(Fq),
}

impl Order {
    /// Returns the initial state; `None` for a FIFO, which has one queue.
    pub fn new(scheduler: Scheduler) -> Option<Self> {
        let queues = scheduler.queues() as usize;
        Some(match scheduler {
            Scheduler::Fifo => return None,
            Scheduler::Sfq { .. } => Self::Sfq(Sfq::new(queues)),
            Scheduler::Drr { quantum_bytes, .. } => Self::Drr(Drr::new(queues, quantum_bytes)),
            Scheduler::Fq { quantum_bytes, .. } => Self::Fq(Fq::new(queues, quantum_bytes)),
        })
    }

    /// Notes that a packet joins the queue.
    pub fn wake(&mut self, queue: usize) {
        match self {
            Self::Sfq(order) => order.wake(queue),
            Self::Drr(order) => order.wake(queue),
            Self::Fq(order) => order.wake(queue),
        }
    }

    /// Returns the queue whose head may be sent now, the same until `sent` is called or its head
    /// changes. `head_bytes` returns the size of a queue's head, if there is one.
    pub fn next(&mut self, head_bytes: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        match self {
            Self::Sfq(order) => order.next(head_bytes),
            Self::Drr(order) => order.next(head_bytes),
            Self::Fq(order) => order.next(head_bytes),
        }
    }

    /// Notes that the queue that `next` returned sends a packet, and whether it is then empty.
    pub fn sent(&mut self, queue: usize, bytes: u32, is_empty: bool) {
        match self {
            Self::Sfq(order) => order.sent(is_empty),
            Self::Drr(order) => order.sent(queue, bytes, is_empty),
            Self::Fq(order) => order.sent(queue, bytes),
        }
    }

    /// True if the length of a queue is measured in bytes, not in packets.
    pub fn counts_bytes(&self) -> bool {
        matches!(self, Self::Drr(_) | Self::Fq(_))
    }

    /// Returns the queues that may have packets.
    pub fn queues(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Sfq(order) => Box::new(order.queues()),
            Self::Drr(order) => Box::new(order.queues()),
            Self::Fq(order) => Box::new(order.queues()),
        }
    }
}
