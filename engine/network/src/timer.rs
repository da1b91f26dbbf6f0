//! An endpoint's timer and its entry in the agenda.

use sluice_aqm::NEVER;
use sluice_link::{Clock, Instant, Ticks};

/// A timer that is set anew by most packets and seldom runs out: only its earliest entry stands in
/// the agenda, and is put off once it comes up.
#[derive(Clone, Copy)]
pub struct Timer {
    /// Earliest entry in the agenda, and the deadline that it stands for, ns.
    entered: Ticks,
    entered_ns: u64,
    /// What the endpoint last asked for, ns, and when: a round trip or a time-out later a packet is
    /// still in phase with those of that instant, to the fraction of a nanosecond.
    deadline_ns: u64,
    since: Ticks,
}

impl Timer {
    pub fn new() -> Self {
        Self {
            entered: NEVER,
            entered_ns: NEVER,
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
        if self.entered_ns <= deadline_ns {
            return None;
        }
        let fraction = self.since - clock.ticks(clock.ns(self.since)).min(self.since);
        let due = clock.ticks(deadline_ns) + fraction;
        let grid = clock.spare(due);
        self.entered_ns = deadline_ns;
        self.entered = (due + ((1 << grid) >> 1)) >> grid << grid;
        Some(self.entered)
    }

    /// What the entry that comes up stands for: nothing if an earlier one took its place, else
    /// this moment, to the endpoint not before its deadline, from which the entry was rounded.
    pub fn comes_up(&mut self, now: Instant) -> Option<Instant> {
        if self.entered != now.ticks {
            return None;
        }
        let ns = now.ns.max(self.entered_ns);
        (self.entered, self.entered_ns) = (NEVER, NEVER);
        Some(Instant { ns, ..now })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_entry_serves_its_deadline(
            set in 0_u64..1 << 57, ahead_ns in 1_u64..60_000_000_000, put_off_ns in 0_u64..2,
        ) {
            let clock = Clock::new(200_000_000_000, 59).unwrap();
            let (mut timer, now) = (Timer::new(), clock.at(set));
            let deadline_ns = now.ns + ahead_ns;
            let due = timer.follow(clock, now, Some(deadline_ns)).unwrap();
            let later = timer.follow(clock, now, Some(deadline_ns + put_off_ns));
            prop_assert_eq!(later, None);
            prop_assert!(due >= set && clock.ns(due).abs_diff(deadline_ns) <= 1);
            let moment = timer.comes_up(clock.at(due)).unwrap();
            prop_assert!(moment.ns >= deadline_ns && moment.ns <= deadline_ns + 1);
            prop_assert!(timer.comes_up(clock.at(due)).is_none());
        }
    }
}
