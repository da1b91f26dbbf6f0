//! TCP endpoints without a network: senders and receivers as pure state machines.
//!
//! A [`Sender`] and a [`Receiver`] do no input or output, read no clock and draw no number: the
//! caller passes the time, delivers [`Segment`]s and [`Ack`]s, and calls `on_timer` once the time
//! reaches `deadline`. What all flows share stands in a [`Config`]: [`Config::rfc`] follows the
//! RFCs, [`Config::ns2`] the one-way agents of ns-2.35, [`Config::linux`] Linux.
//!
//! Sequence numbers count packets, all of one size, from zero; with [`Config::syn`] packet 0 is
//! the SYN and carries no data.
//!
//! A sender is loss recovery x congestion control x what ns-2 or Linux do differently, and these
//! know nothing of each other:
//!
//! - `recovery` says what is lost and sent again: `tahoe`, `reno`, `newreno`, `sack`,
//!   `rack`;
//! - `congestion` says how the window grows and shrinks: `reno`, `cubic`, `linux_cubic`,
//!   `dctcp`;
//! - `quirks` says what ns-2 and Linux do otherwise; `ns2` and `linux` have their values.
//!
//! Between them stand the [`sender`](Sender) with its state, `sending`, `acknowledging`, and
//! `reduction`, which lets the window shrink once for each window of data.

mod ack_delay;
mod acknowledging;
mod config;
mod congestion;
mod deadline;
mod linux;
mod ns2;
mod quirks;
mod receive_window;
mod receiver;
mod recovery;
mod reduction;
mod rto;
mod segment;
mod sender;
mod sending;
mod timers;

pub use config::{Config, ConfigError, Variant};
pub use congestion::CongestionControl;
pub use quirks::Quirks;
pub use receiver::Receiver;
pub use segment::{Ack, Block, Segment};
pub use sender::{GREEDY, Sender};
