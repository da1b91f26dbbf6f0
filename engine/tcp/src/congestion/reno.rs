//! Additive increase, multiplicative decrease (RFC 5681, section 3.1).

use super::{Cause, Control, Progress};

/// What a loss leaves of the window (RFC 5681, equation 4).
pub(super) const DECREASE: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(crate) struct Reno;

impl Control for Reno {
    /// A packet more for each window of packets acknowledged (RFC 5681, section 3.1; RFC 3465,
    /// section 2.1).
    #[inline]
    fn grow(&mut self, cwnd: f64, ack: &Progress) -> f64 {
        cwnd + ack.credit / cwnd
    }

    fn reduce(&mut self, _cwnd: f64, used: f64, _cause: Cause) -> f64 {
        used * DECREASE
    }
}
