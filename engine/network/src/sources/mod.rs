//! Sources of packets.

mod application;
mod arrivals;
mod call;
mod datagrams;
mod gap;
mod limited;
mod noise;
mod replay;
mod short;
mod size;
mod tcp;
mod video;
mod web;

pub use application::{Application, Applications, Felt, Supplied, Supply};
pub use arrivals::ArrivalProcess;
pub use call::{Call, Caller};
pub use datagrams::{DatagramSource, Datagrams};
pub use limited::Writer;
pub use noise::Noise;
pub use replay::{Recording, Replay};
pub use short::{Extent, ShortTcp};
pub use size::Size;
pub use sluice_wire::Distribution;
pub(crate) use tcp::spread;
pub use tcp::{LongTcp, TcpFlow, TcpKind};
pub use video::Video;
pub use web::Web;

pub(crate) use noise::MOST_FRAMES;

/// Kind of the flows of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// TCP flows that start once.
    Long(LongTcp),
    /// TCP flows that arrive during the run; a group of n has n such arrival processes.
    Short(ShortTcp),
    /// TCP flows of users of the web, who fetch one page after the other.
    Web(Web),
    /// TCP flows of players of video, one for each.
    Video(Video),
    /// Datagrams.
    Datagrams(Datagrams),
    /// Video calls, one for each flow.
    Call(Call),
    /// Datagrams as recorded; a group of n has n copies.
    Replay(Replay),
}

impl Source {
    /// Returns the kind of its TCP flows; `None` if it sends datagrams.
    pub fn tcp(&self) -> Option<&TcpKind> {
        match self {
            Self::Long(long) => Some(&long.kind),
            Self::Short(short) => Some(&short.kind),
            Self::Web(web) => Some(&web.kind),
            Self::Video(video) => Some(&video.kind),
            Self::Datagrams(_) | Self::Call(_) | Self::Replay(_) => None,
        }
    }
}

/// Flows of one kind between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Index of the node that sends.
    pub from: usize,
    /// Index of the node that receives.
    pub to: usize,
    /// Number of flows, of arrival processes, of users or of copies, see [`Source`].
    pub count: u32,
    /// What the flows send, and when.
    pub source: Source,
}

/// Maximum number of flows: flows of groups, flows of recordings, and flows that arrive. Each takes
/// slightly less than 1 kB.
pub(crate) const MOST_FLOWS: usize = 5_000_000;

impl Group {
    /// True if the flows get no answers, so that no route back is needed.
    pub(crate) fn is_one_way(&self) -> bool {
        matches!(self.source, Source::Datagrams(_) | Source::Replay(_))
    }

    /// Checks the flows for a run that ends at `end_ns`.
    pub(crate) fn check(&self, end_ns: u64) -> Result<(), String> {
        match &self.source {
            Source::Long(long) => long.check(),
            Source::Short(short) => {
                short.check()?;
                self.check_frames(end_ns)?;
                self.check_arrivals(&short.arrivals, short.from_ns, short.to_ns.min(end_ns))
            }
            Source::Web(web) => web.check(),
            Source::Video(video) => video.check(),
            Source::Datagrams(datagrams) => {
                datagrams.check()?;
                self.check_frames(end_ns)
            }
            Source::Call(call) => call.check(),
            Source::Replay(_) => Ok(()),
        }
    }

    /// Returns how many flows it has at the start of a run. Of a recording, each flow of each copy
    /// counts, and each connection of a user.
    pub(crate) fn flows(&self) -> u64 {
        let each = match &self.source {
            Source::Replay(replay) => u64::from(replay.recording.flows()),
            Source::Web(web) => u64::from(web.connections),
            _ => 1,
        };
        u64::from(self.count) * each
    }

    /// Returns how many frames of noise are kept for its flows in a run that ends at `end_ns`.
    pub(crate) fn frames(&self, end_ns: u64) -> u64 {
        let (process, from_ns, to_ns) = match &self.source {
            Source::Short(short) => (&short.arrivals, short.from_ns, short.to_ns),
            Source::Datagrams(datagrams) => {
                (&datagrams.arrivals, datagrams.start_ns, datagrams.stop_ns)
            }
            _ => return 0,
        };
        let frames = |noise: Noise| noise.frames(from_ns, to_ns.min(end_ns));
        process
            .noise()
            .map_or(0, frames)
            .saturating_mul(u64::from(self.count))
    }

    fn check_frames(&self, end_ns: u64) -> Result<(), String> {
        match self.frames(end_ns) {
            0..=MOST_FRAMES => Ok(()),
            frames => Err(format!(
                "fgn.frame is too short: {} flows make {frames} frames; at most {MOST_FRAMES} are kept",
                self.count
            )),
        }
    }

    fn check_arrivals(
        &self,
        process: &ArrivalProcess,
        from_ns: u64,
        to_ns: u64,
    ) -> Result<(), String> {
        let time_ns = to_ns.saturating_sub(from_ns) as f64;
        let expected = time_ns / process.mean_gap_ns() * f64::from(self.count);
        if expected > MOST_FLOWS as f64 {
            return Err(format!(
                "about {expected:.3e} flows would arrive; at most {MOST_FLOWS:e} can"
            ));
        }
        Ok(())
    }
}
