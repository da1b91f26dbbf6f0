//! What is noted at each sample.

/// One port at each sample; counts are those since the start of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortSeries {
    /// Packets that wait.
    pub queue: Vec<u32>,
    /// Packets that arrived.
    pub arrivals: Vec<u64>,
    /// Packets lost.
    pub losses: Vec<u64>,
    /// Bytes of the packets whose transmission began.
    pub sent_bytes: Vec<u64>,
    /// The average queue that the AQM holds, packets. Empty if it holds none, or if the scheduler
    /// has several queues, each with an AQM of its own.
    pub average: Vec<f64>,
    /// The AQM's drop probability; empty as `average` is.
    pub probability: Vec<f64>,
}

/// All TCP flows together at each sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowSeries {
    /// Data packets acknowledged in sequence since the start of the run.
    pub acknowledged: Vec<u64>,
    /// Mean congestion window of the flows that have started and not finished, packets, NaN if there
    /// are none; empty unless the plan asks for windows.
    pub window: Vec<f64>,
}

/// Bytes that a sample takes: of one port, and of the flows.
pub(crate) const PORT_BYTES: u64 = 4 + 5 * 8;
pub(crate) const FLOW_BYTES: u64 = 2 * 8;
