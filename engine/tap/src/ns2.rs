//! ns-2's trace: a line of 12 fields for each step of each packet on each link ("The ns Manual",
//! chapter 26).
//!
//! Nodes, flows and packets are named by their numbers. As in ns-2, sequence numbers count packets,
//! and the number of an ACK is that of the last packet that arrived in order. Times have nine
//! decimals, where ns-2 has six. Of the flags, C is an ECN echo, A a reduced window, E a mark, N an
//! ECN-capable packet.

use std::io::{self, Write};

use sluice_network::{Event, Kind, Plan, Step};

use crate::{Format, flows::Flows};

pub struct Ns2 {
    /// The nodes of each link.
    links: Vec<(usize, usize)>,
}

impl Format for Ns2 {
    fn begin(plan: &Plan, _out: &mut impl Write) -> io::Result<Self> {
        let links = plan.topology.links.iter();
        Ok(Self {
            links: links.map(|link| (link.from, link.to)).collect(),
        })
    }

    fn wants(&self, _event: &Event) -> bool {
        true
    }

    fn write(&mut self, flows: &Flows, event: &Event, out: &mut impl Write) -> io::Result<()> {
        let packet = &event.packet;
        let (flow, from, to) = flows.of(packet);
        let (kind, number) = match packet.kind {
            Kind::Data => ("tcp", i64::from(packet.number)),
            Kind::Ack => ("ack", i64::from(packet.number) - 1),
            Kind::Datagram | Kind::Feedback => ("udp", i64::from(packet.number)),
        };
        let step = match event.step {
            Step::Arrive => '+',
            Step::Depart => '-',
            Step::Receive => 'r',
            Step::Drop => 'd',
            // a packet that an error model corrupts
            Step::Lose => 'e',
        };
        let (link_from, link_to) = self.links[event.link];
        let (seconds, ns) = (event.at_ns / 1_000_000_000, event.at_ns % 1_000_000_000);
        let flag = |on, letter| if on { letter } else { '-' };
        let echo = flag(packet.echoes_mark(), 'C');
        let reduced = flag(packet.says_reduced(), 'A');
        let marked = flag(packet.ecn().is_marked(), 'E');
        let capable = flag(packet.ecn().is_capable(), 'N');
        write!(
            out,
            "{step} {seconds}.{ns:09} {link_from} {link_to} {kind} {} \
             {echo}--{reduced}{marked}-{capable} {} ",
            packet.bytes, flow.id
        )?;
        let (id, from_port, to_port) = (event.id, from.port, to.port);
        let (from, to) = (from.node, to.node);
        writeln!(out, "{from}.{from_port} {to}.{to_port} {number} {id}")
    }
}
