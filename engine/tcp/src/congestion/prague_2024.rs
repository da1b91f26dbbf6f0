//! Prague as measurements of 2024 had it, with the L4S team's build of Linux 5.15, whose file was not
//! found. What is known of it (L4STeam/linux, issue 38): `cwnd_mode`, by which small windows follow
//! from a rate, and a fallback that takes every queue for a classic one, because the thresholds lack
//! four bits. Both are in a later file of this line (net/ipv4/tcp_prague.c in L4STeam/tcp-prague at
//! 90aea47f94ef026868540ce10dabcb168705a680), from which come pacing and steps of the window. Not from
//! there: the estimate starts at 1, as in versions before and after 2024 (L4STeam/linux at
//! 02573a215581, minuscat/L4STeam_linux at 07158d269b33, minuscat/l4steam-6.6.y at 1c07adc65c1e), and at
//! least two packets leave together, as in the first two of these (`prague_tso_segs`). Slow
//! start, growth, losses and time-outs go with the steps; all else is as in `prague`.

use super::prague::{Of, Paced, Steps, Version};
use crate::config::MS;

#[derive(Clone, Debug, Default)]
pub(crate) struct In2024;

impl Version for In2024 {
    const TARGET_NS: u64 = 25 * MS;
    const MISSING_BITS: i32 = 4;
    const FIRST_ALPHA: f64 = 1.0;
    const PACED: Paced = Paced::Window;
    const STEPS: Steps = Steps::Fraction;
    const LEAST_BURST: u32 = 2;
    const SMALL_WINDOWS: bool = true;
}

pub(crate) type Prague2024 = Of<In2024>;
