//! What is before a link: the buffer.

use crate::{
    limits::at_least,
    table::{table, words},
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
