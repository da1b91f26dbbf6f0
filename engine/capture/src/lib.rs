//! Reads a packet capture (pcap or pcapng) into columns.
//!
//! [`read`] takes the records from the file (`records.rs`), the IP packet from each record
//! (`headers.rs`), and gives one entry per IP packet, in order of time. [`ip_packet`] reads a
//! single one.

mod error;
mod headers;
mod records;

use std::path::Path;

pub use error::CaptureError;
use headers::Link;
pub use headers::Packet;
use records::{Record, for_each_record};

/// The IP packets of a capture, one entry per packet and column, ordered by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Nanoseconds since the earliest IP packet. Packets recorded out of order are sorted; those
    /// of one instant keep the file's order.
    pub time_ns: Vec<u64>,
    /// Length of the IP packet in bytes, as it was on the wire: what its header states, or, where
    /// that cannot be (segmentation offload leaves 0), the original length less the link header.
    pub bytes: Vec<u32>,
    /// FNV-1a hash of protocol, addresses and ports. A packet whose ports are not in the capture
    /// (a later fragment, a short snapshot) is hashed without them.
    pub flow: Vec<u32>,
    /// IP protocol number: 6 is TCP, 17 is UDP.
    pub protocol: Vec<u8>,
    /// Whether the packet carries ECT(0) or ECT(1) (RFC 3168, section 5).
    pub ecn_capable: Vec<bool>,
    /// Frames that hold no readable IP header; they are in no column.
    pub not_ip: u64,
    /// Names of the link types met, in order of appearance.
    pub link_types: Vec<&'static str>,
}

/// Reads an IP packet, or its beginning, of which `original_bytes` were on the wire; `None` if it
/// is none.
pub fn ip_packet(packet: &[u8], original_bytes: u32) -> Option<Packet> {
    headers::parse(Link::RawIp, packet, original_bytes)
}

/// Reads the capture at `path`; pcap in either byte order, with µs or ns, or pcapng.
///
/// # Errors
/// A file that cannot be read, is no capture, is cut off or corrupt (with the number of the
/// packet, counted from 1), has an unknown link type, or holds no IP packet.
pub fn read(path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
    let path = path.as_ref();
    let mut capture = Capture::default();
    for_each_record(path, |record| capture.push(path, record))?;
    capture.sort_by_time();
    let Some(&first) = capture.time_ns.first() else {
        return Err(CaptureError::NoIp {
            path: path.to_owned(),
            frames: capture.not_ip,
        });
    };
    capture.time_ns.iter_mut().for_each(|time| *time -= first);
    Ok(capture)
}

impl Capture {
    /// The flow of each packet as a number: flows are counted from 0 in the order of their hashes.
    pub fn flow_numbers(&self) -> Vec<u32> {
        let mut hashes = self.flow.clone();
        hashes.sort_unstable();
        hashes.dedup();
        let number = |hash: &u32| hashes.partition_point(|other| other < hash) as u32;
        self.flow.iter().map(number).collect()
    }

    /// Appends the IP packet of one record, with its time since 1970.
    fn push(&mut self, path: &Path, record: &Record) -> Result<(), CaptureError> {
        let link = Link::from_number(record.link_type).ok_or_else(|| CaptureError::LinkType {
            path: path.to_owned(),
            packet: record.packet,
            link_type: record.link_type,
        })?;
        if !self.link_types.contains(&link.name()) {
            self.link_types.push(link.name());
        }
        let Some(packet) = headers::parse(link, record.data, record.original_bytes) else {
            self.not_ip += 1;
            return Ok(());
        };
        self.time_ns.push(record.time_ns);
        self.bytes.push(packet.bytes);
        self.flow.push(packet.flow);
        self.protocol.push(packet.protocol);
        self.ecn_capable.push(packet.ecn_capable);
        Ok(())
    }

    fn sort_by_time(&mut self) {
        if self.time_ns.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.time_ns.len()).collect();
        order.sort_by_key(|&i| self.time_ns[i]);
        self.time_ns = pick(&self.time_ns, &order);
        self.bytes = pick(&self.bytes, &order);
        self.flow = pick(&self.flow, &order);
        self.protocol = pick(&self.protocol, &order);
        self.ecn_capable = pick(&self.ecn_capable, &order);
    }
}

fn pick<T: Copy>(column: &[T], order: &[usize]) -> Vec<T> {
    order.iter().map(|&i| column[i]).collect()
}

#[cfg(test)]
mod tests;
