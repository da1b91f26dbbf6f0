//! What differs between Prague's versions.

use super::Steps;

/// How many packets leave in a round trip (`prague_update_pacing_rate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paced {
    /// Whole ones of the fractional window, or those in flight if they are more.
    Whole,
    /// The window, or those in flight if they are more.
    Window,
}

/// A version; what is given here is that of `prague`, but for the option.
pub(crate) trait Version: Default {
    /// Round trips that are shorter count as so long, ns.
    const TARGET_NS: u64;

    /// Rounds since slow start after which they do (`PRAGUE_RTT_TRANSITION`).
    const ROUNDS_BEFORE: u32 = 4;

    /// How many bits the thresholds of its fallback lack.
    const MISSING_BITS: i32 = 0;

    /// The estimate with the first mark.
    const FIRST_ALPHA: f64 = 0.0;

    const PACED: Paced = Paced::Whole;

    const STEPS: Steps = Steps::Simple;

    /// Least number of packets that leave together.
    const LEAST_BURST: u32 = 1;

    /// True if it controls small windows by their rate.
    const SMALL_WINDOWS: bool = false;

    /// True if packets of data carry the option of accurate feedback, too (`net.ipv4.tcp_ecn_option`
    /// is 2). Those of the older versions did not: in published measurements a full link of 100 Mbit/s has
    /// 95.6 Mbit/s of payload, 1448 bytes in 1514 on the wire.
    const OPTION_WITH_DATA: bool = false;
}
