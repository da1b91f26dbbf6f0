//! The nodes and ports between which the packets of each flow travel.

use std::collections::HashMap;

use sluice_network::{Group, Kind, Packet, Plan, TcpKind};

/// A flow and its two ends; its data travels from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Number among all flows; TCP flows come first.
    pub id: u32,
    /// Index of its group.
    group: u32,
    pub from: End,
    pub to: End,
}

/// A node and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Index of the node.
    pub node: u32,
    /// Number of the port, from 0.
    pub port: u16,
}

/// Ports of a node.
const PORTS: u32 = u16::MAX as u32 - FIRST_PORT as u32 + 1;
/// The first of IP's dynamic ports (RFC 6335, section 6): programs that read captures interpret
/// smaller ports as protocols.
pub const FIRST_PORT: u16 = 49_152;

/// All flows of a run.
pub struct Flows {
    groups: Vec<Group>,
    tcp: Vec<Flow>,
    datagrams: Vec<Flow>,
}

impl Flows {
    /// Creates the flows of these groups, numbered in their order.
    pub fn new(plan: &Plan, tcp_groups: &[u32], datagram_groups: &[u32]) -> Self {
        let mut between = HashMap::new();
        let mut id = 0;
        let mut flow = |group: &u32| {
            let Group { from, to, .. } = plan.groups[*group as usize];
            // no two flows between the same nodes have the same two ports
            let number: &mut u32 = between.entry((from.min(to), from.max(to))).or_default();
            let (node, port) = (from as u32, (*number % PORTS) as u16);
            let flow = Flow {
                id,
                group: *group,
                from: End { node, port },
                to: End {
                    node: to as u32,
                    port: (*number / PORTS) as u16,
                },
            };
            (*number, id) = (*number + 1, id + 1);
            flow
        };
        Self {
            tcp: tcp_groups.iter().map(&mut flow).collect(),
            datagrams: datagram_groups.iter().map(&mut flow).collect(),
            groups: plan.groups.clone(),
        }
    }

    /// Returns the flow of a packet, and the packet's own source and destination.
    pub fn of(&self, packet: &Packet) -> (&Flow, End, End) {
        let flows = match packet.kind {
            Kind::Datagram | Kind::Feedback => &self.datagrams,
            Kind::Data | Kind::Ack => &self.tcp,
        };
        let flow = &flows[packet.flow as usize];
        match packet.kind {
            Kind::Ack | Kind::Feedback => (flow, flow.to, flow.from),
            Kind::Data | Kind::Datagram => (flow, flow.from, flow.to),
        }
    }

    /// Returns the kind of a TCP flow; `None` for datagrams.
    pub fn tcp(&self, flow: &Flow) -> Option<&TcpKind> {
        self.groups[flow.group as usize].source.tcp()
    }
}
