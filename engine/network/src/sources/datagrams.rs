//! Datagrams that nobody answers, and that nothing slows down.

use sluice_random::Stream;

use super::{
    arrivals::{ArrivalProcess, Arrivals},
    distribution::Distribution,
    replay::Replayed,
    tcp::spread,
};

/// Datagram flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// Size on the wire.
    pub bytes: u16,
    /// When each flow sends.
    pub arrivals: ArrivalProcess,
    /// Earliest start.
    pub start_ns: u64,
    /// Starts are uniform over this time from the earliest.
    pub spread_ns: u64,
    /// From here nothing is sent.
    pub stop_ns: u64,
}

impl Datagrams {
    /// One flow in a run that ends at `end_ns`, and when it sends for the first time; `None`: never.
    pub fn start(&self, mut random: Stream, end_ns: u64) -> (DatagramSource, Option<u64>) {
        let start_ns = self.start_ns + spread(self.spread_ns, &mut random);
        let stop_ns = self.stop_ns.min(end_ns);
        let mut arrivals = Arrivals::new(self.arrivals, &mut random, start_ns, stop_ns);
        let first_ns = match self.arrivals {
            // a constant gap would put every flow of the group one gap off its start
            ArrivalProcess::Gaps(Distribution::Constant(_)) | ArrivalProcess::Constant { .. } => {
                start_ns
            }
            _ => arrivals.after(&mut random, start_ns),
        };
        let source = DatagramSource::Paced {
            arrivals,
            random,
            bytes: self.bytes,
            stop_ns,
        };
        (source, (first_ns < stop_ns).then_some(first_ns))
    }

    /// What is wrong with them, if anything.
    pub fn check(&self) -> Result<(), String> {
        match self.bytes {
            0 => Err("packet_bytes = 0 must be at least 1".into()),
            _ => self.arrivals.check(),
        }
    }
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Whose it is, among the flows of its source.
    pub flow: u32,
    /// Size on the wire.
    pub bytes: u16,
    /// Whether a queue may mark it.
    pub ecn_capable: bool,
}

/// Sends the datagrams of one flow, or of the flows of a recording.
#[derive(Clone, Debug)]
pub enum DatagramSource {
    Paced {
        arrivals: Arrivals,
        random: Stream,
        bytes: u16,
        stop_ns: u64,
    },
    Replayed(Replayed),
}

impl DatagramSource {
    /// The datagram that is due at `now`, and when the one after it is; `None`: never.
    pub fn send(&mut self, now: u64) -> (Datagram, Option<u64>) {
        match self {
            Self::Paced {
                arrivals,
                random,
                bytes,
                stop_ns,
            } => {
                let datagram = Datagram {
                    flow: 0,
                    bytes: *bytes,
                    ecn_capable: false,
                };
                let next_ns = arrivals.after(random, now);
                (datagram, (next_ns < *stop_ns).then_some(next_ns))
            }
            Self::Replayed(replayed) => replayed.send(),
        }
    }

    /// How many flows it sends for.
    pub fn flows(&self) -> u32 {
        match self {
            Self::Paced { .. } => 1,
            Self::Replayed(replayed) => replayed.flows(),
        }
    }
}
