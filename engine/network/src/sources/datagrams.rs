//! Datagrams that nobody answers, and that nothing slows down.

use sluice_random::Stream;

use super::{law::Law, tcp::spread};

/// When datagrams are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// One after the other, with this law of the gaps.
    Gaps(Law),
    /// At constant gaps while on, nothing while off.
    OnOff {
        /// Between two datagrams while on.
        gap_ns: u64,
        /// How long it is on.
        on: Law,
        /// How long it is off.
        off: Law,
    },
}

/// Datagram flows of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// Size on the wire.
    pub bytes: u16,
    /// When each flow sends.
    pub pace: Pace,
    /// Earliest start.
    pub start_ns: u64,
    /// Starts are uniform over this time from the earliest.
    pub spread_ns: u64,
    /// From here nothing is sent.
    pub stop_ns: u64,
}

/// The sending side of one datagram flow.
#[derive(Clone, Debug)]
pub struct Pacer {
    pace: Pace,
    random: Stream,
    stop_ns: u64,
    /// End of the present ON period.
    on_until_ns: u64,
}

impl Datagrams {
    /// One flow, and when it sends for the first time.
    pub fn start(&self, mut random: Stream) -> (Pacer, u64) {
        let start_ns = self.start_ns + spread(self.spread_ns, &mut random);
        let mut pacer = Pacer {
            pace: self.pace,
            random,
            stop_ns: self.stop_ns,
            on_until_ns: start_ns,
        };
        let first_ns = match self.pace {
            // a constant gap would put every flow of the group one gap off its start
            Pace::Gaps(Law::Constant(_)) => start_ns,
            _ => pacer.after(start_ns),
        };
        (pacer, first_ns)
    }
}

impl Pacer {
    /// When the datagram after that of `now` is sent; `None`: never.
    pub fn next(&mut self, now: u64) -> Option<u64> {
        let next_ns = self.after(now);
        (next_ns < self.stop_ns).then_some(next_ns)
    }

    fn after(&mut self, now: u64) -> u64 {
        match self.pace {
            Pace::Gaps(law) => now.saturating_add(law.draw(&mut self.random).max(1)),
            Pace::OnOff { gap_ns, on, off } => {
                let mut next_ns = now + gap_ns.max(1);
                // what a period leaves of a gap is finished in the next one
                while next_ns >= self.on_until_ns {
                    let left_ns = next_ns - self.on_until_ns;
                    let begins_ns = self.on_until_ns.saturating_add(off.draw(&mut self.random));
                    self.on_until_ns = begins_ns.saturating_add(on.draw(&mut self.random).max(1));
                    next_ns = begins_ns.saturating_add(left_ns);
                    if begins_ns >= self.stop_ns {
                        return next_ns;
                    }
                }
                next_ns
            }
        }
    }
}
