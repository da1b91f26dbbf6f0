//! Schedulers: how many queues there are, and which of them sends next.

use crate::{drr::Drr, fq::Fq, sfq::Sfq};

/// How packets are spread over queues and which queue sends next.
///
/// All but `Fifo` spread flows over `queues` queues by a hash with a random salt; each queue has
/// an AQM of its own, and all share the limit. When it is reached, the longest queue loses a
/// packet: the longest in packets with `Sfq`, in bytes with the others. Which of its packets, the
/// discipline's victim says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// One queue, first in, first out.
    Fifo,
    /// Stochastic fair queueing, McKenney 1990: one packet of each queue in turn.
    ///
    /// ns-2's `SFQ` is another one (sfq.cc). It hashes the addresses of nodes, not flows, has 16
    /// buckets, and holds 40 packets (`maxqueue_`) whatever its `limit_` says. It never drops a
    /// packet that waits, but the one that arrives: if its bucket holds half as many packets as
    /// there are places left, or more; and, once fewer places are left than there are buckets, if
    /// its bucket holds more than its fair share, `maxqueue_` / 16 packets.
    Sfq {
        /// At least 1.
        queues: u32,
        /// Time after which the salt is drawn anew, ns; never if 0. Packets that wait stay where
        /// they are, so those of one flow may overtake each other.
        perturbation_ns: u64,
    },
    /// Deficit round robin, Shreedhar & Varghese 1995: `quantum_bytes` of each queue in turn.
    Drr {
        /// At least 1.
        queues: u32,
        /// At least 1; from the largest packet on, a turn always sends one.
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

/// A scheduler at work: the order in which queues send.
pub enum Order {
    Sfq(Sfq),
    Drr(Drr),
    Fq(Fq),
}

impl Order {
    /// `None` for a FIFO, in which there is nothing to order.
    pub fn new(scheduler: Scheduler) -> Option<Self> {
        let queues = scheduler.queues() as usize;
        Some(match scheduler {
            Scheduler::Fifo => return None,
            Scheduler::Sfq { .. } => Self::Sfq(Sfq::new(queues)),
            Scheduler::Drr { quantum_bytes, .. } => Self::Drr(Drr::new(queues, quantum_bytes)),
            Scheduler::Fq { quantum_bytes, .. } => Self::Fq(Fq::new(queues, quantum_bytes)),
        })
    }

    /// A packet joins the queue.
    pub fn wake(&mut self, queue: usize) {
        match self {
            Self::Sfq(order) => order.wake(queue),
            Self::Drr(order) => order.wake(queue),
            Self::Fq(order) => order.wake(queue),
        }
    }

    /// The queue whose head may go now; `head_bytes` gives the size of a queue's head, if it has
    /// one. The same queue again until `sent` says that it has sent, or its head changes.
    pub fn next(&mut self, head_bytes: impl Fn(usize) -> Option<u32>) -> Option<usize> {
        match self {
            Self::Sfq(order) => order.next(head_bytes),
            Self::Drr(order) => order.next(head_bytes),
            Self::Fq(order) => order.next(head_bytes),
        }
    }

    /// The queue that `next` gave has sent a packet, and has more or not.
    pub fn sent(&mut self, queue: usize, bytes: u32, is_empty: bool) {
        match self {
            Self::Sfq(order) => order.sent(is_empty),
            Self::Drr(order) => order.sent(queue, bytes, is_empty),
            Self::Fq(order) => order.sent(queue, bytes),
        }
    }

    /// Whether queues are measured in bytes, not in packets.
    pub fn counts_bytes(&self) -> bool {
        matches!(self, Self::Drr(_) | Self::Fq(_))
    }

    /// The queues that may have packets.
    pub fn queues(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::Sfq(order) => Box::new(order.queues()),
            Self::Drr(order) => Box::new(order.queues()),
            Self::Fq(order) => Box::new(order.queues()),
        }
    }
}
