//! An endpoint's timer and its entry in the agenda.

use sluice_aqm::NEVER;
use sluice_link::{Clock, Instant, Ticks};

/// A timer for a deadline that most packets move and that seldom runs out. The agenda holds only
/// its earliest entry; when this entry is due, the timer is entered again for the present deadline.
#[derive(Clone, Copy)]
pub struct Timer {
    /// Time of the earliest entry in the agenda, and the deadline of this entry, ns.
    entered: Ticks,
    entered_ns: u64,
    /// The endpoint's last deadline, ns, and when it was set. The fraction of a nanosecond of the
    /// latter is added to the deadline, so that packets stay in phase to less than a nanosecond.
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

    /// Follows the endpoint's deadline, ns. Returns the time of a new entry in the agenda, if one
    /// is needed.
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

    /// Called when an entry is due. Returns `None` if an earlier entry has replaced it, otherwise
    /// the present moment. Rounding can make the entry early; the moment's `ns` is not before the
    /// deadline.
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
