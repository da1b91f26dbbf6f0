//! Where packets come from.

mod datagrams;
mod law;
mod short;
mod tcp;

pub use datagrams::{Datagrams, Pace, Pacer};
pub use law::Law;
pub use short::ShortTcp;
pub(crate) use tcp::spread;
pub use tcp::{LongTcp, TcpFlow, TcpKind};

/// What the flows of a group send.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// TCP flows that start once.
    Long(LongTcp),
    /// TCP flows that arrive during the run; a group of n is n times this stream of arrivals.
    Short(ShortTcp),
    /// Datagrams.
    Datagrams(Datagrams),
}

/// Flows of one kind between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// How many.
    pub count: u32,
    /// What they send.
    pub source: Source,
}
