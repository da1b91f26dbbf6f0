//! Video calls that adapt their rate: frames at the rate that SCReAM (`sluice-scream`) sets.

use std::collections::VecDeque;

use sluice_random::{Stream, uniform};
use sluice_scream::{Config, Receiver, Sender};

use super::{application::Felt, tcp::spread};

/// The picture froze if it stood for max(3 T, T + 150 ms), with T the time between two frames (W3C,
/// WebRTC Statistics: `freezeCount`; there T is an average).
const FROZEN_FRAMES: u64 = 3;
const FROZEN_NS: u64 = 150_000_000;

/// Video calls of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What the sender is told.
    pub config: Config,
    /// Scale of the Laplace distribution of frames' sizes, over their mean (RFC 8593, section 4.2).
    pub scale: f64,
    /// Traffic class of the video.
    pub traffic_class: u8,
    /// That of its feedback.
    pub feedback_class: u8,
    /// Earliest start.
    pub start_ns: u64,
    /// Starts are uniform over this time from the earliest on.
    pub spread_ns: u64,
    /// No frame is made from this time on.
    pub stop_ns: u64,
}

impl Call {
    /// Returns a call in a run, and when it makes its first frame.
    pub fn start(&self, mut random: Stream) -> (Caller, u64) {
        let start_ns = self.start_ns + spread(self.spread_ns, &mut random);
        let caller = Caller {
            sender: Sender::new(&self.config),
            receiver: Receiver::default(),
            call: self.clone(),
            random,
            frames: VecDeque::new(),
            packets: 0,
            picture: Picture::default(),
        };
        (caller, start_ns)
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        if !(0.0..=1.0).contains(&self.scale) {
            return Err(format!("scale = {} must lie between 0 and 1", self.scale));
        }
        self.config.check()
    }
}

/// A frame of video that is on its way: what RTP's time stamps and numbers say of it.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The number of its first packet, and that after its last; packets of it that have not arrived.
    start: u32,
    end: u32,
    left: u32,
    made_ns: u64,
    bytes: u32,
}

/// A call in a run: both ends, as one makes what the other shows.
#[derive(Clone, Debug)]
pub struct Caller {
    pub sender: Sender,
    pub receiver: Receiver,
    call: Call,
    random: Stream,
    frames: VecDeque<Frame>,
    /// Packets of all frames so far.
    packets: u32,
    picture: Picture,
}

/// What a packet brings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// It is the last one of its frame.
    pub ends: bool,
    /// With it all of its frame is there, so long after it was made.
    pub frame_ns: Option<u64>,
}

/// What the receiver sees.
#[derive(Clone, Debug, Default)]
struct Picture {
    /// When a frame was shown last, and when that was made; `None` before the first.
    shown: Option<(u64, u64)>,
    frozen: bool,
    played_ns: u64,
    stalled_ns: u64,
    stalls: u64,
    rates_bps: f64,
}

impl Caller {
    /// Makes a frame. Returns when the next is made; `None` if this was the last.
    pub fn make(&mut self, now: u64) -> Option<u64> {
        let Config { frame_ns, .. } = self.call.config;
        let mean = self.sender.target_bps() * frame_ns as f64 / 8e9;
        let bytes = (mean * (1.0 + self.call.scale * laplace(&mut self.random))).max(1.0) as u32;
        let left = self.sender.on_frame(now, bytes);
        self.forget();
        if left > 0 {
            let start = self.packets;
            self.packets += left;
            self.frames.push_back(Frame {
                start,
                end: self.packets,
                left,
                made_ns: now,
                bytes,
            });
        }
        let next_ns = now + frame_ns;
        (next_ns < self.call.stop_ns).then_some(next_ns)
    }

    /// Returns whether a packet is the last one of its frame.
    pub fn ends(&self, seq: u32) -> bool {
        let place = self.frames.partition_point(|frame| frame.end <= seq);
        let frame = self.frames.get(place);
        frame.is_some_and(|frame| seq + 1 == frame.end)
    }

    /// Takes a packet.
    pub fn arrived(&mut self, now: u64, seq: u32) -> Arrival {
        self.forget();
        let place = self.frames.partition_point(|frame| frame.end <= seq);
        let Some(frame) = self.frames.get_mut(place) else {
            return Arrival::default();
        };
        let mut arrival = Arrival {
            ends: seq + 1 == frame.end,
            frame_ns: None,
        };
        // a frame that is whole, or that was forgotten, is not counted again
        if seq < frame.start || frame.left == 0 {
            return arrival;
        }
        frame.left -= 1;
        let frame = *frame;
        if frame.left == 0 {
            let rate_bps = f64::from(frame.bytes) * 8e9 / self.call.config.frame_ns as f64;
            self.picture.rates_bps += rate_bps;
            self.show(now, frame.made_ns);
            arrival.frame_ns = Some(now - frame.made_ns);
        }
        arrival
    }

    /// Forgets frames whose feedback is settled: what still comes of them is far too late to be shown.
    fn forget(&mut self) {
        let oldest = self.sender.oldest();
        while self.frames.front().is_some_and(|frame| frame.end <= oldest) {
            self.frames.pop_front();
        }
    }

    /// Shows a frame that is there, unless a later one was.
    fn show(&mut self, now: u64, made_ns: u64) {
        if self.picture.shown.is_some_and(|(_, last)| made_ns < last) {
            return;
        }
        self.watch(now, true);
        self.picture.shown = Some((now, made_ns));
        self.picture.frozen = false;
    }

    /// Counts the time since a frame was shown; with `moves`, also that in which the picture was not
    /// frozen.
    fn watch(&mut self, now: u64, moves: bool) {
        let frame_ns = self.call.config.frame_ns;
        let picture = &mut self.picture;
        let Some((shown_ns, made_ns)) = picture.shown else {
            return;
        };
        let stood_ns = now.saturating_sub(shown_ns);
        let frozen_ns = (FROZEN_FRAMES * frame_ns).max(frame_ns + FROZEN_NS);
        if picture.frozen || stood_ns >= frozen_ns {
            picture.stalls += u64::from(!picture.frozen);
            picture.stalled_ns += stood_ns;
            (picture.frozen, picture.shown) = (true, Some((now.max(shown_ns), made_ns)));
        } else if moves {
            picture.played_ns += stood_ns;
        }
    }

    /// Adds what was seen since the last call, but for the times of frames.
    pub fn count(&mut self, now: u64, felt: &mut Felt) {
        self.watch(now.min(self.call.stop_ns), false);
        felt.played_ns += self.picture.played_ns;
        felt.stalled_ns += self.picture.stalled_ns;
        felt.stalls += self.picture.stalls;
        felt.rates_bps += self.picture.rates_bps;
        self.picture = Picture {
            shown: self.picture.shown,
            frozen: self.picture.frozen,
            ..Picture::default()
        };
    }

    /// Returns the traffic classes of the video, and of its feedback.
    pub fn traffic_classes(&self) -> [u8; 2] {
        [self.call.traffic_class, self.call.feedback_class]
    }
}

/// Draws from the Laplace distribution of scale 1.
fn laplace(random: &mut Stream) -> f64 {
    let magnitude = -uniform(random).ln();
    if uniform(random) <= 0.5 {
        magnitude
    } else {
        -magnitude
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Frames of five packets.
    fn call() -> Call {
        Call {
            config: Config {
                least_bps: 1.2e6,
                most_bps: 1.2e6,
                frame_ns: 40 * MS,
                packet_bytes: 1200,
                l4s: false,
            },
            scale: 0.0,
            traffic_class: 0,
            feedback_class: 0,
            start_ns: 0,
            spread_ns: 0,
            stop_ns: u64::MAX,
        }
    }

    #[test]
    fn a_packet_that_comes_after_its_frame_was_forgotten_counts_for_no_other() {
        let (mut caller, _) = call().start(sluice_random::stream(1, "call", 0));
        for now in (0..2000).map(|ms| ms * MS) {
            if now % (40 * MS) == 0 {
                caller.make(now);
            }
            while let Some(unit) = caller.sender.send(now) {
                if unit.seq == 2 {
                    continue;
                }
                let Arrival { ends, frame_ns } = caller.arrived(now, unit.seq);
                assert_eq!(ends, unit.seq % 5 == 4);
                assert_eq!(frame_ns.is_some(), ends && unit.seq > 4);
                if let Some(feedback) = caller.receiver.on_packet(now, unit.seq, false, ends) {
                    caller.sender.on_feedback(now, &feedback);
                }
            }
        }
        assert!(caller.sender.oldest() > 5);
        // its own frame is gone, and the first that is left is whole
        assert_eq!(caller.arrived(2000 * MS, 2), Arrival::default());
        // a second copy
        let last = caller.packets - 1;
        let again = Arrival {
            ends: true,
            frame_ns: None,
        };
        assert_eq!(caller.arrived(2000 * MS, last), again);
        let mut felt = Felt::default();
        caller.count(2000 * MS, &mut felt);
        assert_eq!(felt.rates_bps, 49.0 * 1.2e6);
    }

    #[test]
    fn a_sender_whose_receiver_is_elsewhere_forgets_the_frames_that_are_done() {
        let (mut caller, _) = call().start(sluice_random::stream(1, "call", 0));
        let mut most = 0;
        for now in (0..100).map(|frame| frame * 40 * MS) {
            caller.make(now);
            most = most.max(caller.frames.len());
            // a frame leaves in less than the time between two
            for now in (0..40).map(|ms| now + ms * MS) {
                while let Some(unit) = caller.sender.send(now) {
                    let ends = caller.ends(unit.seq);
                    assert_eq!(ends, unit.seq % 5 == 4);
                    if let Some(feedback) = caller.receiver.on_packet(now, unit.seq, false, ends) {
                        caller.sender.on_feedback(now, &feedback);
                    }
                }
            }
        }
        // those of which feedback may still tell, and the one that was made last
        assert_eq!((most, caller.packets), (32 / 5 + 2, 500));
    }
}
