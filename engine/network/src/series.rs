//! Series of samples.

/// Samples of one port. Counts are since the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortSeries {
    /// Waiting packets.
    pub queue: Vec<u32>,
    /// Packets that arrived.
    pub arrivals: Vec<u64>,
    /// Packets lost.
    pub losses: Vec<u64>,
    /// Bytes of the packets whose transmission began.
    pub sent_bytes: Vec<u64>,
    /// Rate of the link, bits/s. Empty if it is constant.
    pub rate_bps: Vec<u64>,
    /// The AQM's average queue, packets. Empty if it has none, or if the scheduler has several
    /// queues, each with its own AQM.
    pub average: Vec<f64>,
    /// The AQM's drop probability; empty as `average` is.
    pub probability: Vec<f64>,
    /// Of each band of the discipline; empty if it has none, or if flows are not counted by class.
    pub bands: Vec<BandSeries>,
}

/// Samples of one band of a discipline. Counts are since the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BandSeries {
    /// Waiting packets.
    pub queue: Vec<u32>,
    /// Packets whose transmission began.
    pub sent: Vec<u64>,
    /// The sum of their times from arrival to that.
    pub sojourn_ns: Vec<u64>,
}

/// Samples of all TCP flows together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Data packets acknowledged in sequence since the start of the run.
    pub acknowledged: Vec<u64>,
    /// Mean congestion window of the flows that have started and not finished, packets; NaN if
    /// there are none. Empty unless `Plan::windows` is set.
    pub window: Vec<f64>,
}

/// Memory of a sample, bytes: of one port, of its link's rate, of a band, and of the flows.
pub(crate) const PORT_BYTES: u64 = 4 + 5 * 8;
pub(crate) const RATE_BYTES: u64 = 8;
pub(crate) const BAND_BYTES: u64 = 4 + 2 * 8;
pub(crate) const FLOW_BYTES: u64 = 2 * 8;
