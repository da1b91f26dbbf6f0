//! The clock of links.
//!
//! In networks whose delays are whole multiples of a packet's transmission, packets of different
//! ways arrive at the same instant again and again, and the order in which they are let into a
//! full queue decides who gets through: phase effects (Floyd & Jacobson 1992). ns-2 keeps
//! seconds in double precision, so there the rounding of each link's delay to 53 bits decides, always
//! the same way until the time passes the next power of two. To meet the same phase effects
//! this clock counts in fractions of a nanosecond and rounds every sum to 53 significant bits.

/// A time of a link's clock, in ticks. Its tick is a power of two of a second, below a
/// nanosecond.
pub type Ticks = u64;

/// Bits of a double's significand.
const OF_A_DOUBLE: u32 = 53;
/// Ticks in a second at most, and at least, as powers of two.
const FINEST: u32 = 50;
const COARSEST: u32 = 31;
/// Of a clock for 34 years, as a power of two: 58 ps.
const ENDLESS: u32 = 34;

/// How many ticks a second has, and how sums of times are rounded.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Ticks in a second, as a power of two.
    bits: u32,
    /// Bits that a sum keeps.
    significant: u32,
    /// Nanoseconds in a tick, in units of 2^-64.
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

    /// The finest clock that counts to `duration_ns` in `room` bits; `None` if there is none.
    pub fn new(duration_ns: u64, room: u32) -> Option<Self> {
        let seconds = duration_ns / 1_000_000_000 + 1;
        let bits = room
            .checked_sub(u64::BITS - seconds.leading_zeros())?
            .min(FINEST);
        (bits >= COARSEST).then(|| Self::of(bits, OF_A_DOUBLE))
    }

    /// A clock for what runs for years. It rounds no sum, so it does not get coarser.
    pub fn endless() -> Self {
        Self::of(ENDLESS, u64::BITS)
    }

    /// The first tick that is not before `ns`; the last of all if that is beyond it.
    pub fn ticks(self, ns: u64) -> Ticks {
        let ticks = (u128::from(ns) << self.bits).div_ceil(1_000_000_000);
        ticks.try_into().unwrap_or(Ticks::MAX)
    }

    /// The moment at a time.
    #[inline]
    pub fn at(self, ticks: Ticks) -> Instant {
        Instant {
            ticks,
            ns: self.ns(ticks),
        }
    }

    /// The whole nanoseconds of a time; of `ticks(ns)` they are `ns`.
    #[inline]
    pub fn ns(self, ticks: Ticks) -> u64 {
        ((u128::from(ticks) * u128::from(self.tick_ns)) >> u64::BITS) as u64
    }

    /// Seconds in ticks, with `spare` zeros at the end: what a double adds to a time that it holds
    /// to no more than that.
    pub fn rounded(self, seconds: f64, spare: u32) -> Ticks {
        // a power of two loses nothing, and a cast saturates
        let units = seconds * 2_f64.powi(self.bits as i32 - spare as i32);
        (units.round_ties_even() as u64).saturating_mul(1 << spare)
    }

    /// Bits at the end of a time that a sum has no room for.
    #[inline]
    pub fn spare(self, time: Ticks) -> u32 {
        (u64::BITS - self.significant).saturating_sub(time.leading_zeros())
    }
}

/// A moment, to the network and to the endpoints.
#[derive(Clone, Copy, Debug)]
pub struct Instant {
    /// As the network counts.
    pub ticks: Ticks,
    /// As the endpoints count.
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

    proptest! {
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
            // not where the sum passes a power of two, nor at a half, which rounds to even
            let passes = clock.spare(sum) != clock.spare(now);
            let half = (time * second / (1_u64 << clock.spare(now)) as f64).fract() == 0.5;
            prop_assert!(passes || half || sum as f64 == double, "{} {}", sum, double);
        }
    }
}
