//! TCP flows that are there from the start, or start within a given time.

use sluice_random::{Stream, uniform};
use sluice_tcp::Config;

/// What TCP flows of one kind have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpKind {
    /// Of both endpoints.
    pub config: Config,
    /// A data packet on the wire.
    pub packet_bytes: u16,
    /// An ACK, or a SYN, on the wire.
    pub ack_bytes: u16,
}

/// One TCP flow of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFlow {
    /// Data packets to send; [`sluice_tcp::GREEDY`]: without end.
    pub packets: u32,
    /// When it starts.
    pub start_ns: u64,
    /// When its application ends; [`crate::NEVER`] if it does not.
    pub stop_ns: u64,
}

/// Long-lived flows.
#[derive(Clone, Debug, PartialEq)]
pub struct LongTcp {
    /// What they have in common.
    pub kind: TcpKind,
    /// Each of them: packets, earliest start, stop.
    pub flow: TcpFlow,
    /// Starts are uniform over this time from the earliest.
    pub spread_ns: u64,
}

impl LongTcp {
    /// One of the flows.
    pub fn draw(&self, random: &mut Stream) -> TcpFlow {
        TcpFlow {
            start_ns: self.flow.start_ns + spread(self.spread_ns, random),
            ..self.flow
        }
    }
}

/// Uniform on 0 .. `ns`.
pub fn spread(ns: u64, random: &mut Stream) -> u64 {
    (ns as f64 * (1.0 - uniform(random))) as u64
}

impl TcpKind {
    pub(crate) fn check(&self) -> Result<(), String> {
        self.config.check().map_err(|error| error.to_string())?;
        for (name, bytes) in [
            ("packet_bytes", self.packet_bytes),
            ("ack_bytes", self.ack_bytes),
        ] {
            if bytes == 0 {
                return Err(format!("{name} = 0 must be at least 1"));
            }
        }
        Ok(())
    }
}
