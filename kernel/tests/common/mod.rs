//! The calls of a run as questions for the kernel.

use sluice_contract::{self as contract, Call};
use sluice_kernel::{Asked, Question};

/// The same call, as yet without an answer.
pub fn question(call: &Call) -> Question {
    let asked = match call.asked {
        contract::Asked::Arrive => Asked::Arrive,
        contract::Asked::Depart => Asked::Depart,
        contract::Asked::Tick => Asked::Tick,
        contract::Asked::Join => Asked::Join,
        contract::Asked::Leave => Asked::Leave,
    };
    Question {
        verdict: u32::MAX,
        ..Question::new(call.view, asked)
    }
}
