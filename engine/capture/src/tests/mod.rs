//! Builds files of every format, for the tests of files and of headers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use etherparse::{PacketBuilder, VlanId};
use proptest::prelude::*;

use super::*;

mod damaged;
mod expanding;
mod files;
mod headers;

const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/gateway.pcap");

/// A file that is removed when this value is dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(bytes: &[u8]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluice-capture-{}-{number}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

fn read_bytes(bytes: &[u8]) -> Result<Capture, CaptureError> {
    read(&TempFile::new(bytes).0)
}

/// Returns the error message for a damaged file, without the file's name.
fn complaint_about(bytes: &[u8]) -> String {
    let file = TempFile::new(bytes);
    let message = read(&file.0).unwrap_err().to_string();
    message.replace(&file.0.display().to_string(), "FILE")
}

/// Byte order of the files built here.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    fn u32(self, value: u32) -> [u8; 4] {
        if self == ByteOrder::Big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    fn u16(self, value: u16) -> [u8; 2] {
        if self == ByteOrder::Big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }
}

/// Builds a pcap of (time in ns, frame); with `nano`, times are kept in ns, else in µs.
fn pcap(order: ByteOrder, nano: bool, link_type: u32, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let magic = if nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
    let mut file = Vec::new();
    file.extend(order.u32(magic));
    file.extend([order.u16(2), order.u16(4)].concat());
    [0, 0, 65535, link_type]
        .iter()
        .for_each(|&field| file.extend(order.u32(field)));
    for (time, frame) in frames {
        let fraction = time % 1_000_000_000 / if nano { 1 } else { 1000 };
        let length = frame.len() as u32;
        for field in [
            (time / 1_000_000_000) as u32,
            fraction as u32,
            length,
            length,
        ] {
            file.extend(order.u32(field));
        }
        file.extend(frame);
    }
    file
}

fn block(order: ByteOrder, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut block = [order.u32(kind), length].concat();
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}

/// Builds a pcapng with one interface, whose clock has the given `resolution` (if_tsresol).
fn pcapng(order: ByteOrder, link_type: u16, resolution: u8, frames: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut section = order.u32(0x1a2b_3c4d).to_vec();
    section.extend([order.u16(1), order.u16(0)].concat());
    section.extend([0xff; 8]);
    let mut interface = [order.u16(link_type), order.u16(0)].concat();
    interface.extend(order.u32(65535));
    interface.extend([order.u16(9), order.u16(1)].concat());
    interface.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    let mut file = block(order, 0x0a0d_0d0a, &section);
    file.extend(block(order, 1, &interface));
    for (ticks, frame) in frames {
        let mut packet = Vec::new();
        let length = frame.len() as u32;
        for field in [0, (ticks >> 32) as u32, *ticks as u32, length, length] {
            packet.extend(order.u32(field));
        }
        packet.extend(frame);
        file.extend(block(order, 6, &packet));
    }
    file
}

/// Builds a raw IPv4 UDP packet: 28 bytes of headers and the payload.
fn udp(source_port: u16, payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(source_port, 53);
    builder.write(&mut packet, &vec![0; payload]).unwrap();
    packet
}

fn udp6(payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .udp(9, 53)
        .write(&mut packet, &vec![0; payload])
        .unwrap();
    packet
}

fn with_link_header(header: &[u8], packet: Vec<u8>) -> Vec<u8> {
    [header.to_vec(), packet].concat()
}

fn notes_on(bytes: &[u8]) -> Vec<String> {
    read_bytes(bytes).unwrap().notes
}
