//! The clock of links.
//!
//! In networks whose delays are whole multiples of a packet's transmission time, packets on
//! different routes often arrive at the same instant. The order in which they enter a full queue
//! then decides which flow loses packets: phase effects (Floyd & Jacobson 1992). ns-2 keeps seconds
//! in double precision, so there this order depends on the rounding of each link's delay to 53
//! bits, which stays the same until the time passes the next power of two. To reproduce the same
//! phase effects, this clock counts in fractions of a nanosecond and rounds every sum to 53
//! significant bits.

/// A time of a link's clock, in ticks. A tick is a power of two of a second, and less than a
/// nanosecond.
pub type Ticks = u64;

/// Bits of a double's significand.
const OF_A_DOUBLE: u32 = 53;
/// Greatest and least number of ticks in a second, as exponents of 2.
const FINEST: u32 = 50;
const COARSEST: u32 = 31;
/// Ticks in a second of a clock that runs for 34 years, as an exponent of 2; its tick is 58 ps.
const ENDLESS: u32 = 34;

/// The length of a tick, and the rounding of sums of times.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Ticks in a second, as an exponent of 2.
    bits: u32,
    /// Significant bits that a sum keeps.
    significant: u32,
    /// Length of a tick, in units of 2^-64 ns.
    tick_ns: u64,
}

impl Clock {
    fn of(bits: u32, significant: u32) -> Self {
        Self {
            bits,
            significant,
            tick_ns: 1_000_000_000 << (u64::BITS - bits),
        }
    }

    /// Returns the finest clock that counts to `duration_ns` in `room` bits; `None` if even the
    /// coarsest one needs more bits.
    pub fn new(duration_ns: u64, room: u32) -> Option<Self> {
        let seconds = duration_ns / 1_000_000_000 + 1;
        let bits = room
            .checked_sub(u64::BITS - seconds.leading_zeros())?
            .min(FINEST);
        (bits >= COARSEST).then(|| Self::of(bits, OF_A_DOUBLE))
    }

    /// Returns a clock that runs for years. It does not round sums, so it does not get coarser.
    pub fn endless() -> Self {
        Self::of(ENDLESS, u64::BITS)
    }

    /// Returns the first tick that is not before `ns`, at most `Ticks::MAX`.
    pub fn ticks(self, ns: u64) -> Ticks {
        // a second has 2^9 * 5^9 ns; all numbers here fit into a word, whose division costs little
        const ODD: u64 = 1_000_000_000 >> 9;
        let (bits, whole) = (self.bits - 9, ns / ODD);
        if whole.leading_zeros() < bits {
            return Ticks::MAX;
        }
        let rest = ((ns % ODD) << bits).div_ceil(ODD);
        (whole << bits).saturating_add(rest)
    }

    /// Returns the instant at a time.
    #[inline]
    pub fn at(self, ticks: Ticks) -> Instant {
        Instant {
            ticks,
            ns: self.ns(ticks),
        }
    }

    /// Returns the whole nanoseconds of a time; for `ticks(ns)` they are `ns`.
    #[inline]
    pub fn ns(self, ticks: Ticks) -> u64 {
        ((u128::from(ticks) * u128::from(self.tick_ns)) >> u64::BITS) as u64
    }

    /// Converts seconds to ticks, rounded to a multiple of 2^`spare` ticks: what a sum in double
    /// precision adds to a time whose last bit has this value.
    pub fn rounded(self, seconds: f64, spare: u32) -> Ticks {
        // multiplication by a power of two is exact, and a cast saturates
        let units = seconds * 2_f64.powi(self.bits as i32 - spare as i32);
        (units.round_ties_even() as u64).saturating_mul(1 << spare)
    }

    /// Returns a span of time in seconds.
    pub(crate) fn seconds(self, span: Ticks) -> f64 {
        span as f64 * 2_f64.powi(-(self.bits as i32))
    }

    /// Returns the number of low bits that a sum as large as this time cannot keep.
    #[inline]
    pub fn spare(self, time: Ticks) -> u32 {
        (u64::BITS - self.significant).saturating_sub(time.leading_zeros())
    }

    /// Returns the first time whose sums keep fewer bits than those of `time`, at most
    /// `Ticks::MAX`.
    pub fn rounds_until(self, time: Ticks) -> Ticks {
        1_u64
            .checked_shl(self.significant + self.spare(time))
            .unwrap_or(Ticks::MAX)
    }
}

/// An instant, in the units of the network and of the endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    /// Time in the network, ticks.
    pub ticks: Ticks,
    /// Time at the endpoints, ns.
    pub ns: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_lies_beyond_the_clock_is_never() {
        let clock = Clock::new(200_000_000_000, 60).unwrap();
        assert_eq!(clock.ticks(100_000_000_000_000), Ticks::MAX);
    }

    #[test]
    fn sums_keep_as_many_bits_until_the_next_power_of_two() {
        let clock = Clock::new(200_000_000_000, 60).unwrap();
        for time in [1, (1 << 53) - 1, 1 << 53, (1 << 58) + 1] {
            let until = clock.rounds_until(time);
            assert!(until > time && clock.spare(until - 1) == clock.spare(time));
            assert_eq!(clock.spare(until), clock.spare(time) + 1);
        }
        assert_eq!(clock.rounds_until(Ticks::MAX), Ticks::MAX);
        assert_eq!(Clock::endless().rounds_until(1 << 63), Ticks::MAX);
    }

    proptest! {
        #[test]
        fn ticks_are_exact(ns: u64, small in 0_u64..1 << 40, bits in COARSEST..=FINEST) {
            let clock = Clock::of(bits, OF_A_DOUBLE);
            for ns in [ns, small] {
                let exact = (u128::from(ns) << bits).div_ceil(1_000_000_000);
                prop_assert_eq!(clock.ticks(ns), exact.try_into().unwrap_or(Ticks::MAX));
            }
        }

        #[test]
        fn nanoseconds_survive(ns in 0_u64..200_000_000_000, room in 40_u32..60) {
            let clock = Clock::new(200_000_000_000, room).unwrap();
            prop_assert_eq!(clock.ns(clock.ticks(ns)), ns);
        }

        #[test]
        fn sums_are_those_of_doubles(now in 1_u64 << 53..1 << 57, time in 1e-6..1_f64) {
            let clock = Clock::new(100_000_000_000, 60).unwrap();
            let second = 2_f64.powi(clock.bits as i32);
            // a time that a double holds
            let now = now >> clock.spare(now) << clock.spare(now);
            let double = (now as f64 / second + time) * second;
            let sum = now + clock.rounded(time, clock.spare(now));
            // except if the sum passes a power of two, or at a half, which rounds to even
            let passes = clock.spare(sum) != clock.spare(now);
            let half = (time * second / (1_u64 << clock.spare(now)) as f64).fract() == 0.5;
            prop_assert!(passes || half || sum as f64 == double, "{} {}", sum, double);
        }
    }
}
