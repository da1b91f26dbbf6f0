//! Long-lived TCP flows, which start within a given time.

use sluice_random::{Stream, uniform};
use sluice_tcp::{Ack, Block, Config};

use crate::packet::TrafficClass;

/// Common parameters of TCP flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpKind {
    /// Configuration of both endpoints.
    pub config: Config,
    /// Size of a data packet on the wire.
    pub packet_bytes: u16,
    /// Size on the wire of an ACK without SACK blocks and counters, or of a SYN.
    pub ack_bytes: u16,
    /// Traffic class of the packets, in both directions.
    pub traffic_class: TrafficClass,
}

/// One TCP flow of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFlow {
    /// Data packets to send; [`sluice_tcp::GREEDY`] if there is no end.
    pub packets: u32,
    /// When it starts.
    pub start_ns: u64,
    /// When its application ends; [`crate::NEVER`] if it does not.
    pub stop_ns: u64,
}

/// Long-lived flows.
#[derive(Clone, Debug, PartialEq)]
pub struct LongTcp {
    /// Kind of the flows.
    pub kind: TcpKind,
    /// Packets, earliest start and stop of each flow.
    pub flow: TcpFlow,
    /// Starts are uniform over this time from the earliest on.
    pub spread_ns: u64,
    /// Mean time between two packets of the application; `None` if it always has more.
    pub gap_ns: Option<f64>,
}

impl LongTcp {
    /// Draws one of the flows.
    pub fn draw(&self, random: &mut Stream) -> TcpFlow {
        TcpFlow {
            start_ns: self.flow.start_ns + spread(self.spread_ns, random),
            ..self.flow
        }
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        match self.gap_ns {
            Some(gap_ns) if !(gap_ns >= 1.0 && gap_ns.is_finite()) => {
                Err(format!("gap = {gap_ns} must be at least 1 (ns)"))
            }
            _ => self.kind.check(),
        }
    }
}

/// Draws a time, uniform on 0 .. `ns`.
pub fn spread(ns: u64, random: &mut Stream) -> u64 {
    (ns as f64 * (1.0 - uniform(random))) as u64
}

impl TcpKind {
    /// Returns the size of an ACK on the wire.
    #[inline]
    pub(crate) fn bytes_of(&self, ack: &Ack) -> u16 {
        if ack.sack[0].is_empty() && ack.marked.is_none() {
            return self.ack_bytes;
        }
        let blocks = ack.sack.iter().filter(|block| !block.is_empty()).count();
        let sacks = match blocks {
            0 => 0,
            _ => self.config.sack_option_bytes + 8 * blocks as u16,
        };
        // three counters of three bytes, or two beside two blocks and time stamps, and padding
        // (Linux: `tcp_options_fit_accecn`)
        let counters = match (ack.marked, blocks) {
            (None, _) => 0,
            (Some(_), 0 | 1) => 12,
            (Some(_), _) => 8,
        };
        self.ack_bytes.saturating_add(sacks + counters)
    }

    /// Returns the sizes of the shortest and of the longest ACK.
    pub(crate) fn least_and_most_of_acks(&self) -> [u64; 2] {
        let most = Ack {
            sack: [Block { start: 0, end: 1 }; 3],
            ..Ack::default()
        };
        [self.ack_bytes, self.bytes_of(&most)].map(u64::from)
    }

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

#[cfg(test)]
mod tests {
    use sluice_tcp::Variant;

    use super::*;

    /// Returns the bytes of ACKs with 0 to 3 SACK blocks.
    fn sizes(config: Config, marked: Option<u32>) -> [u16; 4] {
        let kind = TcpKind {
            config,
            packet_bytes: 500,
            ack_bytes: 40,
            traffic_class: TrafficClass::default(),
        };
        [0, 1, 2, 3].map(|blocks| {
            let mut ack = Ack {
                marked,
                ..Ack::default()
            };
            for (place, block) in ack.sack.iter_mut().take(blocks).enumerate() {
                let start = 10 * place as u32 + 2;
                *block = Block {
                    start,
                    end: start + 1,
                };
            }
            kind.bytes_of(&ack)
        })
    }

    #[test]
    fn blocks_make_an_ack_longer() {
        // RFC 2018: 2 bytes, and 8 bytes per block, padded to a multiple of 4
        assert_eq!(sizes(Config::rfc(Variant::Sack), None), [40, 52, 60, 68]);
        // as in a trace of ns-2.35's Sack1
        assert_eq!(
            sizes(Config::ns2(Variant::Sack, 20), None),
            [40, 48, 56, 64]
        );
        // with counters an ACK has at most two: it is never longer than the longest without
        let counted = sizes(Config::rfc(Variant::Sack), Some(7));
        assert_eq!(counted[..3], [52, 64, 68]);
    }
}
