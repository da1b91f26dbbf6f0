//! Prague as measured from April to August 2020 (net/ipv4/tcp_prague.c, module version 0.5, in
//! L4STeam/linux at b256daedc7672b2188f19e8b6f71ef5db7afc720, 2020-08-04). The rate depends on the
//! round trip, however short that is (`RTT_CONTROL_NONE`). The estimate starts at 1. The window moves
//! by a packet when its fraction carries one, which also changes slow start, growth, losses and
//! time-outs (`steps`), and it is the window that is paced. All else is as in `prague`. The files of
//! April were not read. From November on flows became independent of the round trip after 500 rounds:
//! see `prague_2021`.

use super::prague::{Of, Paced, Steps, Version};

#[derive(Clone, Debug, Default)]
pub(crate) struct In2020;

impl Version for In2020 {
    const TARGET_NS: u64 = 0;
    const FIRST_ALPHA: f64 = 1.0;
    const PACED: Paced = Paced::Window;
    const STEPS: Steps = Steps::Carry;
}

pub(crate) type Prague2020 = Of<In2020>;
