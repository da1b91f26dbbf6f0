//! Short TCP flows that arrive during the run, each with its own size or duration.

use sluice_random::Stream;
use sluice_tcp::GREEDY;

use super::{
    Distribution,
    arrivals::{ArrivalProcess, Arrivals},
    size::Size,
    tcp::{TcpFlow, TcpKind},
};
use sluice_aqm::NEVER;

/// Flows that arrive one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortTcp {
    /// Kind of the flows.
    pub kind: TcpKind,
    /// Arrival process of the flows.
    pub arrivals: ArrivalProcess,
    /// Start of the arrival process.
    pub from_ns: u64,
    /// No flow arrives from this time on.
    pub to_ns: u64,
    /// Size or duration of each flow.
    pub extent: Extent,
}

/// Size or duration of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// Time from the flow's start until its application ends; it sends as much as it can.
    Duration(Distribution),
    /// Number of packets.
    Packets(Size),
}

impl ShortTcp {
    /// Draws all flows of a run that ends at `end_ns`, in the order of their starts. Stops after
    /// `most` + 1 flows.
    pub fn draw(&self, random: &mut Stream, end_ns: u64, most: usize) -> Vec<TcpFlow> {
        let to_ns = self.to_ns.min(end_ns);
        let mut arrivals = Arrivals::new(self.arrivals, random, self.from_ns, to_ns);
        let mut start_ns = self.from_ns;
        let mut flows = Vec::new();
        while flows.len() <= most {
            start_ns = arrivals.after(random, start_ns);
            if start_ns >= to_ns {
                break;
            }
            let (packets, stop_ns) = match self.extent {
                Extent::Duration(distribution) => {
                    (GREEDY, start_ns.saturating_add(distribution.draw(random)))
                }
                Extent::Packets(size) => (size.draw(random), NEVER),
            };
            flows.push(TcpFlow {
                packets,
                start_ns,
                stop_ns,
            });
        }
        flows
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        self.kind.check()?;
        self.arrivals.check()?;
        match self.extent {
            Extent::Duration(distribution) => distribution.check(),
            Extent::Packets(size) => size.check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;
    use sluice_tcp::{Config, Variant};

    use super::*;
    use crate::packet::TrafficClass;

    #[test]
    fn far_more_than_the_mean_says_may_arrive() {
        let short = ShortTcp {
            kind: TcpKind {
                config: Config::rfc(Variant::Reno),
                packet_bytes: 500,
                ack_bytes: 40,
                traffic_class: TrafficClass::default(),
            },
            arrivals: ArrivalProcess::Gaps(Distribution::Pareto {
                mean: 1_000_000,
                shape: 1.0001,
            }),
            from_ns: 0,
            to_ns: NEVER,
            extent: Extent::Packets(Size::Constant(1)),
        };
        let count = |most| {
            let mut random = stream(1, "flow 0.0", 0);
            short.draw(&mut random, 1_000_000_000, most).len()
        };
        assert!(count(usize::MAX) > 100 * 1000);
        assert_eq!(count(500), 501);
    }
}
