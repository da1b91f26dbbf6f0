//! The calls of an AQM's functions in a run.

use sluice_aqm::{Aqm, Asked, Verdict, View};
use sluice_queue::{Event, Observer};

use crate::link::Plain;

/// One call with its result.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The function that is called.
    pub asked: Asked,
    /// The view that the AQM gets.
    pub view: View,
    /// The settled verdict; `Admit` for calls that decide nothing.
    pub verdict: Verdict,
}

impl Call {
    /// Repeats the call with another instance, and returns its settled verdict.
    #[inline]
    pub fn repeat(&self, aqm: &mut impl Aqm) -> Verdict {
        match self.asked {
            Asked::Arrive => return aqm.arrive(&self.view),
            Asked::Depart => return aqm.depart(&self.view),
            Asked::Tick => aqm.tick(&self.view),
            Asked::Join => aqm.occupancy(&self.view, 1),
            Asked::Leave => aqm.occupancy(&self.view, -1),
        }
        Verdict::Admit
    }
}

/// Records all calls of a run.
#[derive(Default)]
pub struct Calls(pub Vec<Call>);

impl Observer<Plain> for &mut Calls {
    fn lost(&mut self, _packet: Plain, _verdict: Verdict) {}

    fn note(&mut self, _now_ns: u64, _queue: usize, event: Event<'_>) {
        let (asked, view, verdict) = match event {
            Event::Arrive(view, verdict) => (Asked::Arrive, view, verdict),
            Event::Depart(view, verdict) => (Asked::Depart, view, verdict),
            Event::Tick(view) => (Asked::Tick, view, Verdict::Admit),
            Event::Join(Some(view)) => (Asked::Join, view, Verdict::Admit),
            Event::Leave(_, Some(view)) => (Asked::Leave, view, Verdict::Admit),
            _ => return,
        };
        self.0.push(Call {
            asked,
            view: *view,
            verdict,
        });
    }
}
