//! A pcapng capture (draft-ietf-opsawg-pcapng): one interface for each link that has a discipline,
//! with the packets sent over it, at the start of their transmission. Only the headers are kept.

use std::io::{self, Write};

use sluice_network::{Event, Plan, Step};

use crate::{Format, flows::Flows, frame};

// Types of blocks and options, and the link type of packets that begin with their IP header.
const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const END_OF_OPTIONS: u16 = 0;
const IF_NAME: u16 = 2;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const LINKTYPE_RAW: u16 = 101;

/// Bytes kept of each packet: the headers of IP and TCP are never longer.
const KEPT: usize = 120;
/// Times are in units of 10^-DECIMALS s.
const DECIMALS: u8 = 9;

pub struct Pcapng {
    /// The interface of each link, if it has one.
    interfaces: Vec<Option<u32>>,
}

impl Format for Pcapng {
    fn begin(plan: &Plan, out: &mut impl Write) -> io::Result<Self> {
        let mut section = Vec::new();
        section.extend(0x1A2B_3C4D_u32.to_le_bytes());
        section.extend(1_u16.to_le_bytes());
        section.extend(0_u16.to_le_bytes());
        // length of the section: unknown until the end
        section.extend((-1_i64).to_le_bytes());
        out.write_all(&block(SECTION, &section))?;
        let mut interfaces = Vec::new();
        let mut count = 0;
        for link in &plan.topology.links {
            if link.port.is_none() {
                interfaces.push(None);
                continue;
            }
            let name = |node: usize| &plan.topology.nodes[node];
            let name = format!("{} -> {}", name(link.from), name(link.to));
            let mut interface = Vec::new();
            interface.extend(LINKTYPE_RAW.to_le_bytes());
            interface.extend(0_u16.to_le_bytes());
            interface.extend((KEPT as u32).to_le_bytes());
            option(&mut interface, IF_NAME, name.as_bytes());
            option(&mut interface, IF_SPEED, &link.rate_bps.to_le_bytes());
            option(&mut interface, IF_TSRESOL, &[DECIMALS]);
            option(&mut interface, END_OF_OPTIONS, &[]);
            out.write_all(&block(INTERFACE, &interface))?;
            interfaces.push(Some(count));
            count += 1;
        }
        Ok(Self { interfaces })
    }

    fn wants(&self, event: &Event) -> bool {
        event.step == Step::Depart && self.interfaces[event.link].is_some()
    }

    fn write(&mut self, flows: &Flows, event: &Event, out: &mut impl Write) -> io::Result<()> {
        let frame = frame::of(flows, event);
        let kept = &frame[..frame.len().min(KEPT)];
        let mut packet = Vec::with_capacity(20 + KEPT);
        let interface = self.interfaces[event.link].unwrap_or_default();
        packet.extend(interface.to_le_bytes());
        packet.extend(((event.at_ns >> 32) as u32).to_le_bytes());
        packet.extend((event.at_ns as u32).to_le_bytes());
        packet.extend((kept.len() as u32).to_le_bytes());
        packet.extend((frame.len() as u32).to_le_bytes());
        packet.extend(kept);
        out.write_all(&block(ENHANCED_PACKET, &packet))
    }
}

/// An option of a block: its code, its length in bytes, its value, padded to 32 bits.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// A block: its type, its body padded to 32 bits, and before and after the body its length in
/// bytes.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = (12 + padded as u32).to_le_bytes();
    let mut block = Vec::with_capacity(12 + padded);
    block.extend(kind.to_le_bytes());
    block.extend(length);
    block.extend(body);
    block.resize(8 + padded, 0);
    block.extend(length);
    block
}
