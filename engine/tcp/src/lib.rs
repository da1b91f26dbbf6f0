//! TCP endpoints without a network: senders and receivers as pure state machines.
//!
//! A [`Sender`] and a [`Receiver`] do no input or output, read no clock and draw no random number.
//! The caller passes the time, delivers [`Segment`]s and [`Ack`]s, and calls `on_timer` once the
//! time reaches `deadline`. A [`Config`] holds the parameters that all flows share: [`Config::rfc`]
//! follows the RFCs, [`Config::ns2`] the one-way agents of ns-2.35, [`Config::linux`] Linux.
//!
//! Sequence numbers count packets, all of one size, from zero; with [`Config::syn`] packet 0 is
//! the SYN and carries no data.
//!
//! A sender combines three parts, each defined in one place:
//!
//! - `recovery` decides which packets are lost and which are retransmitted: `tahoe`, `reno`,
//!   `newreno`, `sack`, `rack`;
//! - `congestion` decides how many packets may be in flight, and how fast they leave: `reno`,
//!   `cubic`, `linux_cubic`, `dctcp`, `bbr`, `prague`;
//! - `quirks` lists where ns-2 and Linux deviate from the RFCs; `ns2` and `linux` hold their
//!   values.
//!
//! The [`sender`](Sender) with its state, `sending`, `acknowledging` and `reduction` connect these
//! parts. `negotiation` settles in the handshake how marks are fed back. `reduction` lets the window shrink at most once for each window of data; `pacing` lets
//! packets leave at the rate that the congestion control answers.

mod accurate_ecn;
mod ack_delay;
mod acknowledging;
mod config;
mod congestion;
mod deadline;
mod linux;
mod negotiation;
mod ns2;
mod pacing;
mod push;
mod quirks;
mod receive_window;
mod receiver;
mod recovery;
mod reduction;
mod rto;
mod runs;
mod sack_compression;
mod segment;
mod sender;
mod sending;
mod timers;

pub use config::{Config, ConfigError, Fallbacks, Variant};
pub use congestion::CongestionControl;
pub use negotiation::{Feedback, Server};
pub use quirks::Quirks;
pub use receiver::Receiver;
pub use segment::{Ack, Block, Echo, Segment};
pub use sender::{GREEDY, Sender};
