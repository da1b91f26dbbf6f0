//! The traffic that the flows of a scenario offer to the network, for senders outside the
//! simulator.

use sluice_aqm::NEVER;

use sluice_ecn::Ecn;

use crate::{
    agenda::{Agenda, Task},
    endpoints::Endpoints,
    error::NetworkError,
    plan::Plan,
    sources::Supplied,
};

/// A TCP flow that starts in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedTcp {
    /// Index of its group.
    pub group: u32,
    /// When it starts.
    pub start_ns: u64,
    /// When its application ends; [`NEVER`] if it does not.
    pub stop_ns: u64,
    /// Data packets to send, or those of the first object; `None` if there is no end.
    pub packets: Option<u32>,
    /// What gives it its packets.
    pub supplied: Supplied,
}

/// A datagram that is sent in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedDatagram {
    /// When it is sent.
    pub time_ns: u64,
    /// Index of its flow among all datagram flows.
    pub flow: u32,
    /// Size on the wire.
    pub bytes: u16,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// A video call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedCall {
    /// Index of its flow among all datagram flows.
    pub flow: u32,
    /// When it makes its first frame; `None` if it makes none.
    pub start_ns: Option<u64>,
    /// Traffic classes of its video, and of the feedback.
    pub traffic_classes: [u8; 2],
}

/// The offered traffic of one replication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// The TCP flows, in the order of their groups.
    pub tcp: Vec<OfferedTcp>,
    /// Index of the group of each datagram flow.
    pub datagram_groups: Vec<u32>,
    /// All datagrams but those of calls, in the order of their times.
    pub datagrams: Vec<OfferedDatagram>,
    /// All calls.
    pub calls: Vec<OfferedCall>,
}

/// Draws the offered traffic of a replication of `plan`, from the random streams of the simulation.
///
/// # Errors
/// If the plan is refused, or if there are more datagrams than `most`.
pub fn offered(plan: &Plan, replication: u32, most: usize) -> Result<Offered, NetworkError> {
    let (routes, clock) = plan.check()?;
    let mut agenda = Agenda::new();
    let mut ends = Endpoints::new(plan, &routes, u64::from(replication), clock, &mut agenda)?;
    let tcp = ends.senders.iter().enumerate().map(|(flow, sender)| {
        let kind = &ends.kinds[sender.kind as usize];
        OfferedTcp {
            group: ends.tcp_groups[flow],
            start_ns: ends.starts_ns[flow],
            stop_ns: NEVER,
            packets: sender.endpoint.packets(&kind.config),
            supplied: ends.applications.supplies(flow as u32),
        }
    });
    let calls = ends.calls.iter().map(|call| OfferedCall {
        flow: call.flow,
        start_ns: None,
        traffic_classes: call.caller.traffic_classes(),
    });
    let mut offered = Offered {
        calls: calls.collect(),
        tcp: tcp.collect(),
        datagram_groups: ends.datagram_groups.clone(),
        datagrams: Vec::new(),
    };
    let end = clock.ticks(plan.duration_ns);
    while agenda.due() < end {
        let now_ns = clock.ns(agenda.due());
        match agenda.pop() {
            Some(Task::Stop(flow)) => offered.tcp[flow as usize].stop_ns = now_ns,
            Some(Task::Frame(number)) => offered.calls[number as usize].start_ns = Some(now_ns),
            Some(Task::Datagram(number)) => {
                let sender = &mut ends.datagram_senders[number as usize];
                let (datagram, next_ns) = sender.source.send(now_ns);
                offered.datagrams.push(OfferedDatagram {
                    time_ns: now_ns,
                    flow: sender.first + datagram.flow,
                    bytes: datagram.bytes,
                    ecn: Ecn::from_bits(datagram.traffic_class),
                });
                if let Some(next_ns) = next_ns {
                    agenda.add(clock.ticks(next_ns), Task::Datagram(number));
                }
            }
            _ => {}
        }
        if offered.datagrams.len() > most {
            return Err(NetworkError(format!(
                "flows: more than {most} datagrams would be sent in one run"
            )));
        }
    }
    Ok(offered)
}
