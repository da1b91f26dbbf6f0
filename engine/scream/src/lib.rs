//! SCReAM: how the sender of a video call adapts its rate to the path (RFC 8298), in its second
//! version, which has L4S and is to replace the first (draft-ietf-ccwg-rfc8298bis-screamv2-01; section
//! names below are those of this draft).
//!
//! Both ends are state machines without a network and a clock, as those of TCP. A `Sender` cuts frames
//! of video into data units (packets), keeps them until they may leave, and says at which rate the next
//! frame shall be coded. A `Receiver` says what feedback is due.
//!
//! - `delay.rs`: how long the queue on the path is;
//! - `window.rs`: how many bytes may be in flight (Network Congestion Control);
//! - `rate.rs`: the rate of the video, and of its packets (Media Rate Control, Packet Pacing);
//! - `sender.rs`: what leaves when, what arrived, what is lost (Sender Transmission Control);
//! - `receiver.rs`: feedback (Receiver Requirements on Feedback Intensity).
//!
//! What the draft calls optional is left out, as its authors' program does by default: filtering of
//! jitter, policers, clocks that drift, and a delay target that rises beside flows that fill the buffer.
//! Beside such a flow a call gets little.

mod delay;
mod rate;
mod receiver;
mod sender;
mod window;

pub use receiver::{Feedback, REPORTED, Receiver};
pub use sender::{Sender, Unit};

/// What a sender is told of its video and its path.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Least rate of the video, bits/s (`TARGET_BITRATE_MIN`).
    pub least_bps: f64,
    /// Greatest rate (`TARGET_BITRATE_MAX`).
    pub most_bps: f64,
    /// Time between two frames.
    pub frame_ns: u64,
    /// Greatest size of a packet (`MSS`), at least [`Config::LEAST_BYTES`].
    pub packet_bytes: u16,
    /// Whether marks are those of L4S, many and early, or classic ones.
    pub l4s: bool,
}

impl Config {
    /// Headers of IP, UDP and RTP: a packet has at least these.
    pub const LEAST_BYTES: u16 = 40;

    /// Checks all parameters.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn check(&self) -> Result<(), String> {
        if !(self.least_bps > 0.0 && self.least_bps <= self.most_bps && self.most_bps.is_finite()) {
            return Err(format!(
                "least_bps = {} must be above 0 and at most most_bps = {} (bits/s)",
                self.least_bps, self.most_bps
            ));
        }
        if self.frame_ns == 0 {
            return Err("frame = 0 must be at least 1 (ns)".into());
        }
        if self.packet_bytes <= Self::LEAST_BYTES {
            return Err(format!(
                "packet_bytes = {} must exceed {}: headers of IP, UDP and RTP",
                self.packet_bytes,
                Self::LEAST_BYTES
            ));
        }
        Ok(())
    }
}

/// Returns a time in seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
