//! What a reader of a capture must know: what was left out, and what would not pass through a
//! queue.

use std::collections::{BTreeMap, HashMap, TryReserveError};

use crate::{Capture, CaptureError, Packet};

/// The longest IP packet in an Ethernet frame that is no jumbo frame, bytes.
const ETHERNET_BYTES: u32 = 1500;

/// What is counted while a file is read.
#[derive(Default)]
pub(crate) struct Seen {
    others: BTreeMap<String, u64>,
    /// The hash of the reverse flow, for the hash of each flow.
    reverse: HashMap<u32, u32>,
}

impl Seen {
    /// Counts a frame of that kind, which holds no IP packet.
    pub(crate) fn other(&mut self, kind: String) {
        *self.others.entry(kind).or_default() += 1;
    }

    /// Counts a packet; an error says that there is no memory for its flow.
    pub(crate) fn packet(&mut self, packet: &Packet) -> Result<(), TryReserveError> {
        self.reverse.try_reserve(1)?;
        self.reverse
            .entry(packet.flow)
            .or_insert_with(|| packet.reverse_flow());
        Ok(())
    }

    /// Describes the frames without an IP packet.
    pub(crate) fn others(&self) -> String {
        let named: Vec<_> = self
            .others
            .iter()
            .map(|(name, count)| format!("{name} ({count})"))
            .collect();
        if named.is_empty() {
            "none".into()
        } else {
            named.join(", ")
        }
    }

    /// Returns the notes, a sentence each, without its full stop.
    pub(crate) fn notes(&self, cut: Option<CaptureError>, capture: &Capture) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(CaptureError::CutOff { packet, .. }) = cut {
            notes.push(format!(
                "the file ends within packet {packet}, which is left out"
            ));
        }
        if !self.others.is_empty() {
            let others = self.others();
            notes.push(format!(
                "frames without an IP packet are left out: {others}"
            ));
        }
        notes.extend(self.both_ways(capture));
        notes.extend(merged(capture));
        notes
    }

    /// Returns a note if flows were recorded in both directions: a queue serves one direction of a
    /// link. A flow from a port to itself is not its own answer.
    fn both_ways(&self, capture: &Capture) -> Option<String> {
        let answered = |flow: &&u32| {
            let reverse = self.reverse[*flow];
            reverse != **flow && self.reverse.contains_key(&reverse)
        };
        let answered = capture.flow.iter().filter(answered).count();
        (answered > 0).then(|| {
            let all = capture.flow.len();
            format!(
                "{answered} of {all} packets belong to flows that were recorded in both \
                 directions, but a queue sees only one: record that, as tcpdump -Q in does"
            )
        })
    }
}

/// Returns a note about segments that a network card, or its driver, merged before they were
/// recorded.
fn merged(capture: &Capture) -> Option<String> {
    let long = capture
        .bytes
        .iter()
        .filter(|bytes| **bytes > ETHERNET_BYTES);
    let longest = long.clone().max()?;
    let (count, all) = (long.count(), capture.bytes.len());
    Some(format!(
        "{count} of {all} packets are longer than {ETHERNET_BYTES} bytes (up to {longest}): if the link has \
         no jumbo frames, offloading has merged them before they were recorded; ethtool -K DEVICE \
         gro off lro off before recording ends that"
    ))
}
