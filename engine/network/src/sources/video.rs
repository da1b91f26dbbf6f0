//! Video in segments over HTTP, of a quality that follows the buffer: the algorithm BBA-0 of Huang et
//! al. 2014, "A buffer-based approach to rate adaptation".

use sluice_aqm::NEVER;
use sluice_random::Stream;

use super::{
    application::{Felt, Object, Supply, Turn},
    tcp::{TcpFlow, TcpKind, spread},
};

/// Share of the buffer up to which the lowest rate is chosen: 90 of 240 s (Huang et al. 2014:
/// the reservoir).
const RESERVOIR: f64 = 90.0 / 240.0;
/// Share from which the highest one is chosen: 216 of 240 s (the end of the cushion), less where a
/// segment would then have no room.
const CUSHION_END: f64 = 216.0 / 240.0;

/// Players of video in segments, each over one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Kind of the TCP flows.
    pub kind: TcpKind,
    /// Rates in which each segment can be had, bits/s on the wire, ascending.
    pub rates_bps: Vec<f64>,
    /// Time that a segment plays.
    pub segment_ns: u64,
    /// Time that a full buffer plays; at least two segments.
    pub buffer_ns: u64,
    /// Earliest start.
    pub start_ns: u64,
    /// Starts are uniform over this time from the earliest on.
    pub spread_ns: u64,
    /// No segment is asked for from this time on.
    pub stop_ns: u64,
}

impl Video {
    /// Draws the flow of a player, with its first segment.
    pub fn draw(&self, random: &mut Stream) -> TcpFlow {
        TcpFlow {
            packets: self.packets(0),
            start_ns: self.start_ns + spread(self.spread_ns, random),
            stop_ns: NEVER,
        }
    }

    /// Returns a player during its first segment, which `flow` says.
    pub fn player(&self, flow: &TcpFlow) -> Player {
        Player {
            object: Object {
                packets: flow.packets,
                start_ns: flow.start_ns,
                first: true,
            },
            fetches: true,
            rung: 0,
            shown: None,
            seen_ns: flow.start_ns,
            ahead_ns: 0,
            arrived_ns: flow.start_ns,
            started: false,
            stalls: false,
            ends: false,
            felt: Felt::default(),
            video: self.clone(),
        }
    }

    /// Returns the packets of a segment of one of the rates.
    fn packets(&self, rung: usize) -> u32 {
        let bytes = self.rates_bps[rung] * self.segment_ns as f64 / 8e9;
        (bytes / f64::from(self.kind.packet_bytes)).ceil().max(1.0) as u32
    }

    /// Returns the rate of the next segment (Huang et al. 2014, algorithm 1).
    fn next_rung(&self, before: usize, ahead_ns: u64) -> usize {
        let rates = &self.rates_bps;
        let (least, most) = (rates[0], rates[rates.len() - 1]);
        let full = ahead_ns as f64 / self.buffer_ns as f64;
        if full <= RESERVOIR {
            return 0;
        }
        let cushion_end = CUSHION_END.min(1.0 - self.segment_ns as f64 / self.buffer_ns as f64);
        if full >= cushion_end {
            return rates.len() - 1;
        }
        let map = least + (most - least) * (full - RESERVOIR) / (cushion_end - RESERVOIR);
        let (down, up) = (before.saturating_sub(1), (before + 1).min(rates.len() - 1));
        if map >= rates[up] {
            rates.iter().rposition(|rate| *rate < map).unwrap_or(before)
        } else if map <= rates[down] {
            rates.iter().position(|rate| *rate > map).unwrap_or(before)
        } else {
            before
        }
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        self.kind.check()?;
        let rises = self.rates_bps.windows(2).all(|two| two[0] < two[1]);
        if !rises || self.rates_bps.first().is_none_or(|rate| *rate <= 0.0) {
            return Err("rates_bps must be positive and rise".into());
        }
        if self.segment_ns == 0 || self.buffer_ns < 2 * self.segment_ns {
            return Err(format!(
                "buffer = {} must be at least two segments of {} (ns)",
                self.buffer_ns, self.segment_ns
            ));
        }
        Ok(())
    }
}

/// A player in a run.
#[derive(Clone, Debug)]
pub struct Player {
    video: Video,
    /// The segment that is being fetched, or was fetched last, and its rate.
    object: Object,
    fetches: bool,
    rung: usize,
    /// Rate of the last segment that arrived.
    shown: Option<usize>,
    /// Time up to which it is counted what was seen, and what the buffer can play from then on.
    seen_ns: u64,
    ahead_ns: u64,
    /// When the last segment arrived.
    arrived_ns: u64,
    /// The first segment has arrived; the picture stands still; no segment will follow.
    started: bool,
    stalls: bool,
    ends: bool,
    felt: Felt,
}

impl Player {
    /// Plays up to `now`.
    fn play(&mut self, now: u64) {
        let passed_ns = now.saturating_sub(self.seen_ns);
        self.seen_ns = self.seen_ns.max(now);
        if !self.started {
            return;
        }
        let played_ns = passed_ns.min(self.ahead_ns);
        self.ahead_ns -= played_ns;
        self.felt.played_ns += played_ns;
        let stalled_ns = passed_ns - played_ns;
        if stalled_ns > 0 && !self.ends {
            self.felt.stalled_ns += stalled_ns;
            self.felt.stalls += u64::from(!self.stalls);
            self.stalls = true;
        }
    }

    /// A segment has arrived. The next one is asked for as soon as it has room.
    pub fn arrived(&mut self, now: u64) -> Turn {
        if !self.fetches {
            return Turn::default();
        }
        self.play(now);
        self.arrived_ns = now;
        (self.fetches, self.started, self.stalls) = (false, true, false);
        self.ahead_ns += self.video.segment_ns;
        self.felt.segments += 1;
        self.felt.rates_bps += self.video.rates_bps[self.rung];
        let before = self.shown.replace(self.rung);
        self.felt.switches += u64::from(before.is_some_and(|before| before != self.rung));
        let full_ns = self.ahead_ns + self.video.segment_ns;
        let next_ns = now + full_ns.saturating_sub(self.video.buffer_ns);
        self.ends = next_ns >= self.video.stop_ns;
        Turn {
            ended: Some(self.object),
            next: (!self.ends).then_some((next_ns, 0..1)),
            page_ns: None,
        }
    }

    /// Asks for a segment.
    pub fn fetch(&mut self, now: u64) -> Supply {
        self.play(now);
        self.rung = self.video.next_rung(self.rung, self.ahead_ns);
        self.fetches = true;
        self.object = Object {
            packets: self.video.packets(self.rung),
            start_ns: now,
            first: false,
        };
        Supply {
            packets: self.object.packets,
            idle_ns: Some(now - self.arrived_ns),
            again_ns: None,
        }
    }

    /// Returns the segment that is being fetched.
    pub fn fetching(&self) -> Option<&Object> {
        self.fetches.then_some(&self.object)
    }

    /// Adds what was seen since the last call.
    pub fn count(&mut self, now: u64, felt: &mut Felt) {
        self.play(now);
        let own = std::mem::take(&mut self.felt);
        felt.played_ns += own.played_ns;
        felt.stalled_ns += own.stalled_ns;
        felt.stalls += own.stalls;
        felt.segments += own.segments;
        felt.rates_bps += own.rates_bps;
        felt.switches += own.switches;
    }
}
