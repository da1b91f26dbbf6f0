//! The log of a qdisc: calls of its AQM, and packets lost and sent. `logging.bpf.h` writes it.

use std::fmt;

use libbpf_rs::{MapHandle, RingBufferBuilder};
use sluice_aqm::{Verdict, View};

use crate::{
    KernelError,
    refusal::lost,
    shared::{self, Layout, layout},
};

/// Returns the first line of a log as text: the columns of the engine's decision log, and `index`.
pub fn log_columns() -> String {
    let own = "number,time_ns,link,queue,event,packet,verdict";
    let shown = View::names().skip(1);
    shown.fold(own.to_owned(), |columns, name| columns + "," + name) + ",index"
}

/// `enum happening`: names of its constants, and in the log.
pub(crate) const EVENTS: [(&str, &str); 13] = [
    ("ARRIVE", "arrive"),
    ("DEPART", "depart"),
    ("TICK", "tick"),
    ("JOIN", "join"),
    ("LEAVE", "leave"),
    ("SALT", "salt"),
    ("ASK", "ask"),
    ("LOSE", "lost"),
    ("SEND", "send"),
    ("BEGIN", "begin"),
    ("HOSTS", "hosts"),
    ("HOLD", "hold"),
    ("ACK", "ack"),
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
    pub(crate) fn layout() -> Layout {
        layout!(
            happened = Happened {
                what,
                link,
                queue,
                packet,
                index,
                verdict,
                view
            }
        )
    }

    fn read(bytes: &[u8]) -> Self {
        // SAFETY: it is `repr(C)`, and has numbers only.
        unsafe { shared::read(bytes) }
    }

    fn has_verdict(&self) -> bool {
        matches!(self.event(), "arrive" | "depart" | "lost")
    }

    fn event(&self) -> &'static str {
        let known = EVENTS.get(self.what as usize);
        known.map_or("unknown", |(_, name)| name)
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
        write!(
            out,
            "{},{},{},{},{},{verdict}",
            self.view.now_ns,
            self.link,
            self.queue,
            self.event(),
            self.packet,
        )?;
        let mut shown = self.view.values().skip(1);
        shown.try_for_each(|value| write!(out, ",{value}"))?;
        write!(out, ",{}", self.index)
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
