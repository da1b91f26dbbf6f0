//! Accurate ECN feedback (RFC 9768): each ACK carries the number of marked packets that arrived,
//! modulo 8, in the three bits that were AE, CWR and ECE. There is no byte counter (the option of
//! section 3.2.3): packets have one size.

/// The counter at both ends before the first mark (section 3.2.2: r.cep and s.cep).
const FIRST_COUNT: u8 = 5;

/// The counter counts modulo this (section 3.2.2: DIVACE).
const MODULUS: u8 = 8;

/// The number of marked packets, modulo 8, as the receiver counts it, or as the sender has read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counter(u8);

impl Default for Counter {
    fn default() -> Self {
        Self(FIRST_COUNT)
    }
}

impl Counter {
    /// Counts a marked packet.
    pub fn count(&mut self) {
        self.0 = (self.0 + 1) % MODULUS;
    }

    /// Returns what an ACK carries.
    pub fn get(self) -> u8 {
        self.0
    }

    /// Takes what an ACK carries that newly acknowledges `acked` packets; returns how many packets
    /// were marked since the last one. If more were acknowledged than the counter can tell, it may
    /// have come round: then the largest number that fits is assumed (section 3.2.2.5.2, appendix
    /// A.2.1).
    pub fn read(&mut self, ace: u8, acked: u32) -> u32 {
        let modulus = u32::from(MODULUS);
        let least = (u32::from(ace) + modulus - u32::from(self.0)) % modulus;
        self.0 = ace;
        if acked < modulus {
            return least;
        }
        acked - (acked - least) % modulus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_wraps_at_three_bits() {
        let (mut receiver, mut sender) = (Counter::default(), Counter::default());
        let counts = [6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0];
        for count in counts {
            receiver.count();
            assert_eq!(receiver.get(), count);
            assert_eq!(sender.read(count, 1), 1);
        }
        // seven marks at most are told apart
        for marks in 0..8 {
            (0..marks).for_each(|_| receiver.count());
            assert_eq!(sender.read(receiver.get(), 7), marks);
        }
    }

    /// Appendix A.2.1: 9 packets and a difference of 2 are 2 marks, 10 packets may be 10.
    #[test]
    fn the_examples_of_the_appendix() {
        for (acked, marks) in [(9, 2), (10, 10)] {
            for before in 0..8 {
                let mut counter = Counter(before);
                assert_eq!(counter.read((before + 2) % 8, acked), marks);
                // "It repeats the same value of ACE in every subsequent ACK"
                assert_eq!(counter.read((before + 2) % 8, 1), 0);
            }
        }
        // section 3.2.2: the counter starts at 5, and "AE, CWR, ECE" are then 1, 0, 1
        assert_eq!(Counter::default().get(), 0b101);
    }

    #[test]
    fn an_ack_of_many_packets_may_hide_a_whole_turn() {
        // 9 packets acknowledged and a difference of 1: one packet or all nine were marked
        assert_eq!(Counter(5).read(6, 9), 9);
        assert_eq!(Counter(5).read(6, 8), 1);
        assert_eq!(Counter(5).read(5, 8), 8);
        assert_eq!(Counter(5).read(7, 20), 18);
        for acked in 8..100 {
            for now in 0..8 {
                let marks = Counter(3).read(now, acked);
                assert!(marks <= acked && acked - marks < 8);
                assert_eq!((3 + marks) % 8, u32::from(now));
            }
        }
    }
}
