//! The log of a qdisc: calls of its AQM, and packets lost and sent. `logging.bpf.h` writes it.

use std::{fmt, mem::size_of, ptr};

use libbpf_rs::{MapHandle, RingBufferBuilder};
use sluice_aqm::{Verdict, View};

use crate::{KernelError, refusal::lost};

/// First line of a log as text: the columns of the engine's decision log, and `index`.
pub const LOG_COLUMNS: &str = "number,time_ns,link,queue,event,packet,verdict,random,\
idle_since_ns,sojourn_ns,rate_bps,queue_bytes,queue_packets,limit_packets,packet_bytes,flow_hash,\
candidate_flow_hash,idle,ecn_capable,full,index";

/// Names of `enum happening`.
const EVENTS: [&str; 10] = [
    "arrive", "depart", "tick", "join", "leave", "salt", "ask", "lost", "send", "begin",
];

/// An event: `struct happened`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Happened {
    what: u32,
    /// The instance's number.
    link: u32,
    queue: u32,
    packet: u32,
    index: u32,
    verdict: u32,
    view: View,
}

impl Happened {
    fn read(bytes: &[u8]) -> Self {
        assert_eq!(
            bytes.len(),
            size_of::<Self>(),
            "the struct of logging.bpf.h"
        );
        // SAFETY: the struct has numbers only, and the slice has as many bytes.
        unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) }
    }

    fn has_verdict(&self) -> bool {
        matches!(self.event(), "arrive" | "depart" | "lost")
    }

    fn event(&self) -> &'static str {
        EVENTS.get(self.what as usize).copied().unwrap_or("unknown")
    }
}

/// Writes all columns but the first, the line's number.
impl fmt::Display for Happened {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Verdict::NAMES;
        let verdict = match names.get(self.verdict as usize) {
            Some(name) if self.has_verdict() => name,
            _ => "",
        };
        let view = &self.view;
        write!(
            out,
            "{},{},{},{},{},{verdict},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            view.now_ns,
            self.link,
            self.queue,
            self.event(),
            self.packet,
            view.random,
            view.idle_since_ns,
            view.sojourn_ns,
            view.rate_bps,
            view.queue_bytes,
            view.queue_packets,
            view.limit_packets,
            view.packet_bytes,
            view.flow_hash,
            view.candidate_flow_hash,
            view.idle,
            view.ecn_capable,
            view.full,
            self.index,
        )
    }
}

/// Takes all events out of a log, in order.
pub(crate) fn take(map: &MapHandle) -> Result<Vec<Happened>, KernelError> {
    let mut found = Vec::new();
    {
        let mut buffer = RingBufferBuilder::new();
        let read = |bytes: &[u8]| {
            found.push(Happened::read(bytes));
            0
        };
        buffer.add(map, read).map_err(lost)?;
        buffer
            .build()
            .and_then(|buffer| buffer.consume())
            .map_err(lost)?;
    }
    Ok(found)
}
