//! Additive increase, multiplicative decrease (RFC 5681, section 3.1).

use super::{Cause, Control, Progress};

/// What a loss leaves of the window (RFC 5681, equation 4).
pub(super) const DECREASE: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(crate) struct Reno;

impl Control for Reno {
    #[inline]
    fn grow(&mut self, cwnd: f64, _ack: &Progress) -> f64 {
        increased(cwnd)
    }

    fn reduce(&mut self, _cwnd: f64, used: f64, _cause: Cause) -> f64 {
        used * DECREASE
    }
}

/// The window after an ACK: a packet more each round trip (RFC 5681, equation 3).
#[inline]
pub(super) fn increased(cwnd: f64) -> f64 {
    cwnd + 1.0 / cwnd
}
