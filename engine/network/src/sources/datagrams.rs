//! Datagrams, which get no answers and do not react to congestion.

use sluice_random::Stream;

use super::{
    Distribution,
    arrivals::{ArrivalProcess, Arrivals},
    replay::Replayed,
    tcp::spread,
};

/// Datagram flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// Size on the wire.
    pub bytes: u16,
    /// Traffic class of the datagrams.
    pub traffic_class: u8,
    /// When each flow sends.
    pub arrivals: ArrivalProcess,
    /// Earliest start.
    pub start_ns: u64,
    /// Starts are uniform over this time from the earliest on.
    pub spread_ns: u64,
    /// Nothing is sent from this time on.
    pub stop_ns: u64,
}

impl Datagrams {
    /// Returns one flow in a run that ends at `end_ns`, and when it sends its first datagram;
    /// `None` if it sends none.
    pub fn start(&self, mut random: Stream, end_ns: u64) -> (DatagramSource, Option<u64>) {
        let start_ns = self.start_ns + spread(self.spread_ns, &mut random);
        let stop_ns = self.stop_ns.min(end_ns);
        let mut arrivals = Arrivals::new(self.arrivals, &mut random, start_ns, stop_ns);
        let first_ns = match self.arrivals {
            // with a constant gap, every flow would begin exactly one gap late
            ArrivalProcess::Gaps(Distribution::Constant(_)) | ArrivalProcess::Constant { .. } => {
                start_ns
            }
            _ => arrivals.after(&mut random, start_ns),
        };
        let source = DatagramSource::Paced {
            arrivals,
            random,
            bytes: self.bytes,
            traffic_class: self.traffic_class,
            stop_ns,
        };
        (source, (first_ns < stop_ns).then_some(first_ns))
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        match self.bytes {
            0 => Err("packet_bytes = 0 must be at least 1".into()),
            _ => self.arrivals.check(),
        }
    }
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Number of its flow, among the flows of its source.
    pub flow: u32,
    /// Size on the wire.
    pub bytes: u16,
    /// Its traffic class.
    pub traffic_class: u8,
}

/// A source of the datagrams of one flow, or of the flows of a recording.
#[derive(Clone, Debug)]
pub enum DatagramSource {
    Paced {
        arrivals: Arrivals,
        random: Stream,
        bytes: u16,
        traffic_class: u8,
        stop_ns: u64,
    },
    Replayed(Replayed),
}

impl DatagramSource {
    /// Returns the datagram that is due at `now`, and when the next one is due; `None` if there is
    /// no other.
    pub fn send(&mut self, now: u64) -> (Datagram, Option<u64>) {
        match self {
            Self::Paced {
                arrivals,
                random,
                bytes,
                traffic_class,
                stop_ns,
            } => {
                let datagram = Datagram {
                    flow: 0,
                    bytes: *bytes,
                    traffic_class: *traffic_class,
                };
                let next_ns = arrivals.after(random, now);
                (datagram, (next_ns < *stop_ns).then_some(next_ns))
            }
            Self::Replayed(replayed) => replayed.send(),
        }
    }

    /// Returns the number of its flows.
    pub fn flows(&self) -> u32 {
        match self {
            Self::Paced { .. } => 1,
            Self::Replayed(replayed) => replayed.flows(),
        }
    }
}
