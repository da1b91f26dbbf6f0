//! Feedback (RFC 8888; section "Receiver Requirements on Feedback Intensity").

/// So many packets at most bring feedback, as does the last one of a frame.
const MOST_PACKETS: u32 = 16;
/// Longest time between two feedbacks while packets arrive.
const LONGEST_NS: u64 = 40_000_000;

/// So many packets are in each report: feedback overlaps, as it may be lost (section "Discussion").
pub const REPORTED: u32 = 32;

/// Feedback: of the packet with the highest number, and of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The highest number that arrived.
    pub highest: u32,
    /// When that packet arrived.
    pub arrived_ns: u64,
    /// Bit i: the packet i before it arrived.
    pub received: u32,
    /// Bit i: the packet i before it was marked.
    pub marked: u32,
}

/// The receiving end.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    report: Feedback,
    any: bool,
    /// Packets since the last feedback, and when that was, or when the first of them came.
    unreported: u32,
    since_ns: u64,
}

impl Receiver {
    /// Takes a packet; `ends`: it is the last one of its frame. Returns feedback if it is due.
    pub fn on_packet(
        &mut self,
        now_ns: u64,
        seq: u32,
        marked: bool,
        ends: bool,
    ) -> Option<Feedback> {
        if !self.any || seq > self.report.highest {
            let ahead = if self.any {
                seq - self.report.highest
            } else {
                REPORTED
            };
            let shift = |bits: u32| bits.checked_shl(ahead).unwrap_or(0);
            self.report.received = shift(self.report.received);
            self.report.marked = shift(self.report.marked);
            (self.report.highest, self.report.arrived_ns) = (seq, now_ns);
            self.any = true;
        }
        let behind = self.report.highest - seq;
        if behind < REPORTED {
            self.report.received |= 1 << behind;
            self.report.marked |= u32::from(marked) << behind;
        }
        if self.unreported == 0 {
            self.since_ns = self.since_ns.max(now_ns.saturating_sub(LONGEST_NS));
        }
        self.unreported += 1;
        (ends || self.unreported >= MOST_PACKETS).then(|| self.report(now_ns))
    }

    /// Returns when feedback is due, whatever arrives.
    pub fn deadline_ns(&self) -> Option<u64> {
        (self.unreported > 0).then_some(self.since_ns + LONGEST_NS)
    }

    /// Returns feedback if it is due.
    pub fn on_timer(&mut self, now_ns: u64) -> Option<Feedback> {
        let due = self.deadline_ns().is_some_and(|due_ns| now_ns >= due_ns);
        due.then(|| self.report(now_ns))
    }

    fn report(&mut self, now_ns: u64) -> Feedback {
        (self.unreported, self.since_ns) = (0, now_ns);
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn feedback_comes_with_a_frame_s_end_with_16_packets_and_after_40_ms() {
        let mut receiver = Receiver::default();
        assert_eq!(receiver.on_packet(100 * MS, 0, false, false), None);
        let first = receiver.on_packet(101 * MS, 1, true, true);
        let expected = Feedback {
            highest: 1,
            arrived_ns: 101 * MS,
            received: 0b11,
            marked: 0b01,
        };
        assert_eq!(first, Some(expected));
        assert_eq!(receiver.deadline_ns(), None);
        for seq in 2..17 {
            assert_eq!(receiver.on_packet(102 * MS, seq, false, false), None);
        }
        assert!(receiver.on_packet(102 * MS, 17, false, false).is_some());
        assert_eq!(receiver.on_packet(110 * MS, 18, false, false), None);
        assert_eq!(receiver.deadline_ns(), Some(142 * MS));
        assert_eq!(receiver.on_timer(141 * MS), None);
        assert!(receiver.on_timer(142 * MS).is_some());
        // after a pause, the first packet is reported at once
        receiver.on_packet(900 * MS, 19, false, false);
        assert_eq!(receiver.deadline_ns(), Some(900 * MS));
    }

    #[test]
    fn a_report_has_the_last_32_packets_in_whatever_order() {
        let mut receiver = Receiver::default();
        for seq in [0, 3, 1, 40] {
            receiver.on_packet(0, seq, seq == 1, false);
        }
        let report = receiver.on_packet(5, 38, true, true).unwrap();
        assert_eq!((report.highest, report.arrived_ns), (40, 0));
        assert_eq!((report.received, report.marked), (0b101, 0b100));
        // one that is older than all of them is left out
        let late = receiver.on_packet(6, 2, true, true).unwrap();
        assert_eq!(late, report);
    }
}
