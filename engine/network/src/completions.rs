//! How long flows and objects took, by class and size.

use sluice_histogram::Histogram;

use crate::{
    routes::Routes,
    sources::{Group, TcpKind},
    topology::Topology,
};

/// Greatest bytes on the wire of a flow or object in each range of sizes but the last, which has no
/// end.
pub const SIZES: [u64; 3] = [10_000, 100_000, 1_000_000];

/// Flows and objects of one class and one range of sizes in a period. An object is what a user of
/// the web fetches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    /// Times from the start to the end of those that ended in the period, ns.
    pub times: Histogram,
    /// These times over the ideal ones, in thousandths, of those that have a size of their own. See
    /// [`Ideal`].
    pub slowdowns: Histogram,
    /// Bytes of those that ended.
    pub bytes: u64,
    /// Those that had begun at the end of the run and not ended.
    pub unfinished: u64,
    /// Their bytes: their sizes, or, if only a time ends them, what was acknowledged.
    pub unfinished_bytes: u64,
}

/// The completions of one class, by range of sizes.
pub type BySize = [Completions; SIZES.len() + 1];

fn place(bytes: u64) -> usize {
    SIZES.iter().filter(|most| bytes > **most).count()
}

/// A flow or an object that ended.
pub struct Ended {
    pub bytes: u64,
    pub took_ns: u64,
    /// `None` if it has no size of its own.
    pub ideal_ns: Option<u64>,
}

/// Counts a flow or an object that ended.
pub fn end(counts: &mut BySize, ended: &Ended) {
    let counts = &mut counts[place(ended.bytes)];
    counts.times.add(ended.took_ns);
    counts.bytes += ended.bytes;
    if let Some(ideal_ns) = ended.ideal_ns {
        let thousandths = 1000.0 * ended.took_ns as f64 / ideal_ns.max(1) as f64;
        counts.slowdowns.add(thousandths.round() as u64);
    }
}

/// Counts one that did not end in the run.
pub fn leave(counts: &mut BySize, bytes: u64) {
    let counts = &mut counts[place(bytes)];
    counts.unfinished += 1;
    counts.unfinished_bytes += bytes;
}

/// The completion times of a group's flows on a path that they have to themselves, if the sender
/// could send all packets at once: the last data packet leaves the slowest link as soon as that
/// has sent all those before it, and its ACK comes back without waiting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ideal {
    /// Of the first packet, from sending to its ACK.
    first_ns: f64,
    /// Of each further packet.
    further_ns: f64,
    /// Of the handshake; 0 if there is none.
    handshake_ns: f64,
}

impl Ideal {
    /// That of a group of TCP flows.
    pub fn new(topology: &Topology, routes: &Routes, group: &Group, kind: &TcpKind) -> Self {
        let sending_ns =
            |link: usize, bytes: u16| f64::from(bytes) * 8e9 / topology.links[link].rate_bps as f64;
        let trip_ns = |from: usize, to: usize, bytes: u16| -> f64 {
            let links = routes.links(from, to);
            links
                .map(|link| topology.links[link].delay_ns as f64 + sending_ns(link, bytes))
                .sum()
        };
        let (from, to) = (group.from, group.to);
        let back_ns = trip_ns(to, from, kind.ack_bytes);
        let slowest = routes
            .links(from, to)
            .map(|link| sending_ns(link, kind.packet_bytes));
        Self {
            first_ns: trip_ns(from, to, kind.packet_bytes) + back_ns,
            further_ns: slowest.fold(0.0, f64::max),
            handshake_ns: match kind.config.syn {
                true => trip_ns(from, to, kind.ack_bytes) + back_ns,
                false => 0.0,
            },
        }
    }

    /// Returns the time of so many packets; `opens` if the handshake belongs to it.
    pub fn time_ns(&self, packets: u32, opens: bool) -> u64 {
        let handshake_ns = if opens { self.handshake_ns } else { 0.0 };
        let further = f64::from(packets.max(1) - 1);
        (handshake_ns + self.first_ns + further * self.further_ns).round() as u64
    }
}
