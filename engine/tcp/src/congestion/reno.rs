//! Additive increase, multiplicative decrease (RFC 5681, section 3.1).

use super::{Cause, Growth, Sample};

/// Factor by which a loss reduces the window (RFC 5681, equation 4).
pub(super) const DECREASE: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(crate) struct Reno;

impl Growth for Reno {
    /// Adds one packet for each window of packets acknowledged (RFC 5681, section 3.1; RFC 3465,
    /// section 2.1).
    #[inline]
    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64 {
        if ack.whole {
            return grow_by_whole_packets(cwnd, credit);
        }
        cwnd + credit / cwnd
    }

    fn reduce(&mut self, _cwnd: f64, used: f64, _cause: Cause) -> f64 {
        used * DECREASE
    }
}

/// Grows the window by whole packets. The fraction of `cwnd` stores the share of a window that was
/// acknowledged since the last growth (Linux: `tcp_cong_avoid_ai`).
fn grow_by_whole_packets(cwnd: f64, credit: f64) -> f64 {
    let window = cwnd.floor().max(1.0);
    let acknowledged = ((cwnd - window) * window).round() + credit;
    let more = (acknowledged / window).floor();
    let rest = acknowledged - more * window;
    window + more + rest / (window + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_packet_comes_after_a_whole_window() {
        let mut cwnd = 2.0;
        let mut grown_after = vec![];
        for ack in 1..=27 {
            let before = f64::floor(cwnd);
            cwnd = grow_by_whole_packets(cwnd, 1.0);
            if cwnd.floor() > before {
                grown_after.push(ack);
            }
        }
        // 2, then 3, 4, 5, 6 and 7 packets
        assert_eq!(grown_after, [2, 5, 9, 14, 20, 27]);
        // two packets with each ACK: three of the four let the window grow to 4, one counts for the
        // next packet
        assert_eq!(
            grow_by_whole_packets(grow_by_whole_packets(3.0, 2.0), 2.0),
            4.25
        );
    }
}
