//! An endpoint's timer and its entry in the agenda.

use crate::{
    clock::{Clock, Instant, Ticks, spare},
    tournament::NEVER,
};

/// A timer that is set anew by most packets and seldom runs out: only its earliest entry stands in
/// the agenda, and is put off once it comes up.
pub struct Timer {
    /// Earliest entry in the agenda.
    entered: Ticks,
    /// What the endpoint last asked for, ns, and when: a round trip or a time-out later a packet is
    /// still in phase with those of that instant, to the fraction of a nanosecond.
    deadline_ns: u64,
    since: Ticks,
}

impl Timer {
    pub fn new() -> Self {
        Self {
            entered: NEVER,
            deadline_ns: NEVER,
            since: 0,
        }
    }

    /// Takes note of the endpoint's deadline; gives a time to enter, if one must be.
    #[inline]
    pub fn follow(&mut self, clock: Clock, now: Instant, deadline: Option<u64>) -> Option<Ticks> {
        let deadline_ns = deadline?;
        if deadline_ns != self.deadline_ns {
            self.deadline_ns = deadline_ns;
            self.since = now.ticks;
        }
        // the fraction is below a nanosecond, so before this nothing is due
        if self.entered != NEVER && clock.ns(self.entered) <= deadline_ns {
            return None;
        }
        let fraction = self.since - clock.ticks(clock.ns(self.since)).min(self.since);
        let due = clock.ticks(deadline_ns) + fraction;
        let grid = spare(due);
        self.entered = (due + ((1 << grid) >> 1)) >> grid << grid;
        Some(self.entered)
    }

    /// Whether the entry that comes up now is the valid one, which it then no longer is.
    pub fn comes_up(&mut self, now: Instant) -> bool {
        let valid = self.entered == now.ticks;
        if valid {
            self.entered = NEVER;
        }
        valid
    }
}
