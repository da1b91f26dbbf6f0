//! What is before a link: the buffer, and how a scheduler divides it.

use crate::{
    limits::{Limits, at_least},
    reader::Reader,
    show::rounded,
    table::{kinds, table, words},
};

words! {
    /// The packet that is lost when one must be dropped.
    pub enum Victim {
        /// The arriving packet.
        Tail = "tail",
        /// The packet at the head of the queue.
        Front = "front",
        /// A waiting packet, each with the same probability.
        Random = "random",
    }
}

impl From<Victim> for sluice_aqm::Victim {
    fn from(victim: Victim) -> Self {
        match victim {
            Victim::Tail => Self::Tail,
            Victim::Front => Self::Front,
            Victim::Random => Self::Random,
        }
    }
}

table! {
    /// The buffer: how much may wait, and which packet is lost when one must be dropped.
    pub struct Queue {
        /// Greatest number of packets that wait.
        limit: u32 = 250, at_least(1.0).at_most(100_000.0).unit("packets");
        /// Greatest number of bytes that wait; not given: no limit in bytes.
        limit_bytes: Option<u64>, at_least(1.0).at_most(1e12).unit("bytes");
        /// Which packet is lost when one must be dropped: the one that arrives, the one at the head
        /// of the queue, or a waiting one, drawn at random.
        victim: Victim = Victim::Tail;
        /// Whether early drops of packets that can be marked (ECN) become marks.
        ecn: bool = false;
    }
}

const QUEUES: Limits = at_least(1.0).at_most(65_536.0);
// a smaller quantum would need many turns for one packet
const QUANTUM: Limits = at_least(64.0).at_most(1e9).unit("bytes");

table! {
    /// One queue, first in, first out.
    pub struct Fifo kind "fifo" {}
}

table! {
    /// Stochastic fair queueing (McKenney 1990): one packet of each queue in turn.
    ///
    /// Flows are spread over the queues by a hash with a random salt. When the limit is reached,
    /// the longest queue loses a packet. ns-2's SFQ hashes the addresses of nodes instead, has 16
    /// queues, and holds 40 packets whatever its limit.
    pub struct Sfq kind "sfq" checked by never_or_later {
        /// Number of queues.
        queues: u32 = 1024, QUEUES;
        /// Time after which the salt is drawn anew; 0: never.
        perturbation_s: f64 = 0.0, at_least(0.0).at_most(1e6).unit("s");
    }
}

impl Sfq {
    fn never_or_later(&self, reader: &mut Reader) {
        if self.perturbation_s > 0.0 && self.perturbation_s < 1e-9 {
            let shown = rounded(self.perturbation_s);
            reader.say(format!(
                "perturbation_s = {shown} must be 0 or at least 1e-09 (s)"
            ));
        }
    }
}

table! {
    /// Deficit round robin (Shreedhar & Varghese 1995): `quantum_bytes` of each queue in turn.
    pub struct Drr kind "drr" {
        /// Number of queues; flows are spread over them by a hash with a random salt.
        queues: u32 = 1024, QUEUES;
        /// What a queue may send in its turn.
        quantum_bytes: u32 = 1500, QUANTUM;
    }
}

table! {
    /// Flow queueing (RFC 8290): deficit round robin in which a queue that was empty goes first.
    ///
    /// With `aqm = "codel"` and `victim = "front"` this is FQ-CoDel.
    pub struct Fq kind "fq" {
        /// Number of queues; flows are spread over them by a hash with a random salt.
        queues: u32 = 1024, QUEUES;
        /// What a queue may send in its turn.
        quantum_bytes: u32 = 1514, QUANTUM;
    }
}

kinds! {
    /// How packets are spread over queues, and which queue sends next.
    pub enum Scheduler { Fifo, Sfq, Drr, Fq }
}

impl From<&Scheduler> for sluice_queue::Scheduler {
    fn from(scheduler: &Scheduler) -> Self {
        match scheduler {
            Scheduler::Fifo(_) => Self::Fifo,
            Scheduler::Sfq(sfq) => Self::Sfq {
                queues: sfq.queues,
                perturbation_ns: crate::ns(sfq.perturbation_s),
            },
            Scheduler::Drr(drr) => Self::Drr {
                queues: drr.queues,
                quantum_bytes: drr.quantum_bytes,
            },
            Scheduler::Fq(fq) => Self::Fq {
                queues: fq.queues,
                quantum_bytes: fq.quantum_bytes,
            },
        }
    }
}
