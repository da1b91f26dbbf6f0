//! The packets of a capture, replayed.

use std::sync::Arc;

use sluice_aqm::NEVER;
use sluice_ecn::Ecn;
use thiserror::Error;

use super::Source;
use crate::packet::Packet;

/// A recorded sequence of packets, in the order of their slots.
#[derive(Clone, Debug, Default)]
pub struct Recording(Vec<Packet>);

/// Why an arrival process was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ArrivalError(String);

impl Recording {
    /// A recording with one packet per row of the columns.
    ///
    /// # Errors
    /// If the columns differ in length or the slots decrease.
    pub fn new(
        slots: &[u64],
        bytes: &[u32],
        flows: &[u32],
        ecn: &[Ecn],
    ) -> Result<Self, ArrivalError> {
        if [bytes.len(), flows.len(), ecn.len()] != [slots.len(); 3] {
            return Err(ArrivalError(
                "the columns of a recording differ in length".into(),
            ));
        }
        if let Some(row) = slots.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(ArrivalError(format!(
                "packet {} comes before packet {row}",
                row + 1
            )));
        }
        let row = |k: usize| Packet {
            slot: slots[k],
            bytes: bytes[k],
            flow: flows[k],
            ecn: u64::from(ecn[k].bits()),
        };
        Ok(Self((0..slots.len()).map(row).collect()))
    }
}

pub struct Replayed {
    recording: Arc<Recording>,
    row: usize,
}

impl Replayed {
    pub fn new(recording: Arc<Recording>) -> Self {
        Self { recording, row: 0 }
    }
}

impl Source for Replayed {
    const ALIKE: bool = false;

    #[inline]
    fn next(&mut self) -> Packet {
        let packet = self.recording.0.get(self.row).copied();
        self.row += 1;
        packet.unwrap_or(Packet {
            slot: NEVER,
            ..Packet::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_must_be_sorted_and_of_one_length() {
        let error = Recording::new(&[3, 2], &[1, 1], &[0, 0], &[Ecn::Ect0; 2]).unwrap_err();
        assert_eq!(error.to_string(), "packet 1 comes before packet 0");
        assert!(Recording::new(&[3], &[1, 1], &[0], &[Ecn::Ect0]).is_err());
    }
}
