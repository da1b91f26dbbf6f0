//! Prague as measured from November 2020 to 2021 (net/ipv4/tcp_prague.c, module version 0.6, in
//! JoakimMisund/net-next at 03aa0451bf82698f85ab5dcb7cf7110201e56979, and in google/bbr at
//! 51f3dd1681abd0f5172d2243812702d9aca41760, which has that of June 2021): as `prague_2020`, but round
//! trips below 25 ms count as 25 ms after 500 rounds (`DEFAULT_RTT_TRANSITION`). That of June 2021 lets
//! two packets leave together, which is left out.

use super::prague::{Of, Paced, Steps, Version};
use crate::config::MS;

#[derive(Clone, Debug, Default)]
pub(crate) struct In2021;

impl Version for In2021 {
    const TARGET_NS: u64 = 25 * MS;
    const ROUNDS_BEFORE: u32 = 500;
    const FIRST_ALPHA: f64 = 1.0;
    const PACED: Paced = Paced::Window;
    const STEPS: Steps = Steps::Carry;
}

pub(crate) type Prague2021 = Of<In2021>;
