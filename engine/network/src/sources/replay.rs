//! Datagrams with the times, sizes and flows of a recording.

use std::sync::Arc;

use sluice_random::Stream;

use super::{
    datagrams::{Datagram, DatagramSource},
    tcp::spread,
};
use crate::error::NetworkError;

/// A recorded sequence of packets, in the order of their times.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Times, ns from the first packet, and the packets.
    packets: Vec<(u64, Datagram)>,
    flows: u32,
}

impl Recording {
    /// A recording with one packet per row of the columns. Flows are numbered from 0.
    ///
    /// # Errors
    /// If the columns differ in length, times decrease, or a packet does not have 1 to 65535 bytes.
    pub fn new(
        time_ns: &[u64],
        bytes: &[u32],
        flows: &[u32],
        traffic_classes: &[u8],
    ) -> Result<Self, NetworkError> {
        let refuse = |what: String| Err(NetworkError(what));
        if [bytes.len(), flows.len(), traffic_classes.len()] != [time_ns.len(); 3] {
            return refuse("the columns of a recording differ in length".into());
        }
        if let Some(row) = time_ns.windows(2).position(|pair| pair[0] > pair[1]) {
            return refuse(format!("packet {} comes before packet {row}", row + 1));
        }
        let mut packets = Vec::with_capacity(time_ns.len());
        for row in 0..time_ns.len() {
            let Ok(size @ 1..) = u16::try_from(bytes[row]) else {
                return refuse(format!(
                    "packet {row} of the recording has {} bytes; 1 to 65535 can be sent",
                    bytes[row]
                ));
            };
            let datagram = Datagram {
                flow: flows[row],
                bytes: size,
                traffic_class: traffic_classes[row],
            };
            packets.push((time_ns[row], datagram));
        }
        let flows = flows.iter().max().map_or(0, |last| last.saturating_add(1));
        Ok(Self { packets, flows })
    }

    /// Returns the number of its flows.
    pub fn flows(&self) -> u32 {
        self.flows
    }
}

/// A recording that is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The recording.
    pub recording: Arc<Recording>,
    /// Earliest start, which is the time of the first packet.
    pub start_ns: u64,
    /// Starts of the copies are uniform over this time from the earliest on.
    pub spread_ns: u64,
    /// Nothing is sent from this time on.
    pub stop_ns: u64,
}

impl Replay {
    /// Returns one copy in a run that ends at `end_ns`, and when its first packet is sent; `None`
    /// if none is sent.
    pub fn start(&self, mut random: Stream, end_ns: u64) -> (DatagramSource, Option<u64>) {
        let start_ns = self.start_ns + spread(self.spread_ns, &mut random);
        let replayed = Replayed {
            recording: self.recording.clone(),
            start_ns,
            stop_ns: self.stop_ns.min(end_ns),
            row: 0,
        };
        let first_ns = replayed.due();
        (DatagramSource::Replayed(replayed), first_ns)
    }
}

/// A running replay.
#[derive(Clone, Debug)]
pub struct Replayed {
    recording: Arc<Recording>,
    start_ns: u64,
    stop_ns: u64,
    row: usize,
}

impl Replayed {
    /// Returns the packet that is due, and when the next one is due.
    pub fn send(&mut self) -> (Datagram, Option<u64>) {
        let (_, datagram) = self.recording.packets[self.row];
        self.row += 1;
        (datagram, self.due())
    }

    /// Returns when the packet of the present row is sent, if it is.
    fn due(&self) -> Option<u64> {
        let (time_ns, _) = self.recording.packets.get(self.row)?;
        let due_ns = self.start_ns.saturating_add(*time_ns);
        (due_ns < self.stop_ns).then_some(due_ns)
    }

    /// Returns the number of flows of the recording.
    pub fn flows(&self) -> u32 {
        self.recording.flows()
    }
}

#[cfg(test)]
mod tests {
    use sluice_random::stream;

    use sluice_aqm::NEVER;

    use super::*;

    fn columns(bytes: &[u32]) -> Result<Recording, NetworkError> {
        let flows: Vec<u32> = (0..bytes.len() as u32).map(|row| row % 2).collect();
        let times: Vec<u64> = [0, 7, 7, 1_000_000_001][..bytes.len()].to_vec();
        Recording::new(&times, bytes, &flows, &vec![2; bytes.len()])
    }

    #[test]
    fn every_packet_comes_to_the_nanosecond() {
        let replay = Replay {
            recording: Arc::new(columns(&[40, 1500, 65_535, 1]).unwrap()),
            start_ns: 123,
            spread_ns: 0,
            stop_ns: NEVER,
        };
        let (mut source, first_ns) = replay.start(stream(1, "flow 0.0", 0), NEVER);
        let (mut due, mut seen) = (first_ns, Vec::new());
        while let Some(now) = due {
            let (datagram, next) = source.send(now);
            seen.push((now, datagram.flow, datagram.bytes));
            due = next;
        }
        let wanted = [
            (123, 0, 40),
            (130, 1, 1500),
            (130, 0, 65_535),
            (1_000_000_124, 1, 1),
        ];
        assert_eq!(seen, wanted);
        assert_eq!(source.flows(), 2);
        let (mut source, first_ns) = replay.start(stream(1, "flow 0.0", 0), 130);
        assert_eq!(source.send(first_ns.unwrap()).1, None);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for bytes in [0, 65_536] {
            let told = columns(&[40, bytes]).unwrap_err().to_string();
            let wanted =
                format!("packet 1 of the recording has {bytes} bytes; 1 to 65535 can be sent");
            assert_eq!(told, wanted);
        }
        let back = Recording::new(&[2, 1], &[1, 1], &[0, 0], &[2; 2]).unwrap_err();
        assert_eq!(back.to_string(), "packet 1 comes before packet 0");
        assert!(Recording::new(&[2], &[1, 1], &[0], &[2]).is_err());
    }
}
