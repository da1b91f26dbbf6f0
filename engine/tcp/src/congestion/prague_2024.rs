//! Prague as measurements of 2024 had it (L4STeam/linux, 5.15): with its fallback on, it takes every
//! queue for a classic one, because the thresholds lack four bits. All else is as in `prague`.

use super::prague::WithTarget;

pub(crate) type Prague2024 = WithTarget<25, 4>;
