//! TCP endpoints without a network: senders and receivers as pure state machines.
//!
//! A [`Sender`] and a [`Receiver`] do no input or output, read no clock and draw no number: the
//! caller passes the time, delivers [`Segment`]s and [`Ack`]s, and calls `on_timer` once the time
//! reaches `deadline`. What all flows share stands in a [`Config`]: [`Config::rfc`] follows the
//! RFCs, [`Config::ns2`] follows the one-way agents of ns-2.35.
//!
//! Sequence numbers count packets, all of one size, from zero; with [`Config::syn`] packet 0 is
//! the SYN and carries no data.
//!
//! One file holds one idea: [`config`](Config), [`segment`](Segment), the [`sender`](Sender) with
//! what all variants share, `reduction` of the window, `recovery` with what most do on duplicate
//! ACKs, a file for each way to recover (`tahoe`, `reno`, `newreno`, `sack`), the window and
//! `cubic`, the retransmission timeout `rto`, and the [`receiver`](Receiver).

mod config;
mod cubic;
mod deadline;
mod newreno;
mod receiver;
mod recovery;
mod reduction;
mod reno;
mod rto;
mod sack;
mod scoreboard;
mod segment;
mod sender;
mod tahoe;
mod window;

pub use config::{Config, ConfigError, FullAck, Pipe, Reduction, Variant};
pub use receiver::Receiver;
pub use segment::{Ack, Block, Segment};
pub use sender::{GREEDY, Sender};
