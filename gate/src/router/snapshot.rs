//! How a link stands, whoever moves its packets.

use sluice_wire::WireTally;

use crate::{
    backends::{Counts, Losses},
    measures::{Measures, Times},
    packet::{class::ByClass, flows::Shares},
    router::bands::Band,
    settings::LinkSettings,
};

/// Names of the links, in their order.
pub const NAMES: [&str; 2] = ["forward", "reverse"];

/// Counts of a live link besides its measures.
#[derive(Clone, Debug, Default)]
pub struct Live {
    /// Time from when a packet was due until it was released.
    pub lateness: Times,
    /// Times from arrival until transmission starts, by what the packets ask for; none is known of
    /// a qdisc of the kernel.
    pub sojourn_by_class: ByClass,
    /// Packets released.
    pub released: u64,
    /// Packets without a readable IP header; they pass as one flow.
    pub unreadable: u64,
    /// Packets that were marked and had no header to mark; they pass.
    pub unmarkable: u64,
    /// Packets that were held at the end.
    pub left_at_end: u64,
}

/// The state of a link.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The kind of qdisc in the kernel; `None` if packets come up to the gate.
    pub qdisc: Option<String>,
    /// Present settings.
    pub settings: LinkSettings,
    /// Present rate, bits/s.
    pub rate_bps: u64,
    /// Shares of the heaviest flows among arrivals: since the start, and since the last query.
    pub shares: [Shares; 2],
    /// Measures since the start.
    pub measures: Measures,
    /// What was counted of each band of the discipline, if it has bands; `None`: it is not known.
    pub bands: Option<Vec<Band>>,
    /// What its wire did to packets since the start; `None` if nothing happens on it.
    pub wire: Option<WireTally>,
    /// Other counts since the start.
    pub live: Live,
    /// Losses since the start.
    pub losses: Losses,
    /// Counts of the kernel.
    pub kernel: Counts,
    /// Packets that wait now, and their bytes.
    pub queue: (usize, u64),
    /// The AQM's average queue and drop probability, if there is one AQM and it keeps them.
    pub aqm: (Option<f64>, Option<f64>),
}
