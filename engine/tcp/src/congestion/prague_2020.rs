//! Prague as measurements of 2020 and 2021 had it (L4STeam/linux at b256daedc767, 2020-08-04): its
//! rate depends on the round trip, however short that is. All else is as in `prague`.

use super::prague::{Of, Version};

#[derive(Clone, Debug, Default)]
pub(crate) struct In2020;

impl Version for In2020 {
    const TARGET_NS: u64 = 0;
}

pub(crate) type Prague2020 = Of<In2020>;
