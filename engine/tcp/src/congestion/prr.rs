//! Proportional rate reduction (RFC 9937): during recovery the window shrinks gradually to the
//! threshold. One packet is sent for each packet or two that arrive.

/// Packets delivered and sent in this recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// Window at its start (RecoverFS).
    before: u32,
    /// prr_delivered.
    delivered: u32,
    /// prr_out.
    sent: u32,
}

impl Prr {
    /// Begins with a recovery from this window, packets.
    pub fn begin(&mut self, window: f64) {
        *self = Prr {
            before: (window as u32).max(1),
            ..Prr::default()
        };
    }

    pub fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Returns how many packets may be sent after an ACK that `delivered` packets, with `flying`
    /// packets in the network (RFC 9937). Below the threshold the window grows by more than was
    /// delivered only if all is `well` (SafeACK): the ACK advances and reports no further loss. The
    /// first retransmission is always allowed.
    pub fn allowed(&mut self, flying: u32, threshold: f64, delivered: u32, well: bool) -> u32 {
        self.delivered += delivered;
        let threshold = threshold as u32;
        let count = if flying > threshold {
            let share = u64::from(self.delivered) * u64::from(threshold);
            (share.div_ceil(u64::from(self.before)) as u32).saturating_sub(self.sent)
        } else {
            let owed = self.delivered.saturating_sub(self.sent).max(delivered);
            (owed + u32::from(well)).min(threshold - flying)
        };
        count.max(u32::from(self.sent == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(window: f64) -> Prr {
        let mut prr = Prr::default();
        prr.begin(window);
        prr
    }

    /// Sends what is allowed; returns how many.
    fn step(prr: &mut Prr, flying: u32, threshold: f64, delivered: u32, well: bool) -> u32 {
        let count = prr.allowed(flying, threshold, delivered, well);
        (0..count).for_each(|_| prr.on_sent());
        count
    }

    #[test]
    fn one_loss_halves_the_rate() {
        // Of 20 packets the first is lost. The threshold is 10: half as many packets are sent as
        // arrive.
        let mut prr = begun(20.0);
        let mut flying = 16; // 20, less 3 SACKed, less the lost one
        let mut sent = vec![];
        for delivered in [3].into_iter().chain([1; 16]) {
            if !sent.is_empty() {
                flying -= 1;
            }
            let count = step(&mut prr, flying, 10.0, delivered, false);
            flying += count;
            sent.push(count);
        }
        // 19 packets delivered: half of them, rounded up
        assert_eq!(sent.iter().sum::<u32>(), 10);
        assert!(sent.iter().all(|count| *count <= 2), "{sent:?}");
        assert_eq!(flying, 10);
    }

    #[test]
    fn after_a_burst_of_losses_it_sends_what_arrives_and_one_more() {
        // Of 20 packets 15 are lost: the flight falls far below the threshold of 10, and slow start
        // brings it back, two packets for each delivered.
        let mut prr = begun(20.0);
        assert_eq!(step(&mut prr, 2, 10.0, 3, false), 3);
        let mut flying = 5;
        for _ in 0..2 {
            flying -= 1;
            let count = step(&mut prr, flying, 10.0, 1, true);
            assert_eq!(count, 2);
            flying += count;
        }
        // but not beyond the threshold
        assert_eq!(step(&mut prr, 9, 10.0, 1, true), 1);
        assert_eq!(step(&mut prr, 10, 10.0, 0, true), 0);
    }

    #[test]
    fn what_arrived_while_nothing_could_go_is_owed() {
        let mut prr = begun(4.0);
        assert_eq!(step(&mut prr, 3, 2.0, 1, false), 1);
        assert_eq!(step(&mut prr, 2, 2.0, 1, false), 0);
        // both packets are found lost: three arrived, one was sent
        assert_eq!(step(&mut prr, 0, 2.0, 1, false), 2);
    }

    #[test]
    fn the_first_retransmission_goes_in_any_case() {
        let mut prr = begun(4.0);
        assert_eq!(step(&mut prr, 3, 2.0, 0, false), 1);
        assert_eq!(step(&mut prr, 4, 2.0, 0, false), 0);
    }

    #[test]
    fn it_sends_what_ns3_asserts() {
        // tcp-prr-recovery-test.cc, in bytes: a window of 200,000 and a threshold of 100,000. 51,000
        // were delivered, and nothing was sent: half of it
        let mut prr = begun(200_000.0);
        prr.allowed(200_000, 100_000.0, 1_000, false);
        assert_eq!(prr.allowed(200_000, 100_000.0, 50_000, false), 25_500);
        // 50,000 were sent, 2,000 delivered, 1,000 of them now: no less than these go
        let mut prr = Prr {
            sent: 50_000,
            delivered: 1_000,
            ..begun(200_000.0)
        };
        assert_eq!(prr.allowed(50_000, 100_000.0, 1_000, false), 1_000);
    }
}
