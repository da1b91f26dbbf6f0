//! Finds the heaviest flows, in bounded memory for any number of flows.
//!
//! A frequent-items sketch (Anderson et al. 2017, arXiv:1705.07001), weighted by bytes: it misses
//! no flow with more than 0.35 % of all bytes, and no count is short by more than that.

use std::{
    fmt,
    hash::{Hash, Hasher},
    net::{IpAddr, SocketAddr},
};

use datasketches::frequencies::{ErrorType, FrequentItemsSketch};
use serde::{Deserialize, Serialize};
use sluice_capture::Packet;

/// Places of the table, a power of two; three quarters of them are used at most. The bound of the
/// error is 3.5 / PLACES of all bytes.
const PLACES: usize = 1024;
/// Number of flows that are reported.
const HEAVIEST: usize = 10;

/// Packets between the same two endpoints, with the same protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    hash: u32,
    protocol: u8,
    addresses: [IpAddr; 2],
    ports: Option<[u16; 2]>,
}

impl Hash for Flow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.hash);
    }
}

impl From<&Packet> for Flow {
    fn from(packet: &Packet) -> Self {
        Self {
            hash: packet.flow,
            protocol: packet.protocol,
            addresses: packet.addresses,
            ports: packet.ports,
        }
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [source, sink] = self.addresses;
        match self.ports {
            Some([from, to]) => {
                let (source, sink) = (SocketAddr::new(source, from), SocketAddr::new(sink, to));
                write!(out, "{source} > {sink}")?;
            }
            None => write!(out, "{source} > {sink}")?,
        }
        match self.protocol {
            1 => write!(out, " icmp"),
            6 => write!(out, " tcp"),
            17 => write!(out, " udp"),
            58 => write!(out, " icmp6"),
            other => write!(out, " protocol {other}"),
        }
    }
}

/// Counts the bytes of flows.
pub struct Flows {
    sketch: FrequentItemsSketch<Flow>,
}

impl Default for Flows {
    fn default() -> Self {
        let sketch = FrequentItemsSketch::new(PLACES);
        Self {
            sketch: sketch.expect("a power of two"),
        }
    }
}

impl Flows {
    /// Counts a packet.
    pub fn add(&mut self, packet: &Packet) {
        self.sketch
            .update_with_count(packet.into(), packet.bytes.into());
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        self.sketch.merge(&other.sketch);
    }

    /// Returns the heaviest flows.
    pub fn shares(&self) -> Shares {
        let rows = self.sketch.frequent_items(ErrorType::NoFalseNegatives);
        Shares {
            bytes: self.sketch.total_weight(),
            error_bytes: self.sketch.maximum_error(),
            heaviest: rows
                .into_iter()
                .take(HEAVIEST)
                .map(|row| (row.item().clone(), row.lower_bound()))
                .collect(),
        }
    }
}

/// The heaviest flows.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Bytes of all flows.
    pub bytes: u64,
    /// A flow may have up to this many more bytes than reported; 0 while there are few flows.
    pub error_bytes: u64,
    /// Flows with a lower bound of their bytes, the heaviest first.
    pub heaviest: Vec<(Flow, u64)>,
}

impl Shares {
    /// Returns everything as records have it.
    pub fn figures(&self) -> ShareFigures {
        let heaviest = self.heaviest.iter();
        ShareFigures {
            bytes: self.bytes,
            error_bytes: self.error_bytes,
            heaviest: heaviest
                .map(|(flow, bytes)| FlowFigures {
                    flow: flow.to_string(),
                    bytes: *bytes,
                })
                .collect(),
        }
    }
}

/// The heaviest flows, as records have them; see [`Shares`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShareFigures {
    /// Bytes of all flows.
    pub bytes: u64,
    /// A flow may have up to this many more bytes than reported.
    pub error_bytes: u64,
    /// The heaviest first.
    pub heaviest: Vec<FlowFigures>,
}

/// A flow in [`ShareFigures`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowFigures {
    /// Its addresses, ports and protocol in words.
    pub flow: String,
    /// A lower bound of its bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use sluice_ecn::Ecn;

    use super::*;

    fn packet(sender: u32, bytes: u32) -> Packet {
        Packet {
            bytes,
            flow: sender.wrapping_mul(0x9e37_79b1),
            protocol: 17,
            addresses: [Ipv4Addr::from(sender).into(), Ipv4Addr::LOCALHOST.into()],
            ports: Some([7, 80]),
            ecn: Ecn::NotEct,
            dscp: 0,
            opens: false,
            ack: None,
        }
    }

    #[test]
    fn few_flows_are_counted_exactly() {
        let mut flows = Flows::default();
        for turn in 0..300 {
            flows.add(&packet(0x0a00_0001 + turn % 3, 100 * (1 + turn % 3)));
        }
        let shares = flows.shares();
        assert_eq!((shares.bytes, shares.error_bytes), (60_000, 0));
        let told = shares.figures().heaviest;
        let told: Vec<_> = told.iter().map(|it| (it.flow.as_str(), it.bytes)).collect();
        assert_eq!(
            told,
            [
                ("10.0.0.3:7 > 127.0.0.1:80 udp", 30_000),
                ("10.0.0.2:7 > 127.0.0.1:80 udp", 20_000),
                ("10.0.0.1:7 > 127.0.0.1:80 udp", 10_000),
            ]
        );
    }

    #[test]
    fn heavy_flows_are_found_among_many_that_come_once() {
        // five flows with 2 % each of the packets, which start after 50,000 others
        let mut intervals = [Flows::default(), Flows::default()];
        let mut exact = [0_u64; 5];
        for turn in 0..500_000_u32 {
            let heavy = turn % 10 == 0 && turn >= 50_000;
            let sender = if heavy { turn / 10 % 5 } else { 1000 + turn };
            if heavy {
                exact[sender as usize] += 1500;
            }
            intervals[turn as usize / 250_000].add(&packet(sender, 1500));
        }
        let [mut flows, later] = intervals;
        flows.merge(&later);
        let shares = flows.shares();
        let bound = 3.5 / PLACES as f64 * shares.bytes as f64;
        assert_eq!(shares.bytes, 750_000_000);
        assert!(0 < shares.error_bytes && shares.error_bytes as f64 <= bound);
        for (flow, bytes) in &shares.heaviest[..5] {
            let IpAddr::V4(sender) = flow.addresses[0] else {
                panic!("{flow}");
            };
            let truth = exact[sender.to_bits() as usize];
            assert!((truth.saturating_sub(shares.error_bytes)..=truth).contains(bytes));
        }
    }
}
