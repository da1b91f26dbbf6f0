//! DCTCP: a window that shrinks with the share of packets that were marked (RFC 8257).

use super::{Cause, Growth, Marks, Sample, reno};

/// Weight of the last window of data in the estimate (RFC 8257, section 4.2: g).
const GAIN: f64 = 1.0 / 16.0;

#[derive(Clone, Debug)]
pub(crate) struct Dctcp {
    /// Estimated share of the packets that are marked (DCTCP.Alpha).
    alpha: f64,
    /// An ACK beyond this packet ends the observation (DCTCP.WindowEnd).
    observed_to: u32,
    /// Packets acknowledged in this observation (DCTCP.BytesAcked), and those whose ACK echoed a
    /// mark (DCTCP.BytesMarked).
    acknowledged: u32,
    marked: u32,
    /// Windows are whole numbers of packets
    /// ([`Quirks::counts_whole_packets`](crate::Quirks::counts_whole_packets)).
    whole: bool,
}

impl Default for Dctcp {
    fn default() -> Dctcp {
        Dctcp {
            alpha: 1.0,
            observed_to: 0,
            acknowledged: 0,
            marked: 0,
            whole: false,
        }
    }
}

impl Growth for Dctcp {
    const COUNTS_MARKS: bool = true;

    /// RFC 8257, section 3.3, steps 1 to 8.
    fn count_marks(&mut self, marks: &Marks) {
        self.whole = marks.whole;
        self.acknowledged += marks.acked;
        self.marked += marks.marked;
        if marks.next <= self.observed_to {
            return;
        }
        let share = f64::from(self.marked) / f64::from(self.acknowledged);
        self.alpha = self.alpha * (1.0 - GAIN) + GAIN * share;
        self.observed_to = marks.sent;
        (self.acknowledged, self.marked) = (0, 0);
    }

    /// RFC 8257, section 3.4.
    #[inline]
    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64 {
        if ack.whole {
            return reno::Reno.grow(cwnd, credit, ack);
        }
        cwnd + f64::from(ack.delivered) / cwnd
    }

    /// RFC 8257, section 3.3, step 9, for a mark; section 3.5 for losses, which count as without
    /// DCTCP. Linux takes whole packets off (`dctcp_ssthresh`).
    fn reduce(&mut self, cwnd: f64, used: f64, cause: Cause) -> f64 {
        match cause {
            Cause::Mark if self.whole => cwnd.floor() - (cwnd.floor() * self.alpha / 2.0).floor(),
            Cause::Mark => cwnd * (1.0 - self.alpha / 2.0),
            Cause::Loss | Cause::TimeOut => used * reno::DECREASE,
        }
    }

    fn marked_share(&self) -> Option<f64> {
        Some(self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_takes_whole_packets_away() {
        let left = |whole| {
            let mut dctcp = Dctcp {
                alpha: 1.0 / 16.0,
                whole,
                ..Dctcp::default()
            };
            dctcp.reduce(44.5, 44.0, Cause::Mark)
        };
        // a 32nd of 44 is 1.4
        assert_eq!(left(true), 43.0);
        assert_eq!(left(false), 44.5 * 31.0 / 32.0);
    }
}
