//! What can be seen of a run at one moment, without a change of the run.

use sluice_queue::QueueState;
use sluice_tcp::Sender;

use crate::sources::{Group, Source};

/// The state of a network at a time: all that comes before it has happened. Counts are since the
/// start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The time.
    pub now_ns: u64,
    /// Each port, in the order of the links that have one.
    pub ports: Vec<PortState>,
    /// Each group of flows.
    pub groups: Vec<GroupState>,
}

/// The queue before a link.
#[derive(Clone, Debug, PartialEq)]
pub struct PortState {
    /// Index of the link.
    pub link: usize,
    /// What waits before it, and what was decided.
    pub queue: QueueState,
    /// True if the link sends a packet.
    pub in_service: bool,
    /// Rate of the link.
    pub rate_bps: u64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets whose transmission began.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Sum of the times that they waited.
    pub sojourn_ns: u128,
}

/// A group of flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupState {
    /// Number of its flows, whether they have begun or not.
    pub flows: u32,
    /// Congestion windows of the TCP flows that have begun and not finished, packets.
    pub windows: Vec<f64>,
    /// Their smoothed round-trip times; 0 before the first measurement.
    pub srtts_ns: Vec<u64>,
    /// Data packets of TCP that are sent and not acknowledged; `None` for datagrams, whose senders
    /// do not learn what was lost.
    pub in_flight: Option<u64>,
    /// Data packets that were acknowledged in sequence, each counted once; or datagrams received.
    pub delivered: u64,
    /// Their bytes on the wire; `None` for a capture, whose packets have sizes of their own.
    pub delivered_bytes: Option<u64>,
    /// Data packets that were sent again.
    pub retransmissions: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
}

impl GroupState {
    /// That of a group before any of its flows is counted.
    pub(crate) fn new(group: &Group) -> Self {
        let sized = !matches!(group.source, Source::Replay(_));
        let in_flight = group.source.tcp().map(|_| 0);
        Self {
            in_flight,
            delivered_bytes: sized.then_some(0),
            ..Self::default()
        }
    }

    pub(crate) fn add_tcp(&mut self, acknowledged: u32, packet_bytes: u16, sender: &Sender) {
        self.deliver(u64::from(acknowledged), packet_bytes);
        let flight = u64::from(sender.flight_size());
        self.in_flight = self.in_flight.map(|packets| packets + flight);
        self.retransmissions += u64::from(sender.retransmissions());
        self.timeouts += u64::from(sender.timeouts());
    }

    pub(crate) fn add_datagrams(&mut self, received: u64, source: &Source) {
        let bytes = match source {
            Source::Datagrams(datagrams) => datagrams.bytes,
            _ => 0,
        };
        self.deliver(received, bytes);
    }

    fn deliver(&mut self, packets: u64, bytes: u16) {
        self.delivered += packets;
        self.add_bytes(packets * u64::from(bytes));
    }

    pub(crate) fn add_bytes(&mut self, bytes: u64) {
        self.delivered_bytes = self.delivered_bytes.map(|before| before + bytes);
    }
}
