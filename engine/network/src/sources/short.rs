//! Short TCP flows that arrive during the run, each with a duration of its own.

use sluice_random::Stream;
use sluice_tcp::GREEDY;

use super::{
    law::Law,
    tcp::{TcpFlow, TcpKind},
};

/// Flows that arrive one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortTcp {
    /// What they have in common.
    pub kind: TcpKind,
    /// Between two arrivals.
    pub gaps: Law,
    /// First time at which one can arrive.
    pub from_ns: u64,
    /// From here none arrives.
    pub to_ns: u64,
    /// From a flow's start until its application ends.
    pub duration: Law,
}

impl ShortTcp {
    /// All flows of one run, in the order of their starts.
    pub fn draw(&self, random: &mut Stream) -> Vec<TcpFlow> {
        let mut flows = Vec::new();
        let mut start_ns = self.from_ns;
        loop {
            // a gap of at least 1 ns, or a law of zeros would never end
            start_ns = start_ns.saturating_add(self.gaps.draw(random).max(1));
            if start_ns >= self.to_ns {
                return flows;
            }
            flows.push(TcpFlow {
                packets: GREEDY,
                start_ns,
                stop_ns: start_ns.saturating_add(self.duration.draw(random)),
            });
        }
    }
}
