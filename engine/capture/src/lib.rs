//! Reads a packet capture (pcap or pcapng) into columns.
//!
//! [`read`] takes the records from the file (`records.rs`) and the IP packet from each record
//! (`headers.rs`). It gives one entry for each IP packet, ordered by time. [`ip_packet`] reads a
//! single packet.

mod ack;
mod compressed;
mod error;
mod headers;
mod notes;
mod records;

use std::{collections::TryReserveError, path::Path};

pub use ack::Ack;
pub use error::CaptureError;
use headers::Link;
pub use headers::Packet;
use notes::Seen;
use records::{Record, for_each_record};
use sluice_ecn::Ecn;

/// The IP packets of a capture, one entry per packet and column, ordered by time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Nanoseconds since the earliest IP packet. Packets recorded out of order are sorted; those
    /// with the same time keep the file's order.
    pub time_ns: Vec<u64>,
    /// Length of the IP packet on the wire, bytes: the length that its header states or, if that is
    /// impossible (segmentation offload leaves 0), the original length less the link header.
    pub bytes: Vec<u32>,
    /// FNV-1a hash of protocol, addresses and ports. A packet whose ports are not in the capture
    /// (a later fragment, a short snapshot) is hashed without them.
    pub flow: Vec<u32>,
    /// IP protocol number: 6 is TCP, 17 is UDP.
    pub protocol: Vec<u8>,
    /// ECN codepoint.
    pub ecn: Vec<Ecn>,
    /// Differentiated services codepoint.
    pub dscp: Vec<u8>,
    /// True if the packet opens a TCP connection (SYN without ACK).
    pub opens: Vec<bool>,
    /// Frames that hold no readable IP header; they are in no column.
    pub not_ip: u64,
    /// Names of the link types met, in order of appearance.
    pub link_types: Vec<&'static str>,
    /// What a reader must know, a sentence each: what was left out, and what would not pass through
    /// a queue.
    pub notes: Vec<String>,
}

/// Reads an IP packet, or its beginning; the whole packet had `original_bytes` on the wire. Returns
/// `None` if the bytes are no IP packet.
pub fn ip_packet(packet: &[u8], original_bytes: u32) -> Option<Packet> {
    headers::parse(Link::RawIp, packet, original_bytes).ok()
}

/// Reads the capture at `path`: pcap in either byte order, with µs or ns, or pcapng; uncompressed,
/// or compressed by gzip or Zstandard.
///
/// While it reads, a packet takes up to 80 bytes of memory. A compressed file is refused if it has
/// more than one record, or 4096 expanded bytes, per compressed byte, once 16 MiB have come out of
/// it: memory use is bounded by the file's size.
///
/// A last record that is cut off, because the recorder was stopped, is left out with a note. So are
/// packets with a time of 0 if all others are years later: their time is not known.
///
/// # Errors
/// A file that cannot be read, is no capture, is corrupt (with the number of the packet, counted
/// from 1), expands too far, has an unknown link type, holds no IP packet, or whose packets do not
/// fit into memory.
pub fn read(path: impl AsRef<Path>) -> Result<Capture, CaptureError> {
    let path = path.as_ref();
    let mut capture = Capture::default();
    let mut seen = Seen::default();
    let cut = for_each_record(path, |record| capture.push(path, record, &mut seen))?;
    let packets = capture.time_ns.len();
    capture
        .sort_by_time()
        .map_err(|_| no_memory(path, packets))?;
    capture.drop_untimed();
    let Some(&first) = capture.time_ns.first() else {
        return Err(cut.unwrap_or(CaptureError::NoIp {
            path: path.to_owned(),
            others: seen.others(),
        }));
    };
    capture.time_ns.iter_mut().for_each(|time| *time -= first);
    let notes = seen.notes(cut, &capture);
    capture.notes.extend(notes);
    Ok(capture)
}

/// A year, ns: no capture starts so long before its second packet.
const YEAR_NS: u64 = 365 * 24 * 3600 * 1_000_000_000;

impl Capture {
    /// Leaves out packets with a time of 0 if the others are a year later or more. The packets must
    /// be ordered by time.
    fn drop_untimed(&mut self) {
        let untimed = self.time_ns.partition_point(|time| *time == 0);
        if self.time_ns.get(untimed).is_none_or(|next| *next < YEAR_NS) || untimed == 0 {
            return;
        }
        self.time_ns.drain(..untimed);
        self.bytes.drain(..untimed);
        self.flow.drain(..untimed);
        self.protocol.drain(..untimed);
        self.ecn.drain(..untimed);
        self.dscp.drain(..untimed);
        self.opens.drain(..untimed);
        self.notes.push(match untimed {
            1 => "1 packet with a time of 0 is left out: all others came after 1970".into(),
            _ => format!(
                "{untimed} packets with a time of 0 are left out: all others came after 1970"
            ),
        });
    }

    /// Returns the traffic class of each packet: its differentiated services codepoint, and in the
    /// two low bits its ECN codepoint.
    pub fn traffic_classes(&self) -> Vec<u8> {
        let both = self.dscp.iter().zip(&self.ecn);
        both.map(|(dscp, ecn)| dscp << 2 | ecn.bits()).collect()
    }

    /// Returns the flow of each packet as a number; flows are numbered from 0 in the order of their
    /// hashes.
    pub fn flow_numbers(&self) -> Vec<u32> {
        let mut hashes = self.flow.clone();
        hashes.sort_unstable();
        hashes.dedup();
        let number = |hash: &u32| hashes.partition_point(|other| other < hash) as u32;
        self.flow.iter().map(number).collect()
    }

    /// Appends the IP packet of one record, with its time since 1970.
    fn push(&mut self, path: &Path, record: &Record, seen: &mut Seen) -> Result<(), CaptureError> {
        let link = Link::from_number(record.link_type).ok_or_else(|| CaptureError::LinkType {
            path: path.to_owned(),
            packet: record.packet,
            link_type: record.link_type,
        })?;
        if !self.link_types.contains(&link.name()) {
            self.link_types.push(link.name());
        }
        let packet = match headers::parse(link, record.data, record.original_bytes) {
            Ok(packet) => packet,
            Err(kind) => {
                self.not_ip += 1;
                seen.other(headers::other_name(kind));
                return Ok(());
            }
        };
        self.reserve()
            .and_then(|()| seen.packet(&packet))
            .map_err(|_| no_memory(path, self.time_ns.len()))?;
        self.time_ns.push(record.time_ns);
        self.bytes.push(packet.bytes);
        self.flow.push(packet.flow);
        self.protocol.push(packet.protocol);
        self.ecn.push(packet.ecn);
        self.dscp.push(packet.dscp);
        self.opens.push(packet.opens);
        Ok(())
    }

    /// Makes room for one more packet in each column.
    fn reserve(&mut self) -> Result<(), TryReserveError> {
        self.time_ns.try_reserve(1)?;
        self.bytes.try_reserve(1)?;
        self.flow.try_reserve(1)?;
        self.protocol.try_reserve(1)?;
        self.ecn.try_reserve(1)?;
        self.dscp.try_reserve(1)?;
        self.opens.try_reserve(1)
    }

    fn sort_by_time(&mut self) -> Result<(), TryReserveError> {
        if self.time_ns.is_sorted() {
            return Ok(());
        }
        let mut order = Vec::new();
        order.try_reserve_exact(self.time_ns.len())?;
        order.extend(0..self.time_ns.len());
        // with the place as the second key, sorting needs no memory of its own
        order.sort_unstable_by_key(|&i| (self.time_ns[i], i));
        self.time_ns = pick(&self.time_ns, &order)?;
        self.bytes = pick(&self.bytes, &order)?;
        self.flow = pick(&self.flow, &order)?;
        self.protocol = pick(&self.protocol, &order)?;
        self.ecn = pick(&self.ecn, &order)?;
        self.dscp = pick(&self.dscp, &order)?;
        self.opens = pick(&self.opens, &order)?;
        Ok(())
    }
}

fn pick<T: Copy>(column: &[T], order: &[usize]) -> Result<Vec<T>, TryReserveError> {
    let mut picked = Vec::new();
    picked.try_reserve_exact(order.len())?;
    picked.extend(order.iter().map(|&i| column[i]));
    Ok(picked)
}

fn no_memory(path: &Path, packets: usize) -> CaptureError {
    CaptureError::Memory {
        path: path.to_owned(),
        packets,
    }
}

#[cfg(test)]
mod tests;
