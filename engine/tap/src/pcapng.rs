//! A pcapng capture (draft-ietf-opsawg-pcapng): one interface for each link that has a discipline,
//! with what was sent over it, at the start of the transmission. Of each packet the headers are
//! kept.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use pcap_parser::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption,
    SectionHeaderBlock, ToVec,
};
use sluice_network::{Event, Plan, Step};

use crate::{Format, flows::Flows, frame};

/// Bytes kept of a packet: no header of IP and TCP is longer.
const KEPT: usize = 120;
/// Times are in units of 10 to the minus this, s.
const DECIMALS: u8 = 9;

pub struct Pcapng {
    /// The interface of each link that has one.
    interfaces: Vec<Option<u32>>,
}

impl Format for Pcapng {
    fn begin(plan: &Plan, out: &mut impl Write) -> io::Result<Self> {
        let mut section = SectionHeaderBlock {
            block_type: 0,
            block_len1: 0,
            bom: 0,
            major_version: 0,
            minor_version: 0,
            // not known before the end
            section_len: -1,
            options: Vec::new(),
            block_len2: 0,
        };
        out.write_all(&bytes(section.to_vec())?)?;
        let mut interfaces = Vec::new();
        let mut count = 0;
        for link in &plan.topology.links {
            if link.port.is_none() {
                interfaces.push(None);
                continue;
            }
            let name = |node: usize| &plan.topology.nodes[node];
            let name = format!("{} -> {}", name(link.from), name(link.to));
            let mut interface = InterfaceDescriptionBlock {
                block_type: 0,
                block_len1: 0,
                linktype: Linktype::RAW,
                reserved: 0,
                snaplen: KEPT as u32,
                options: vec![
                    option(OptionCode::IfName, name.as_bytes()),
                    option(OptionCode::IfSpeed, &link.rate_bps.to_le_bytes()),
                ],
                block_len2: 0,
                if_tsresol: DECIMALS,
                if_tsoffset: 0,
            };
            out.write_all(&bytes(interface.to_vec())?)?;
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
        let mut packet = EnhancedPacketBlock {
            block_type: 0,
            block_len1: 0,
            if_id: self.interfaces[event.link].unwrap_or_default(),
            ts_high: (event.at_ns >> 32) as u32,
            ts_low: event.at_ns as u32,
            caplen: kept.len() as u32,
            origlen: frame.len() as u32,
            data: kept,
            options: Vec::new(),
            block_len2: 0,
        };
        out.write_all(&bytes(packet.to_vec())?)
    }
}

fn option(code: OptionCode, value: &[u8]) -> PcapNGOption<'static> {
    let mut padded = value.to_vec();
    padded.resize(value.len().next_multiple_of(4), 0);
    PcapNGOption {
        code,
        len: value.len() as u16,
        value: Cow::Owned(padded),
    }
}

fn bytes<E: std::fmt::Debug>(block: Result<Vec<u8>, E>) -> io::Result<Vec<u8>> {
    block.map_err(|error| io::Error::other(format!("{error:?}")))
}
